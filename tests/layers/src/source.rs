//! What a source file declares and imports, read from its tokens.

/// One file: its child modules and its imports. Tests are left out.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// The modules that it declares, each by its path below the file: `["a"]` for `mod a;`.
    pub(crate) modules: Vec<Declared>,
    pub(crate) imports: Vec<Import>,
    /// The macros that it puts at the root of the crate.
    pub(crate) macros: Vec<String>,
    /// The types and traits that it declares, wherever they stand in it.
    pub(crate) types: Vec<String>,
}

/// A module that a file declares.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) path: Vec<String>,
    /// `mod a { … }`, and not `mod a;`.
    pub(crate) inline: bool,
}

/// A path that names something of this crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The inline modules that it stands in.
    pub(crate) within: Vec<String>,
    /// Its segments, `crate`, `super` and `self` included; `*` for a glob.
    pub(crate) path: Vec<String>,
    /// For `use`: the name that it has from then on.
    pub(crate) name: Option<String>,
}

/// The macros whose bodies are code of other programs.
const QUOTES: [&str; 4] = ["quote", "quote_spanned", "parse_quote", "macro_rules"];

/// Reads a file.
pub(crate) fn read(text: &str) -> Source {
    let tokens = tokens(text);
    let mut source = Source::default();
    read_items(&tokens, &[], &mut source);
    source
}

fn read_items(tokens: &[&str], within: &[String], source: &mut Source) {
    let mut at = 0;
    while let Some(&token) = tokens.get(at) {
        let rest = &tokens[at..];
        let before = at.checked_sub(1).and_then(|before| tokens.get(before)).copied().unwrap_or_default();
        at += match (token, rest) {
            ("#", ["#", "[", "cfg", "(", "test", ")", "]", item @ ..]) => 7 + item_length(item),
            ("#", ["#", "[", "macro_export", "]", ..]) => {
                let name = rest.iter().skip_while(|token| **token != "!").nth(1);
                source.macros.extend(name.map(|name| (*name).to_owned()));
                4
            }
            (name, [_, "!", body @ ..]) if QUOTES.contains(&name) => {
                // `macro_rules! name { … }` has a name before the body.
                let name = usize::from(body.first().is_some_and(|first| is_name(first)));
                2 + name + group_length(&body[name..])
            }
            ("struct" | "enum" | "trait" | "union", [_, name, ..])
                if name.starts_with(char::is_uppercase) =>
            {
                source.types.push((*name).to_owned());
                2
            }
            ("mod", [_, name, ";", ..]) => {
                source.modules.push(Declared { path: below(within, name), inline: false });
                3
            }
            ("mod", [_, name, body @ ..]) if body.first() == Some(&"{") => {
                let length = group_length(body);
                let path = below(within, name);
                read_items(&body[1..length - 1], &path, source);
                source.modules.push(Declared { path, inline: true });
                2 + length
            }
            ("use", _) => {
                let length = rest.iter().position(|token| *token == ";").unwrap_or(rest.len());
                read_tree(&rest[1..length], &[], within, source);
                length
            }
            ("crate" | "super" | "self", [_, ":", ":", ..]) if !["$", "in"].contains(&before) => {
                let mut length = 1;
                while let [":", ":", next, ..] = &rest[length..]
                    && is_name(next)
                {
                    length += 3;
                }
                let path =
                    rest[..length].iter().filter(|token| **token != ":").map(|token| (*token).to_owned());
                source.imports.push(Import { within: within.to_vec(), path: path.collect(), name: None });
                length
            }
            _ => 1,
        };
    }
}

/// Reads what stands behind `use`: `a::{b, c::D as E}`.
fn read_tree(tokens: &[&str], prefix: &[String], within: &[String], source: &mut Source) {
    let mut path = prefix.to_vec();
    let mut at = 0;
    while let Some(&token) = tokens.get(at) {
        match token {
            ":" => at += 1,
            "{" => {
                let group = &tokens[at + 1..at + group_length(&tokens[at..]) - 1];
                let mut start = 0;
                while start < group.len() {
                    let mut end = start;
                    while group.get(end).is_some_and(|token| *token != ",") {
                        end += if group[end] == "{" { group_length(&group[end..]) } else { 1 };
                    }
                    read_tree(&group[start..end], &path, within, source);
                    start = end + 1;
                }
                return;
            }
            "as" => break,
            // `a::{self}` is `a`.
            "self" if !path.is_empty() => at += 1,
            _ => {
                path.push(token.to_owned());
                at += 1;
            }
        }
    }
    let name = match &tokens[at..] {
        ["as", name, ..] => Some((*name).to_owned()),
        _ => path.last().cloned(),
    };
    if !path.is_empty() {
        source.imports.push(Import { within: within.to_vec(), path, name });
    }
}

