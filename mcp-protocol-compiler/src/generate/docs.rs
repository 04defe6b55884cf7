//! Documentation of what is generated: what it does, where it stands in the `.session` file, which states have it.

use mcp_protocol_machine::protocol::{Holder, Kind, Message, MessageIndex, Side, StateIndex};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::types::Scope;
use crate::declarations::During;
use crate::plan::names::ident;
use crate::plan::{MethodKind, Plan, RolePlan};
use crate::source::{SourceMap, Span};

/// A fragment longer than this says less than the file does.
const LONGEST_FRAGMENT: usize = 24;

/// How many letters have room on a line of documentation.
const LINE: usize = 90;

/// Writes documentation.
pub(crate) struct Docs<'a> {
    pub(crate) sources: &'a SourceMap,
    /// Places have line numbers, which move with every edit above them.
    pub(crate) numbered: bool,
}

impl Docs<'_> {
    /// `line 31 of `mcp.session``, or the file alone.
    pub(crate) fn place(&self, span: Span) -> String {
        let line = self.sources.line_number(span.file, span.start);
        match self.sources.path(span.file).file_name() {
            Some(name) if self.numbered => format!("line {line} of `{}`", name.to_string_lossy()),
            Some(name) => format!("`{}`", name.to_string_lossy()),
            None => format!("line {line}"),
        }
    }

    /// Whether the place is a whole definition, `Name = …`.
    pub(crate) fn is_definition(&self, span: Span) -> bool {
        self.sources.slice(span).contains('=')
    }

    /// The text of a place, its further lines moved to the left together.
    pub(crate) fn fragment(&self, span: Span) -> Vec<String> {
        let start = self.sources.start(span);
        let text = self.sources.slice(span);
        let rest = || text.lines().skip(1).filter(|line| !line.trim().is_empty());
        let indent = |line: &str| line.chars().take_while(|letter| *letter == ' ').count();
        let common = rest().map(indent).min().unwrap_or(0).min(start.column as usize - 1);
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate().take(LONGEST_FRAGMENT) {
            let kept = if index == 0 { line } else { line.get(common..).unwrap_or(line.trim_start()) };
            lines.push(kept.trim_end().to_owned());
        }
        if text.lines().count() > LONGEST_FRAGMENT {
            lines.push("…".to_owned());
        }
        lines
    }
}

/// What is said before a text of the language, and that text: in the same line, if it is one and has room, else as a block.
pub(crate) fn with_code(before: String, code: Vec<String>) -> Vec<String> {
    match code.as_slice() {
        [] => vec![before],
        [line] if !line.contains('`') && before.chars().count() + line.chars().count() <= LINE => {
            vec![format!("{before}: `{line}`")]
        }
        lines if lines.iter().any(|line| line.contains("```")) => vec![before],
        _ => {
            let fence = |mark: &str| std::iter::once(mark.to_owned());
            let start = [format!("{before}:"), String::new()].into_iter().chain(fence("```text"));
            start.chain(code).chain(fence("```")).collect()
        }
    }
}

/// Lines as `#[doc]` attributes.
pub(crate) fn attributes<S: AsRef<str>>(lines: &[S]) -> TokenStream {
    let lines = lines.iter().map(|line| match line.as_ref() {
        "" => String::new(),
        line => format!(" {line}"),
    });
    quote!(#(#[doc = #lines])*)
}

/// Sentences, as many on a line as have room there.
pub(crate) fn filled(sentences: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for sentence in sentences {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + sentence.chars().count() <= LINE => {
                line.push(' ');
                line.push_str(&sentence);
            }
            _ => lines.push(sentence),
        }
    }
    lines
}

/// The author's documentation, if any, and then what the generator has to say.
pub(crate) fn after(written: &[String], own: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut lines = written.to_vec();
    let mut own = own.into_iter().peekable();
    if !lines.is_empty() && own.peek().is_some() {
        lines.push(String::new());
    }
    lines.extend(own);
    lines
}

/// A link to an item of the generated module.
pub(crate) fn link(name: &str, scope: Scope) -> String {
    let name = ident(name).to_string();
    match scope {
        // A link to a raw identifier cannot be written.
        _ if name.starts_with("r#") => format!("`{name}`"),
        Scope::Top => format!("[`{name}`]"),
        Scope::Nested => format!("[`{name}`](super::{name})"),
    }
}

