//! The rows of a table, and other lists that a macro of the runtime takes.

use std::fmt::Write;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// Lines are not longer than this, where they can be broken.
pub(super) const WIDTH: usize = 100;

/// What a reader learns about a macro.
const REMARKS: [(&str, &str); 1] = [(
    "payloads",
    "Nothing of this runs. Where a payload type lacks serde's traits, rustc names the message that carries it.",
)];

/// Prints a macro with its entries.
pub(super) fn print(item: &syn::ItemMacro, indent: usize, out: &mut String) {
    for (name, remark) in REMARKS {
        if item.mac.path.segments.last().is_some_and(|last| last.ident == name) {
            let _ = writeln!(out, "\n{:indent$}// {remark}", "");
        }
    }
    for attribute in &item.attrs {
        let _ = writeln!(out, "{:indent$}#[{}]", "", flat(attribute.meta.to_token_stream()));
    }
    let _ = writeln!(out, "{:indent$}{}! {{", "", flat(item.mac.path.to_token_stream()));
    rows(item.mac.tokens.clone(), indent + 4, out);
    let _ = writeln!(out, "{:indent$}}}", "");
}

/// Prints entries, each on a line of its own behind its attributes.
fn rows(tokens: TokenStream, indent: usize, out: &mut String) {
    for (place, entry) in entries(tokens).iter().enumerate() {
        let mut tokens = entry.as_slice();
        let is_block = is_impl(entry);
        if place > 0 && (is_block || tokens.first().is_some_and(|first| is_punct(first, '#'))) {
            out.push('\n');
        }
        while let [TokenTree::Punct(_), TokenTree::Group(attribute), rest @ ..] = tokens {
            if attribute.delimiter() != Delimiter::Bracket {
                break;
            }
            let line = match documentation(attribute) {
                Some(line) => format!("///{line}"),
                None => format!("#[{}]", flat(attribute.stream())),
            };
            let _ = writeln!(out, "{:indent$}{line}", "");
            tokens = rest;
        }
        if let Some((head, inner)) = entries_inside(tokens) {
            let _ = writeln!(out, "{:indent$}{} {{", "", flat(head.iter().cloned()));
            rows(inner, indent + 4, out);
            let end = if is_block { "}" } else { "};" };
            let _ = writeln!(out, "{:indent$}{end}", "");
            continue;
        }
        let text = broken(tokens, indent, 1);
        let _ = writeln!(out, "{:indent$}{text};", "");
    }
}

/// An entry that has entries of its own in braces, taken apart.
fn entries_inside(tokens: &[TokenTree]) -> Option<(&[TokenTree], TokenStream)> {
    let [head @ .., TokenTree::Group(group)] = tokens else { return None };
    let has_entries = group.stream().into_iter().any(|tree| is_punct(&tree, ';'));
    (group.delimiter() == Delimiter::Brace && has_entries).then(|| (head, group.stream()))
}

/// The tokens up to each `;`, or up to the end of each `impl`.
pub(in crate::generate) fn entries(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut entries: Vec<Vec<TokenTree>> = vec![Vec::new()];
    for tree in tokens {
        if matches!(&tree, TokenTree::Punct(punct) if punct.as_char() == ';') {
            entries.push(Vec::new());
        } else if let Some(entry) = entries.last_mut() {
            let is_body = matches!(&tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
            entry.push(tree);
            if is_body && is_impl(entry) {
                entries.push(Vec::new());
            }
        }
    }
    entries.retain(|entry| !entry.is_empty());
    entries
}

/// Whether an entry is an `impl` with rows inside, behind its attributes.
fn is_impl(entry: &[TokenTree]) -> bool {
    let is_attribute = |tree: &TokenTree| {
        is_punct(tree, '#')
            || matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket)
    };
    let first = entry.iter().find(|tree| !is_attribute(tree));
    matches!(first, Some(TokenTree::Ident(name)) if name == "impl")
}

/// The text of `#[doc = "…"]`.
fn documentation(attribute: &Group) -> Option<String> {
    let mut tokens = attribute.stream().into_iter();
    let (name, _, text) = (tokens.next()?, tokens.next()?, tokens.next()?);
    if name.to_string() != "doc" {
        return None;
    }
    syn::parse2::<syn::LitStr>(text.into()).ok().map(|text| text.value())
}

