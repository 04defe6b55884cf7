//! Alternatives: messages of one method, or replies of one request, that conditions tell apart.

use std::collections::HashMap;

use mcp_protocol_machine::protocol::{Kind, Literal, MessageIndex, Payload, Text};

use crate::declarations::{Declarations, Message};
use crate::diagnostic::{Code, Diagnostic, TextChange};

/// Alternatives that nothing tells apart, or of which one is never read.
pub const NOT_TOLD_APART: Code = Code("S0112");
/// Judges every alternative.
pub fn check(declarations: &Declarations) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut known = Known::default();
    for (index, message) in declarations.indices().zip(&declarations.messages) {
        if matches!(message.table.kind, Kind::Refusal { .. }) {
            continue;
        }
        found.extend(nothing_to_look_in(message));
        found.extend(known.rival(message).and_then(|first| apart(message, first)));
        known.add(message);
        if message.table.answered && message.table.kind == Kind::Request {
            found.extend(answered(declarations, index, message));
        }
    }
    found
}

/// What a condition looks at: the path, and the value that is to stand there.
type Test<'a> = Option<(&'a [Text], Option<&'a Literal>)>;

/// Messages so far, the first of each by its envelope on the wire and by its condition.
#[derive(Default)]
struct Known<'a> {
    firsts: HashMap<(Kind, &'a str, Test<'a>), (usize, &'a Message)>,
    count: usize,
}

fn test(message: &Message) -> Test<'_> {
    let condition = message.table.condition.as_ref()?;
    Some((&condition.path, condition.literal.as_ref()))
}

impl<'a> Known<'a> {
    fn add(&mut self, message: &'a Message) {
        let key = (message.table.kind, message.table.method.as_ref(), test(message));
        self.firsts.entry(key).or_insert((self.count, message));
        self.count += 1;
    }

    /// The first message with the same condition, or with one that leaves this one no payload. Two identical messages
    /// that are not replies are a finding of the declarations.
    fn rival(&self, message: &Message) -> Option<&'a Message> {
        let reply = matches!(message.table.kind, Kind::Reply { .. });
        let own = test(message);
        let find =
            |test| self.firsts.get(&(message.table.kind, message.table.method.as_ref(), test)).copied();
        let same = if reply { find(own) } else { None };
        let wider = own.and_then(|(path, literal)| literal.and_then(|_| find(Some((path, None)))));
        let (_, first) = same.into_iter().chain(wider).min_by_key(|(place, _)| *place)?;
        Some(first)
    }
}

/// A condition on a payload that is never there.
fn nothing_to_look_in(message: &Message) -> Option<Diagnostic> {
    let condition = message.table.condition.as_ref()?;
    if !matches!(message.table.payload, Payload::None | Payload::Null) {
        return None;
    }
    let name = &message.table.name;
    Some(
        Diagnostic::error(NOT_TOLD_APART, message.span, format!("`{name}` can never be read"))
            .label(format!("carries nothing in which `{condition}` could be looked for"))
            .changes(
                format!("declare what it carries: `{name} (_)` for any JSON, or `{name} (Type)`"),
                [TextChange::Payload(name.to_string())],
            ),
    )
}

fn apart(message: &Message, first: &Message) -> Option<Diagnostic> {
    let reply = matches!(message.table.kind, Kind::Reply { .. });
    match (&first.table.condition, &message.table.condition) {
        // Two messages that are the same in everything are a finding of the declarations.
        (one, other) if one == other => reply.then(|| same_condition(message, first)),
        (Some(one), Some(other)) if one.covers(other) => Some(never_read(message, first)),
        _ => None,
    }
}

fn same_condition(message: &Message, first: &Message) -> Diagnostic {
    let names = (&first.table.name, &message.table.name);
    let diagnostic = Diagnostic::error(
        NOT_TOLD_APART,
        message.span,
        format!("the replies `{}` and `{}` cannot be told apart", names.0, names.1),
    );
    match &message.table.condition {
        Some(condition) => diagnostic
            .label(format!("`{condition}` again"))
            .also(first.span, format!("`{condition}` first"))
            .changes(
                format!(
                    "give them different conditions, for instance `{} … if other`, or make them one reply",
                    names.1
                ),
                [TextChange::Condition(message.span, " if other".to_owned())],
            ),
        None => diagnostic
            .label("comes without a condition, too")
            .also(first.span, "comes without a condition")
            .with_note(
                "one alternative may have no condition: it stands for every result that fits no other one",
            )
            .with_note(
                "a failure needs no reply of its own: any request may be refused with a JSON-RPC error, which in session types \
                 is called like the request, with `Error` behind it",
            )
            .changes(
                format!("write `if field` behind `{0}`, with a field of the result that only `{0}` has", names.1),
                [TextChange::Condition(message.span, " if field".to_owned())],
            ),
    }
}

fn never_read(message: &Message, first: &Message) -> Diagnostic {
    let (name, before) = (&message.table.name, &first.table.name);
    let condition = |message: &Message| {
        message.table.condition.as_ref().map(|condition| format!("`{condition}`")).unwrap_or_default()
    };
    Diagnostic::error(NOT_TOLD_APART, message.span, format!("`{name}` can never be read"))
        .label(format!("whatever fits {} fits {}, too", condition(message), condition(first)))
        .also(first.span, format!("`{before}` comes first"))
        .with_note("of the alternatives whose condition holds the first one declared is read")
        .changes(
            format!("declare `{name}` before `{before}`"),
            [TextChange::Before(message.span, first.span)],
        )
}

/// The runtime answers with an empty result, which must be one of the alternatives.
fn answered(declarations: &Declarations, request: MessageIndex, message: &Message) -> Option<Diagnostic> {
    let plain = |reply: MessageIndex| {
        declarations.message(reply).is_some_and(|reply| reply.table.condition.is_none())
    };
    if declarations.replies(request).any(plain) {
        return None;
    }
    let reply = declarations.replies(request).next().and_then(|reply| declarations.message(reply))?;
    Some(
        Diagnostic::error(
            NOT_TOLD_APART,
            reply.span,
            format!("the runtime cannot answer `{}` by itself", message.table.name),
        )
        .label("an empty result fits no condition")
        .also(message.span, "this request is `answered`")
        .changes(
            "remove `answered`, or declare a reply without a condition",
            [TextChange::DeleteModifier(message.span, "answered")],
        ),
    )
}
