//! Files and items as text.

use mcp_protocol_machine::protocol::Dialect;

use super::parts::{
    announced_field, condition, json_path, levels, member_name, message_field, modifier, rust, with_error,
};
use super::session::lay_out;
use super::shape;
use super::writer::{WIDTH, Writer, width};
use crate::ast::{
    Choice, Condition, File, GroupMember, GroupOperator, Item, ItemKind, KeyFieldPlace, LevelDirection,
    Modifier, Name, Payload, Reply, RoleSide,
};
use crate::lexer::quote;
use crate::source::Span;

/// How far what goes on in a further line is indented.
const INDENT: usize = 4;

/// A whole file, with a line end.
pub fn file(file: &File) -> String {
    let mut out = Writer::new(&file.comments);
    // Where in the file that stood which was written last.
    let mut end = 0;
    let mut last: Option<&Item> = None;
    for item in &file.items {
        let apart = last.is_some_and(|last| !belong_together(last, item));
        between(&mut out, file, &mut end, item.span.start, apart);
        for line in &item.documentation {
            out.text(&shape::documentation(line));
            out.end_line();
        }
        if item.overrides.is_some() {
            out.text("override ");
        }
        kind(&mut out, item);
        end = item.span.end;
        last = Some(item);
    }
    between(&mut out, file, &mut end, u32::MAX, false);
    out.finish()
}

/// Ends the line of the last item, and writes the comments that stand before the next one. An empty line stays where
/// it is; if the two items must be apart and there is none, one is put before the comments.
fn between(out: &mut Writer<'_>, file: &File, end: &mut u32, next: u32, mut apart: bool) {
    let empty_line = |from: u32, to: u32| {
        let first = file.empty_lines.partition_point(|line| *line < from);
        file.empty_lines.get(first).is_some_and(|line| *line < to)
    };
    if !out.is_empty() {
        if let Some(comment) = out.pending(next).filter(|comment| !comment.own_line)
            && out.end_with(comment)
        {
            *end = comment.span.end;
        }
        out.end_line();
    }
    apart &= !empty_line(*end, next);
    while let Some(comment) = out.pending(next) {
        if (apart || empty_line(*end, comment.span.start)) && !out.is_empty() {
            out.end_line();
        }
        apart = false;
        out.comment(comment);
        out.end_line();
        *end = comment.span.end;
    }
    if next != u32::MAX && (apart || empty_line(*end, next)) && !out.is_empty() {
        out.end_line();
    }
}

/// Whether no empty line stands between two items: neighbours of one kind without documentation.
fn belong_together(first: &Item, second: &Item) -> bool {
    use ItemKind as Kind;
    let alike = matches!(
        (&first.kind, &second.kind),
        (Kind::Protocol { .. } | Kind::Types(_) | Kind::Import(_), Kind::Types(_) | Kind::Import(_))
            | (Kind::Request(_) | Kind::Notification(_), Kind::Request(_) | Kind::Notification(_))
            | (
                Kind::Capabilities { .. } | Kind::Version { .. },
                Kind::Capabilities { .. } | Kind::Version { .. }
            )
            | (Kind::Group { .. }, Kind::Group { .. })
            | (Kind::Key { .. }, Kind::Key { .. })
            | (Kind::Role { .. }, Kind::Role { .. })
            | (Kind::Definition { .. }, Kind::Definition { .. })
            | (Kind::Shape { .. }, Kind::Shape { .. })
    );
    alike && second.documentation.is_empty()
}