fn below(within: &[String], name: &str) -> Vec<String> {
    within.iter().cloned().chain([name.to_owned()]).collect()
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// How many tokens an item has, up to its `;` or the end of its braces.
fn item_length(tokens: &[&str]) -> usize {
    let mut at = 0;
    while let Some(&token) = tokens.get(at) {
        match token {
            ";" => return at + 1,
            "{" => return at + group_length(&tokens[at..]),
            "(" | "[" => at += group_length(&tokens[at..]),
            _ => at += 1,
        }
    }
    at
}

/// How many tokens a group has, brackets included; 0 where none starts.
fn group_length(tokens: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if at == 0 { 0 } else { at + 1 };
        }
    }
    tokens.len()
}

/// Names, and every other character by itself; comments, white space, texts and lifetimes are left out.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_text(rest) {
            length
        } else if first == '"' {
            quoted(rest, '"')
        } else if first == '\'' {
            // A character is closed again, a lifetime is not.
            let inner = rest[1..].chars().next().map_or(0, char::len_utf8);
            match rest[1..].starts_with('\\') || rest[1 + inner..].starts_with('\'') {
                true => quoted(rest, '\''),
                false => 1 + name_length(&rest[1..]),
            }
        } else if name_length(rest) > 0 {
            let length = name_length(rest);
            tokens.push(&rest[..length]);
            length
        } else {
            if !first.is_whitespace() {
                tokens.push(&rest[..first.len_utf8()]);
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

fn name_length(text: &str) -> usize {
    text.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(text.len())
}

/// The length of a text or a character, escapes included.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, next) in text.char_indices().skip(1) {
        if next == quote && !escaped {
            return at + 1;
        }
        escaped = next == '\\' && !escaped;
    }
    text.len()
}

/// The length of `r"…"`, `r#"…"#` or `br"…"`.
fn raw_text(text: &str) -> Option<usize> {
    let behind = text.strip_prefix("br").or(text.strip_prefix('r'))?;
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    let inner = behind[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let start = text.len() - inner.len();
    Some(inner.find(&end).map_or(text.len(), |at| start + at + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        read(text).imports.iter().map(|import| import.path.join("::")).collect()
    }

    #[test]
    fn imports_are_found_in_lists_and_in_paths() {
        let text = "use crate::a::B;\npub(crate) use crate::{c, d::{self, E as F}};\nlet x = crate::i::j::<super::K>();";
        assert_eq!(
            paths(text),
            ["crate::a::B", "crate::c", "crate::d", "crate::d::E", "crate::i::j", "super::K"]
        );
        assert_eq!(read("use crate::a::B as C;").imports[0].name.as_deref(), Some("C"));
    }

    #[test]
    fn comments_texts_and_the_code_of_macros_have_no_imports() {
        let text = "// crate::a::B\n/* crate::b */ let x = \"crate::c\"; let y = r#\"crate::d \" \"#; let z = ('\"', '\\'');\n\
                    fn f<'a>() { quote! { super::PROTOCOL } } macro_rules! m { () => { $crate::e } } $crate::f; crate::g;";
        assert_eq!(paths(text), ["crate::g"]);
    }

    #[test]
    fn macros_of_the_root_are_known() {
        let text = "#[doc(hidden)]\n#[macro_export]\n#[allow(x)]\nmacro_rules! a { () => {} }\nmacro_rules! b { () => {} }";
        assert_eq!(read(text).macros, ["a"]);
    }

    #[test]
    fn tests_are_left_out() {
        let text = "#[cfg(test)]\nmod layers;\n#[cfg(test)]\nuse crate::a;\n#[cfg(test)]\nmod tests { use crate::b; }\nmod c;";
        let source = read(text);
        assert_eq!(source.modules, [Declared { path: vec!["c".into()], inline: false }]);
        assert_eq!(source.imports, []);
    }

    #[test]
    fn modules_within_a_file_are_known() {
        let source = read("pub mod a { pub use crate::b::C; mod d; }");
        assert_eq!(source.imports[0].within, ["a"]);
        let declared: Vec<_> = source.modules.iter().map(|module| module.path.join("::")).collect();
        assert_eq!(declared, ["a::d", "a"]);
    }
}
