//! Alternatives: messages of one method, or replies of one request, that conditions tell apart.

use std::collections::HashMap;

use mcp_protocol_machine::protocol::{Kind, Literal, MessageIndex, Payload, Text};

use crate::declarations::{Declarations, DeclaredShape, Form, Message, PayloadType, Shapes};
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
        found.extend(known.rival(message).map(|first| not_told_apart(&declarations.shapes, message, first)));
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
        // `false` does not meet the condition without a value.
        let wider = wider.filter(|(_, first)| covers(first, message));
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

/// Whether whatever fits the condition of a message fits that of the first one, too.
fn covers(first: &Message, message: &Message) -> bool {
    matches!((&first.table.condition, &message.table.condition), (Some(one), Some(other)) if one.covers(other))
}

/// What is wrong with a message and its rival.
fn not_told_apart(shapes: &[DeclaredShape], message: &Message, first: &Message) -> Diagnostic {
    match first.table.condition == message.table.condition {
        true => same_condition(shapes, message, first),
        false => never_read(message, first),
    }
}

fn same_condition(shapes: &[DeclaredShape], message: &Message, first: &Message) -> Diagnostic {
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
        None => {
            let diagnostic = diagnostic
                .label("comes without a condition, too")
                .also(first.span, "comes without a condition")
                .with_note(
                    "one alternative may have no condition: it stands for every result that fits no other one",
                )
                .with_note(
                    "a failure needs no reply of its own: any request may be refused with a JSON-RPC error, which in \
                     session types is called like the request, with `Error` behind it",
                );
            with_what_tells_apart(diagnostic, shapes, first, message)
        }
    }
}

/// Says what tells one of two replies from the other one: its value, if it has no other, or else a field.
fn with_what_tells_apart(
    finding: Diagnostic,
    shapes: &[DeclaredShape],
    first: &Message,
    message: &Message,
) -> Diagnostic {
    let orders = [(message, first), (first, message)];
    let of_value = orders.iter().find_map(|(one, other)| Some((one, test_of_value(shapes, one, other)?)));
    if let Some((one, test)) = of_value {
        return finding.changes(
            format!("write `{test}` behind `{}`", one.table.name),
            [TextChange::Condition(one.span, format!(" {test}"))],
        );
    }
    let lacks_fields = |message: &Message| {
        let mut leaves = leaves(shapes, message).peekable();
        leaves.peek().is_some() && leaves.all(is_without_fields)
    };
    if lacks_fields(first) && lacks_fields(message) {
        return finding
            .help("make them one reply whose shape is a union: which of them it is, its value says");
    }
    finding.changes(
        format!(
            "write `if field` behind `{0}`, with a field of the result that only `{0}` has",
            message.table.name
        ),
        [TextChange::Condition(message.span, " if field".to_owned())],
    )
}

/// `if _ = VALUE` for a reply that is this value and no other; `if _` for one that is never `null` or `false` while the
/// other one always is.
fn test_of_value(shapes: &[DeclaredShape], one: &Message, other: &Message) -> Option<String> {
    let mut own = leaves(shapes, one);
    if let (Some(Form::Literal(value)), None) = (own.next(), own.next()) {
        return Some(format!("if _ = {}", crate::format::literal(value)));
    }
    let is_empty = |leaf: &Form| matches!(leaf, Form::Null | Form::Literal(Literal::Bool(false)));
    let may_be_empty = |leaf: &Form| is_empty(leaf) || matches!(leaf, Form::Any | Form::Bool);
    let is_told = leaves(shapes, one).next().is_some()
        && leaves(shapes, other).next().is_some()
        && !leaves(shapes, one).any(may_be_empty)
        && leaves(shapes, other).all(is_empty);
    is_told.then(|| "if _".to_owned())
}

/// What a message may carry, as far as a shape says it.
fn leaves<'a>(shapes: &'a [DeclaredShape], message: &Message) -> impl Iterator<Item = &'a Form> {
    let index = match &message.payload {
        PayloadType::Shape { index, .. } => Some(*index),
        _ => None,
    };
    let null = (message.table.payload == Payload::Null).then_some(&Form::Null);
    let declared = index.and_then(|index| shapes.get(index));
    let declared = declared.into_iter().flat_map(|shape| Shapes(shapes).leaves(&shape.form));
    declared.chain(null)
}

fn is_without_fields(leaf: &Form) -> bool {
    !matches!(leaf, Form::Record(_) | Form::Object | Form::Map(_) | Form::Any)
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