/// The tokens, on one line if they fit behind `indent` and before `behind` more characters.
fn broken(tokens: &[TokenTree], indent: usize, behind: usize) -> String {
    if let Some(line) = fitted(tokens, indent, behind) {
        return line;
    }
    if let Some(place) = arrow(tokens, '=') {
        let (signature, action) = tokens.split_at(place);
        return action_below(signature, action, indent, behind);
    }
    let alternatives = alternatives(tokens);
    if let [first, further @ ..] = alternatives.as_slice()
        && !further.is_empty()
    {
        let width = indent + 4;
        let on_lines = |tokens: &[TokenTree], indent| {
            fitted(tokens, indent, 2).unwrap_or_else(|| opened(tokens, indent))
        };
        let mut text = on_lines(first, indent);
        for alternative in further {
            text.push_str(&format!("\n{:width$}| {}", "", on_lines(alternative, width)));
        }
        return text;
    }
    let links = links(tokens);
    let [first, further @ ..] = links.as_slice() else { return String::new() };
    // The first call stays on its line if it fits there, and the methods follow, each on a line of its own.
    let (mut text, width) = match fitted(first, indent, 0) {
        Some(text) if !further.is_empty() => (text, indent + 4),
        _ => (opened(first, indent), indent),
    };
    for link in further {
        let link = fitted(link, width, behind).unwrap_or_else(|| opened(link, width));
        text.push_str(&format!("\n{:width$}{link}", ""));
    }
    text
}

/// A signature, and what is done below it. A signature that is too long is broken before what it returns.
fn action_below(signature: &[TokenTree], action: &[TokenTree], indent: usize, behind: usize) -> String {
    let width = indent + 4;
    let (head, output) = match fitted(signature, indent, 0) {
        Some(line) => (line, String::new()),
        None => {
            let (head, output) = signature.split_at(arrow(signature, '-').unwrap_or(signature.len()));
            (fitted(head, indent, 0).unwrap_or_else(|| opened(head, indent)), flat(output.iter().cloned()))
        }
    };
    let fits = |line: &str, indent: usize| indent + line.chars().count() + behind <= WIDTH;
    let action = match flat(action.iter().cloned()) {
        line if fits(&line, width) => line,
        line => line.replacen(" as ", &format!("\n{:width$}as ", "", width = width + 4), 1),
    };
    if output.is_empty() {
        // Behind parameters in lines of their own there is room.
        let last = head.rsplit_once('\n').map(|(_, last)| format!("{} {action}", last.trim_start()));
        return match last.is_some_and(|last| !last.contains('\n') && fits(&last, indent)) {
            true => format!("{head} {action}"),
            false => format!("{head}\n{:width$}{action}", ""),
        };
    }
    match format!("{output} {action}") {
        line if fits(&line, width) => format!("{head}\n{:width$}{line}", ""),
        _ => format!("{head}\n{:width$}{output}\n{:width$}{action}", "", ""),
    }
}

/// Where `=>` or `->` stands, by its first sign.
fn arrow(tokens: &[TokenTree], first: char) -> Option<usize> {
    let pairs = tokens.iter().zip(tokens.iter().skip(1));
    pairs.into_iter().position(|(one, other)| is_punct(one, first) && is_punct(other, '>'))
}

/// The tokens on one line, if they fit there.
fn fitted(tokens: &[TokenTree], indent: usize, behind: usize) -> Option<String> {
    let line = flat(tokens.iter().cloned());
    (indent + line.chars().count() + behind <= WIDTH).then_some(line)
}