/// A link to the method of a session where it is documented, which is in the first state that has it.
pub(crate) fn method_link(role: &RolePlan, method: &str, scope: Scope) -> String {
    let (session, method) = (role.path().to_string().replace(' ', ""), ident(method).to_string());
    match scope {
        _ if method.contains("r#") || session.contains("r#") => format!("`{session}::{method}`"),
        Scope::Top => format!("[`{session}::{method}`]"),
        Scope::Nested => format!("[`{session}::{method}`](super::{session}::{method})"),
    }
}

/// The section of a method that fails with the protocol's error type.
pub(crate) fn errors(error: &Ident, scope: Scope) -> [String; 3] {
    [String::new(), "# Errors".into(), format!("See {}.", link(&error.to_string(), scope))]
}

/// The section of a type whose methods fail: the types that they return say when.
pub(crate) fn errors_of_methods(error: &Ident, scope: Scope) -> [String; 3] {
    let error = link(&error.to_string(), scope);
    let line = format!(
        "A `Result` fails with {error}; any other type that a method returns says on its page how it fails."
    );
    [String::new(), "# Errors".into(), line]
}

/// More states than this are counted, not named: a list of a hundred is not read.
const MOST_LINKS: usize = 12;

/// `[`A`], [`B`] and [`C`]`
pub(crate) fn links<'n>(names: impl IntoIterator<Item = &'n str>, scope: Scope) -> String {
    let mut names = names.into_iter();
    let mut shown: Vec<String> = names.by_ref().take(MOST_LINKS).map(|name| link(name, scope)).collect();
    let more = names.count();
    if more > 0 {
        return format!("{} and {more} more", shown.join(", "));
    }
    match shown.pop() {
        None => String::new(),
        Some(last) if shown.is_empty() => last,
        Some(last) => format!("{} and {last}", shown.join(", ")),
    }
}

/// What a message is, in words: `the request `tools/call``.
pub(crate) fn described(plan: &Plan, index: MessageIndex) -> String {
    let Some(message) = plan.message(index) else { return String::new() };
    let table = &message.table;
    let when = condition(table);
    if table.pattern().is_some() {
        let word = if table.kind == Kind::Request { "request" } else { "notification" };
        return format!("a {word} whose method fits `{}`{when}", table.method);
    }
    match table.kind {
        Kind::Request => format!("the request `{}`{when}", table.method),
        Kind::Notification => format!("the notification `{}`{when}", table.method),
        Kind::Reply { .. } => format!("`{}`, the reply to `{}`{when}", table.name, table.method),
        Kind::Refusal { .. } => format!("an error in reply to `{}`", table.method),
    }
}

/// What tells a message from others of its method, in parentheses.
fn condition(table: &Message) -> String {
    table.condition.as_ref().map(|condition| format!(" (`{condition}`)")).unwrap_or_default()
}

/// The capabilities that a message needs, as a sentence.
pub(crate) fn needs(plan: &Plan, index: MessageIndex, sender: Side) -> Option<String> {
    let message = plan.message(index)?;
    let gates: Vec<String> = message
        .table
        .requires
        .iter()
        .filter_map(|requirement| {
            let side = match requirement.holder {
                Holder::Side(side) => side,
                Holder::Sender => sender,
                Holder::Receiver => sender.other(),
            };
            let gate = plan.declarations.gates.get(usize::from(requirement.gate.0))?;
            let holder = crate::plan::role_module(side);
            let when = requirement.when().map(|when| format!(" (`{when}`)"));
            Some(format!("`{holder}.{}`{}", crate::findings::dotted(&gate.path), when.unwrap_or_default()))
        })
        .collect();
    let capabilities = match gates.as_slice() {
        [] => None,
        [one] => Some(format!("Needs the capability {one}.")),
        more => Some(format!("Needs the capabilities {}.", more.join(", "))),
    };
    let during = message.during.iter().map(|during| permitted_during(plan, during, sender.other()));
    let sentences: Vec<String> = capabilities.into_iter().chain(during).collect();
    if sentences.is_empty() { None } else { Some(sentences.join(" ")) }
}

