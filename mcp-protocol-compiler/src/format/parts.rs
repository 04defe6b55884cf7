//! The parts of an item that stand in one line.

use mcp_protocol_machine::protocol::{Literal, position};

use crate::ast::{AnnouncedField, Condition, JsonPath, Level, LevelDirection, MessageField, Modifier};
use crate::lexer::quote;

pub(super) fn modifier(modifier: &Modifier) -> String {
    match modifier {
        Modifier::As(name) => format!("as {}", name.text),
        Modifier::Requires { holder, path, condition: when, unless, .. } => {
            let word = if *unless { "unless" } else { "if" };
            format!("requires {}.{}{}", holder.text, json_path(path), condition(when, word))
        }
        Modifier::Answered(_) => "answered".to_owned(),
        Modifier::Cancellable { until_reply: false, .. } => "cancellable".to_owned(),
        Modifier::Cancellable { until_reply: true, .. } => "cancellable until reply".to_owned(),
        Modifier::Cancels { id, reply_error: None, .. } => format!("cancels {}", json_path(id)),
        Modifier::Cancels { id, reply_error: Some(code), .. } => {
            format!("cancels {} with reply error {code}", json_path(id))
        }
        Modifier::Reports { token, of, .. } => {
            let of: Vec<String> = of.iter().map(json_path).collect();
            format!("reports {} of {}", json_path(token), of.join(" | "))
        }
        Modifier::Grants { path, .. } => format!("grants {}", json_path(path)),
        Modifier::Revokes { path, .. } => format!("revokes {}", json_path(path)),
        Modifier::Pages { cursor, next, .. } => {
            format!("pages {} from {}", json_path(cursor), json_path(next))
        }
        Modifier::Rounds { reply, state, given, answers, questions, .. } => format!(
            "rounds {} {} from {}, {} of {}",
            reply.text,
            json_path(state),
            json_path(given),
            json_path(answers),
            json_path(questions)
        ),
        Modifier::During { requests, condition: when, .. } => {
            let requests: Vec<&str> = requests.iter().map(|name| name.text.as_str()).collect();
            format!("during {}{}", requests.join(" | "), condition(when, "if"))
        }
        Modifier::Levels(all) => levels(all),
    }
}

/// `[should "L5" out, must]`
pub(super) fn levels(levels: &[Level]) -> String {
    let one = |level: &Level| {
        let mut out = String::from(if level.must { "must" } else { "should" });
        if let Some(rule) = &level.rule {
            out.push_str(&format!(" {}", quote(&rule.text)));
        }
        match level.direction {
            Some(LevelDirection::Out) => out.push_str(" out"),
            Some(LevelDirection::In) => out.push_str(" in"),
            None => {}
        }
        if let Some(code) = level.error {
            out.push_str(&format!(" error {code}"));
        }
        out
    };
    format!("[{}]", levels.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// A Rust path with a space behind each comma.
pub(super) fn rust(text: &str) -> String {
    text.replace(',', ", ")
}

/// A condition behind its word, `if` or `unless`.
pub(super) fn condition(condition: &Option<Condition>, word: &str) -> String {
    match condition {
        None => String::new(),
        Some(Condition { path, literal: None, .. }) => format!(" {word} {}", condition_path(path)),
        Some(Condition { path, literal: Some(literal), .. }) => {
            format!(" {word} {} = {}", condition_path(path), self::literal(&literal.value))
        }
    }
}

/// What a condition looks at: `_` is the payload itself.
pub(crate) fn condition_path(path: &JsonPath) -> String {
    if path.segments.is_empty() { "_".to_owned() } else { json_path(path) }
}

pub(super) fn message_field(field: &MessageField) -> String {
    match field.path.segments.as_slice() {
        [] => field.message.text.clone(),
        _ => format!("{}.{}", field.message.text, json_path(&field.path)),
    }
}

/// Where capabilities or the version are announced.
pub(super) fn announced_field(field: &AnnouncedField) -> String {
    match field {
        AnnouncedField::Message(field) => message_field(field),
        AnnouncedField::EachRequest { path, .. } => format!("each request.{}", json_path(path)),
    }
}

/// The code of an error, behind what it is for.
pub(super) fn with_error(code: Option<i64>) -> String {
    code.map(|code| format!(" with error {code}")).unwrap_or_default()
}

pub(crate) fn json_path(path: &JsonPath) -> String {
    let key = |key: &str| if position(key).is_some() { key.to_owned() } else { json_key(key) };
    path.segments.iter().map(|segment| key(&segment.text)).collect::<Vec<_>>().join(".")
}

/// A key, in quotes unless it reads as one word.
pub(crate) fn json_key(key: &str) -> String {
    if crate::lexer::is_word(key) && key != "_" { key.to_owned() } else { quote(key) }
}

/// The name of a member of the envelope.
pub(crate) fn member_name(name: &str, quoted: bool) -> String {
    if quoted { quote(name) } else { json_key(name) }
}

/// A literal as it is written.
pub(crate) fn literal(literal: &Literal) -> String {
    match literal {
        Literal::Text(text) => quote(text),
        Literal::Int(number) => number.to_string(),
        Literal::Bool(value) => value.to_string(),
    }
}