/// The parts of a chain of methods; each but the first starts with a dot.
fn links(tokens: &[TokenTree]) -> Vec<&[TokenTree]> {
    let dots = tokens.iter().enumerate().filter(|(_, tree)| is_punct(tree, '.')).map(|(place, _)| place);
    let starts: Vec<usize> = std::iter::once(0).chain(dots).collect();
    let ends = starts.iter().skip(1).copied().chain([tokens.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| tokens.get(*start..end)).collect()
}

/// What stands between the `|` of a union.
fn alternatives(tokens: &[TokenTree]) -> Vec<&[TokenTree]> {
    tokens.split(|tree| is_punct(tree, '|')).collect()
}

/// A call with its last argument broken if that is a list, else with an argument a line.
fn opened(tokens: &[TokenTree], indent: usize) -> String {
    let [before @ .., TokenTree::Group(group)] = tokens else { return flat(tokens.iter().cloned()) };
    let mut before = flat(before.iter().cloned());
    if before.ends_with(',') {
        before.push(' ');
    }
    let (open, close) = match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::Brace => (" { ", " }"),
        Delimiter::None => ("", ""),
    };
    let arguments = arguments(group);
    let is_list = |last: &[TokenTree]| matches!(last.last(), Some(TokenTree::Group(list)) if list.delimiter() != Delimiter::Parenthesis);
    match arguments.as_slice() {
        [] => format!("{before}{}{}", open.trim_end(), close.trim_start()),
        [first @ .., last] if takes_last(group.delimiter(), first) && is_list(last) => {
            let first: String = first.iter().map(|tokens| flat(tokens.iter().cloned()) + ", ").collect();
            format!("{before}{open}{first}{}{close}", opened(last, indent))
        }
        all => {
            let width = indent + 4;
            // A block has no comma behind its value, a union none behind its last part, and a record none behind `..`.
            let is_block = group.delimiter() == Delimiter::Brace && all.len() == 1;
            let item = |tokens: &Vec<TokenTree>| {
                let ends = is_block || tokens.iter().any(|tree| is_punct(tree, '|')) || is_rest(tokens);
                let comma = if ends { "" } else { "," };
                format!("\n{:width$}{}{comma}", "", broken(tokens, width, comma.len()))
            };
            let on_one_line: Vec<String> = all.iter().map(|tokens| flat(tokens.iter().cloned())).collect();
            let on_one_line = format!("{},", on_one_line.join(", "));
            // A list whose items have room on one line does not need one for each.
            let is_list = group.delimiter() == Delimiter::Bracket && all.len() > 1;
            let items = match is_list && width + on_one_line.chars().count() <= WIDTH {
                true => format!("\n{:width$}{on_one_line}", ""),
                false => all.iter().map(item).collect(),
            };
            format!("{before}{}{items}\n{:indent$}{}", open.trim_end(), "", close.trim_start())
        }
    }
}

/// Whether the last of the arguments may be broken in the place where it stands: that of a call, or the value of a block.
fn takes_last(delimiter: Delimiter, before: &[Vec<TokenTree>]) -> bool {
    delimiter == Delimiter::Parenthesis || delimiter == Delimiter::Brace && before.is_empty()
}

/// Whether this is the `..` of a record.
fn is_rest(tokens: &[TokenTree]) -> bool {
    tokens.iter().all(|tree| is_punct(tree, '.'))
}

/// What stands between the commas.
fn arguments(group: &Group) -> Vec<Vec<TokenTree>> {
    let mut arguments = vec![Vec::new()];
    for tree in group.stream() {
        if is_punct(&tree, ',') {
            arguments.push(Vec::new());
        } else if let Some(argument) = arguments.last_mut() {
            argument.push(tree);
        }
    }
    arguments.retain(|argument| !argument.is_empty());
    arguments
}

fn is_punct(tree: &TokenTree, sign: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// The tokens on one line.
fn flat(tokens: impl IntoIterator<Item = TokenTree>) -> String {
    let mut text = String::new();
    let mut glued = true;
    for tree in tokens {
        match tree {
            TokenTree::Group(group) => {
                let inner = flat(group.stream());
                let is_typed = text.ends_with(':') && !text.ends_with("::");
                if text.ends_with([',', '=', '|']) || text.ends_with("->") || is_typed {
                    text.push(' ');
                }
                match group.delimiter() {
                    Delimiter::Brace if inner.is_empty() => text.push_str("{}"),
                    Delimiter::Brace => {
                        let space = if text.is_empty() || text.ends_with(' ') { "" } else { " " };
                        let _ = write!(text, "{space}{{ {inner} }}");
                    }
                    Delimiter::Parenthesis => text.push_str(&format!("({inner})")),
                    Delimiter::Bracket => text.push_str(&format!("[{inner}]")),
                    Delimiter::None => text.push_str(&inner),
                }
                glued = false;
            }
            TokenTree::Punct(punct) => {
                let sign = punct.as_char();
                let is_rest = sign == '.' && text.ends_with(',');
                let before = matches!(sign, '=' | '&' | '-' | '|') && !glued || is_rest;
                if before {
                    text.push(' ');
                }
                text.push(sign);
                glued = matches!(sign, ':' | '.' | '&' | '!' | '-' | '#' | '<' | '\'')
                    || punct.spacing() == Spacing::Joint;
                if sign == ':' && punct.spacing() == Spacing::Alone && !text.ends_with("::") {
                    glued = false;
                }
            }
            other => {
                if !glued && !text.is_empty() {
                    text.push(' ');
                }
                let _ = write!(text, "{other}");
                glued = false;
            }
        }
    }
    text
}