/// The requests of a side during which a message may be sent, as a sentence.
fn permitted_during(plan: &Plan, during: &During, asker: Side) -> String {
    let requests = during.table.requests.iter().filter_map(|request| plan.message(*request));
    let mut methods: Vec<String> = requests.map(|request| format!("`{}`", request.table.method)).collect();
    methods.dedup();
    let more = methods.len().saturating_sub(MOST_LINKS);
    methods.truncate(MOST_LINKS);
    let asker = crate::plan::role_module(asker);
    let mut sentence = match methods.as_slice() {
        [one] => format!("Only while {one} of the {asker} runs"),
        some if more > 0 => {
            format!("Only while one of {} and {more} more of the {asker} runs", some.join(", "))
        }
        some => format!("Only while one of {} of the {asker} runs", some.join(", ")),
    };
    if let Some(condition) = &during.table.condition {
        sentence.push_str(&format!(" whose params fit `{condition}`"));
    }
    sentence + "."
}

/// A step of the type as the author would write it.
pub(crate) fn type_of(plan: &Plan, role: &RolePlan, what: &MethodKind) -> String {
    let message = |index: MessageIndex| plan.message_name(index);
    let state = |index: StateIndex| role.state_name(index);
    let inputs = |inputs: &[(MessageIndex, StateIndex)]| -> Vec<String> {
        inputs.iter().map(|(input, target)| format!("?{} . {}", message(*input), state(*target))).collect()
    };
    match what {
        MethodKind::Send { message: sent, target } => format!("!{} . {}", message(*sent), state(*target)),
        MethodKind::Exchange { request, replies, target, .. } => {
            format!("!{} . {}", message(*request), received(plan, replies, state(*target)))
        }
        MethodKind::Choose { request, waiting } => format!("!{} . {}", message(*request), state(*waiting)),
        MethodKind::Receive { message: received, target, .. } => {
            format!("?{} . {}", message(*received), state(*target))
        }
        MethodKind::Next(next) => {
            let mut branches = inputs(&next.inputs);
            if next.closed {
                branches.push("End".into());
            }
            branches.join(" & ")
        }
        MethodKind::Refuse { request, target } => format!("!{}Error . {}", message(*request), state(*target)),
        MethodKind::Cancelled { request } => {
            match plan.declarations.messages.iter().find(|known| known.table.cancels.is_some()) {
                Some(cancel) => format!("?{} of {}", cancel.table.name, message(*request)),
                None => format!("?{}", message(*request)),
            }
        }
        MethodKind::Open { message: sent, opening } => {
            format!("*( !{} . {} )", message(*sent), state(opening.start))
        }
        MethodKind::OpenExchange { request, reply, target, .. } => {
            format!("*( !{} . ?{} . {} )", message(*request), message(*reply), state(*target))
        }
        MethodKind::Call(call) | MethodKind::Pages(call) => {
            format!("*( !{} . {} )", message(call.request), received(plan, &call.replies, "End"))
        }
        MethodKind::Notify { message: sent } => format!("*( !{} . End )", message(*sent)),
        MethodKind::Split { parts } => {
            format!("({})", parts.iter().map(|part| state(*part)).collect::<Vec<_>>().join(", "))
        }
        MethodKind::Close => "End".into(),
    }
}

/// Replies that lead to the same state: `?A . S`, or `( ?A . S & ?B . S )`.
fn received(plan: &Plan, replies: &[MessageIndex], then: &str) -> String {
    let branches: Vec<String> =
        replies.iter().map(|reply| format!("?{} . {then}", plan.message_name(*reply))).collect();
    match branches.as_slice() {
        [only] => only.clone(),
        _ => format!("( {} )", branches.join(" & ")),
    }
}

/// The lines above a constant of the module `messages`.
pub(crate) fn message_lines(plan: &Plan, docs: &Docs<'_>, index: MessageIndex) -> Vec<String> {
    let Some(message) = plan.message(index) else { return Vec::new() };
    let table = &message.table;
    let written: &[String] =
        if matches!(table.kind, Kind::Refusal { .. }) { &[] } else { &message.documentation };
    // The row itself says the rest, and is part of the documentation.
    let place = docs.numbered.then(|| capital(&format!("{}.", docs.place(message.span))));
    after(written, place)
}

/// The text with a capital at its start.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