fn kind(out: &mut Writer<'_>, item: &Item) {
    match &item.kind {
        ItemKind::Protocol { name, version, envelope } => {
            let version = match version {
                None => String::new(),
                Some(version) if version.is_number => format!(" {}", version.name.text),
                Some(version) => format!(" {}", quote(&version.name.text)),
            };
            out.text(&format!("protocol {}{version}", name.text));
            let dialect = envelope.dialect.and_then(|(_, dialect)| match dialect {
                Dialect::Standard => None,
                Dialect::WithoutJsonrpc => Some(" without jsonrpc"),
                Dialect::Version1 => Some(" jsonrpc \"1.0\""),
            });
            let words =
                [envelope.batch.map(|_| " batch"), dialect, envelope.reuses_ids.map(|_| " reuses ids")];
            for words in words.into_iter().flatten() {
                out.text(words);
            }
        }
        ItemKind::Shape { name, body } => {
            out.text(&format!("type {}", name.text));
            shape::defined(out, body);
        }
        ItemKind::Types(path) => out.text(&format!("types {}", rust(&path.text))),
        ItemKind::Import(path) => out.text(&format!("import {}", quote(&path.text))),
        ItemKind::Request(one) => {
            message(out, "request", &one.name, &one.method, &one.condition, &one.payload);
            let line = out.line();
            for (index, one) in one.replies.iter().enumerate() {
                reply(out, if index == 0 { "->" } else { "|" }, one);
            }
            let broken = out.line() != line;
            modifiers(out, &one.modifiers, broken);
        }
        ItemKind::Notification(one) => {
            message(out, "notification", &one.name, &one.method, &one.condition, &one.payload);
            modifiers(out, &one.modifiers, false);
        }
        ItemKind::Capabilities { role, field, open, defaults, error } => {
            let open = if open.is_some() { " open until announced" } else { "" };
            let field = announced_field(field);
            out.text(&format!("capabilities {} = {field}{open}{}", role.text, with_error(*error)));
            // A path never begins a line, for its first key may be the word of an item.
            for (index, path) in defaults.iter().enumerate() {
                let text = format!("{} {}", if index == 0 { "default" } else { "|" }, json_path(path));
                filled(out, &text, path.span.end, false);
            }
        }
        ItemKind::Version { field, error } => {
            out.text(&format!("version = {}{}", announced_field(field), with_error(*error)));
        }
        ItemKind::Group { name, operator, members } => {
            let operator = match operator {
                GroupOperator::Define => "=",
                GroupOperator::Add => "+=",
                GroupOperator::Remove => "-=",
            };
            let members = members.iter().map(|member| match member {
                GroupMember::Name(name) => (name.text.clone(), name.span.end),
                GroupMember::Replies(name, _) => (format!("replies {}", name.text), name.span.end),
            });
            alternatives(out, &format!("group {} {operator}", name.text), members.collect(), item.span);
        }
        ItemKind::Key { open, name, fields } => {
            let word = |open: &Option<Span>| if open.is_some() { "open " } else { "" };
            let fields = fields.iter().map(|field| {
                let (place, end) = match &field.place {
                    KeyFieldPlace::Field(field) => (message_field(field), field.path.span.end),
                    KeyFieldPlace::Id(name) => (format!("id of {}", name.text), name.span.end),
                    KeyFieldPlace::Member { member, quoted, of } => {
                        (format!("{} of {}", member_name(&member.text, *quoted), of.text), of.span.end)
                    }
                };
                (format!("{}{place}", word(&field.open)), end)
            });
            alternatives(out, &format!("{}key {} =", word(open), name.text), fields.collect(), item.span);
        }
        ItemKind::Role { side, name, body, compatible } => {
            let side = match side {
                RoleSide::Client => "client",
                RoleSide::Server => "server",
            };
            let compatible = if compatible.is_some() { " compatible" } else { "" };
            out.text(&format!("{side} {}{compatible}", name.text));
            if let Some(body) = body {
                defined(out, body, item.span);
            }
        }
        ItemKind::Definition { role, name, only, levels: all, body } => {
            let role = role.as_ref().map_or(String::new(), |role| format!("{}::", role.text));
            let levels = if all.is_empty() { String::new() } else { format!(" {}", levels(all)) };
            let only = match only.map(|only| only.direction) {
                None => "",
                Some(None) => " only",
                Some(Some(LevelDirection::Out)) => " only out",
                Some(Some(LevelDirection::In)) => " only in",
            };
            out.text(&format!("{role}{}{only}{levels}", name.text));
            defined(out, body, item.span);
        }
    }
}

/// `= body`, the body in lines of its own if it does not fit.
fn defined(out: &mut Writer<'_>, body: &Choice, item: Span) {
    out.text(" =");
    if !out.has_within(item) {
        let mut trial = Writer::new(&[]);
        trial.text(&" ".repeat(out.column() + 1));
        lay_out(&mut trial, body, INDENT);
        if !trial.broken() {
            out.text(" ");
            return out.text(trial.finish().trim_start());
        }
    }
    out.at(body.span.start, INDENT);
    out.new_line(INDENT);
    lay_out(out, body, INDENT);
}

/// `head A | B`, in several lines if it does not fit or if there are comments in it.
fn alternatives(out: &mut Writer<'_>, head: &str, all: Vec<(String, u32)>, item: Span) {
    let texts: Vec<&str> = all.iter().map(|(text, _)| text.as_str()).collect();
    let flat = format!("{head} {}", texts.join(" | "));
    if out.column() + width(&flat) <= WIDTH && !out.has_within(item) {
        return out.text(&flat);
    }
    out.text(head);
    for (index, (one, end)) in all.iter().enumerate() {
        let text = if index == 0 { one.clone() } else { format!("| {one}") };
        filled(out, &text, *end, index == 0);
    }
}

fn message(
    out: &mut Writer<'_>,
    word: &str,
    name: &Name,
    method: &Name,
    when: &Option<Condition>,
    body: &Payload,
) {
    out.text(&format!("{word} {} {}{}", name.text, quote(&method.text), condition(when, "if")));
    carried(out, body);
}

/// A reply behind its sign.
fn reply(out: &mut Writer<'_>, sign: &str, reply: &Reply) {
    let condition = condition(&reply.condition, "if");
    let head = format!("{sign} {}", reply.name.text);
    let whole = format!("{head}{}{condition}", payload(&reply.payload));
    match &reply.payload {
        // The fields have lines of their own where it does not fit into a line, and the reply stays in this one.
        Payload::Shape { shape, .. } if INDENT + width(&whole) > WIDTH || !shape::may_be_flat(out, shape) => {
            filled(out, &head, shape::begin(shape), false);
            carried(out, &reply.payload);
            out.text(&condition);
        }
        _ => filled(out, &whole, reply_end(reply), false),
    }
}

/// A payload in one line, with its parentheses.
fn payload(payload: &Payload) -> String {
    let mark = |optional: bool| if optional { "?" } else { "" };
    match payload {
        Payload::None => String::new(),
        Payload::Null(_) => " (null)".to_owned(),
        Payload::Any { optional, .. } => format!(" (_{})", mark(*optional)),
        Payload::Type { path, optional } => format!(" ({}{})", rust(&path.text), mark(*optional)),
        Payload::Shape { shape, optional, .. } => format!(" ({}{})", shape::flat(shape), mark(*optional)),
    }
}

/// A payload with its parentheses; the fields of a record that does not fit stand in lines of their own.
fn carried(out: &mut Writer<'_>, body: &Payload) {
    let Payload::Shape { shape, optional, .. } = body else { return out.text(&payload(body)) };
    // What is said before the shape is said before its parentheses.
    out.at(shape::begin(shape), INDENT);
    out.text(if out.blank() { "(" } else { " (" });
    // A reply may stand in a line of its own, behind its indentation.
    shape::laid_out(out, shape, out.indent());
    out.text(if *optional { "?)" } else { ")" });
}

/// A piece in the same line if it fits and need not begin one.
fn filled(out: &mut Writer<'_>, text: &str, end: u32, new_line: bool) {
    out.at(end, INDENT);
    if new_line || out.column() + 1 + width(text) > WIDTH {
        out.new_line(INDENT);
    } else if !out.blank() {
        out.text(" ");
    }
    out.text(text);
}

/// Modifiers in the same line if all of them fit and what is before them did, else in lines of their own.
fn modifiers(out: &mut Writer<'_>, modifiers: &[Modifier], broken: bool) {
    let texts: Vec<String> = modifiers.iter().map(modifier).collect();
    let whole: usize = texts.iter().map(|text| width(text) + 1).sum();
    let broken = broken || out.column() + whole > WIDTH;
    for (index, (one, text)) in modifiers.iter().zip(texts).enumerate() {
        filled(out, &text, modifier_end(one), broken && index == 0);
    }
}

/// A place in a modifier behind which no comment can stand that is inside of it.
fn modifier_end(modifier: &Modifier) -> u32 {
    match modifier {
        Modifier::As(name) => name.span.end,
        Modifier::Requires { span, .. }
        | Modifier::Answered(span)
        | Modifier::Cancellable { span, .. }
        | Modifier::Cancels { span, .. }
        | Modifier::Reports { span, .. }
        | Modifier::Grants { span, .. }
        | Modifier::Revokes { span, .. }
        | Modifier::Pages { span, .. }
        | Modifier::Rounds { span, .. }
        | Modifier::During { span, .. } => span.end,
        Modifier::Levels(all) => all.last().map_or(0, |last| last.span.end),
    }
}

/// The end of what is known of a reply's place.
fn reply_end(reply: &Reply) -> u32 {
    let payload = reply.payload.span().unwrap_or(reply.name.span).end;
    reply.condition.as_ref().map_or(payload, |condition| condition.span.end)
}
