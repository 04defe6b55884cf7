//! Files and items as text.
//!
//! In: a tree. Out: its text, a definition or a list that does not fit in one line broken into several. Refuses to
//! reorder.

use super::WIDTH;
use super::session::{laid_out, width};
use crate::ast::{
    Condition, File, GroupMember, GroupOperator, Item, ItemKind, JsonPath, KeyField, Level, LevelDirection,
    MessageField, Modifier, Name, Payload, Reply, RoleSide,
};
use crate::lexer::quote;

/// How far what goes on in a further line is indented.
const INDENT: usize = 4;

/// A whole file, with a line end.
pub fn file(file: &File) -> String {
    let mut out = String::new();
    let mut last: Option<&Item> = None;
    for item in &file.items {
        let together = last.is_some_and(|last| belong_together(last, item));
        if last.is_some() && !together {
            out.push('\n');
        }
        for line in &item.documentation {
            let space = if line.is_empty() { "" } else { " " };
            out.push_str(&format!("---{space}{line}\n"));
        }
        if item.overrides.is_some() {
            out.push_str("override ");
        }
        out.push_str(&kind(&item.kind, if item.overrides.is_some() { "override ".len() } else { 0 }));
        out.push('\n');
        last = Some(item);
    }
    out
}

/// Whether no empty line stands between two items: neighbours of one kind without documentation.
fn belong_together(first: &Item, second: &Item) -> bool {
    use ItemKind as Kind;
    let alike = matches!(
        (&first.kind, &second.kind),
        (Kind::Protocol { .. } | Kind::Types(_) | Kind::Import(_), Kind::Types(_) | Kind::Import(_))
            | (Kind::Request(_) | Kind::Notification(_), Kind::Request(_) | Kind::Notification(_))
            | (Kind::Capabilities { .. } | Kind::Version(_), Kind::Capabilities { .. } | Kind::Version(_))
            | (Kind::Group { .. }, Kind::Group { .. })
            | (Kind::Key { .. }, Kind::Key { .. })
            | (Kind::Role { .. }, Kind::Role { .. })
            | (Kind::Definition { .. }, Kind::Definition { .. })
    );
    alike && second.documentation.is_empty()
}

fn kind(kind: &ItemKind, column: usize) -> String {
    match kind {
        ItemKind::Protocol { name, version, batch } => {
            let version =
                version.as_ref().map_or(String::new(), |version| format!(" {}", quote(&version.text)));
            format!("protocol {}{version}{}", name.text, if batch.is_some() { " batch" } else { "" })
        }
        ItemKind::Types(path) => format!("types {}", rust(&path.text)),
        ItemKind::Import(path) => format!("import {}", quote(&path.text)),
        ItemKind::Request(request) => {
            let mut out =
                message("request", &request.name, &request.method, &request.condition, &request.payload);
            if !request.replies.is_empty() {
                let replies: Vec<String> = request.replies.iter().map(reply).collect();
                out.push_str(&format!(" -> {}", replies.join(" | ")));
            }
            with_modifiers(out, &request.modifiers, column)
        }
        ItemKind::Notification(one) => {
            let out = message("notification", &one.name, &one.method, &one.condition, &one.payload);
            with_modifiers(out, &one.modifiers, column)
        }
        ItemKind::Capabilities { role, field } => {
            format!("capabilities {} = {}", role.text, message_field(field))
        }
        ItemKind::Version(field) => format!("version = {}", message_field(field)),
        ItemKind::Group { name, operator, members } => {
            let operator = match operator {
                GroupOperator::Define => "=",
                GroupOperator::Add => "+=",
                GroupOperator::Remove => "-=",
            };
            let members = members.iter().map(|member| match member {
                GroupMember::Name(name) => name.text.clone(),
                GroupMember::Replies(name, _) => format!("replies {}", name.text),
            });
            alternatives(&format!("group {} {operator}", name.text), members.collect(), column)
        }
        ItemKind::Key { open, name, fields } => {
            let fields = fields.iter().map(|field| match field {
                KeyField::Field(field) => message_field(field),
                KeyField::Id(name) => format!("id of {}", name.text),
            });
            let open = if open.is_some() { "open " } else { "" };
            alternatives(&format!("{open}key {} =", name.text), fields.collect(), column)
        }
        ItemKind::Role { side, name, body, compatible } => {
            let side = match side {
                RoleSide::Client => "client",
                RoleSide::Server => "server",
            };
            let compatible = if compatible.is_some() { " compatible" } else { "" };
            let head = format!("{side} {}{compatible}", name.text);
            match body {
                Some(body) => defined(head, body, column),
                None => head,
            }
        }
        ItemKind::Definition { role, name, levels: all, body } => {
            let role = role.as_ref().map_or(String::new(), |role| format!("{}::", role.text));
            let levels = if all.is_empty() { String::new() } else { format!(" {}", levels(all)) };
            defined(format!("{role}{}{levels}", name.text), body, column)
        }
    }
}

/// `head = body`, the body in lines of its own if it does not fit.
fn defined(head: String, body: &crate::ast::Choice, column: usize) -> String {
    let start = column + width(&head) + " = ".len();
    let flat = laid_out(body, INDENT, start);
    if !flat.contains('\n') {
        return format!("{head} = {flat}");
    }
    format!("{head} =\n{}{}", " ".repeat(INDENT), laid_out(body, INDENT, INDENT))
}

fn alternatives(head: &str, all: Vec<String>, column: usize) -> String {
    let flat = format!("{head} {}", all.join(" | "));
    if column + width(&flat) <= WIDTH {
        return flat;
    }
    let mut out = head.to_owned();
    let mut at = WIDTH;
    for (index, one) in all.iter().enumerate() {
        let text = if index == 0 { one.clone() } else { format!("| {one}") };
        if at + 1 + width(&text) > WIDTH {
            out.push_str(&format!("\n{}", " ".repeat(INDENT)));
            at = INDENT;
        } else {
            out.push(' ');
            at += 1;
        }
        at += width(&text);
        out.push_str(&text);
    }
    out
}

fn message(word: &str, name: &Name, method: &Name, when: &Option<Condition>, body: &Payload) -> String {
    format!("{word} {} {}{}{}", name.text, quote(&method.text), condition(when), payload(body))
}

fn reply(reply: &Reply) -> String {
    format!("{}{}{}", reply.name.text, payload(&reply.payload), condition(&reply.condition))
}

fn with_modifiers(mut out: String, modifiers: &[Modifier], column: usize) -> String {
    let texts: Vec<String> = modifiers.iter().map(modifier).collect();
    let whole: usize = texts.iter().map(|text| width(text) + 1).sum();
    let separator = if column + width(&out) + whole > WIDTH {
        format!("\n{}", " ".repeat(INDENT))
    } else {
        " ".to_owned()
    };
    for text in texts {
        out.push_str(&separator);
        out.push_str(&text);
    }
    out
}

fn modifier(modifier: &Modifier) -> String {
    match modifier {
        Modifier::As(name) => format!("as {}", name.text),
        Modifier::Requires { holder, path, condition: when, .. } => {
            format!("requires {}.{}{}", holder.text, json_path(path), condition(when))
        }
        Modifier::Answered(_) => "answered".to_owned(),
        Modifier::Cancellable(_) => "cancellable".to_owned(),
        Modifier::Cancels(path, _) => format!("cancels {}", json_path(path)),
        Modifier::Reports { token, of, .. } => {
            let of: Vec<String> = of.iter().map(json_path).collect();
            format!("reports {} of {}", json_path(token), of.join(" | "))
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

fn payload(payload: &Payload) -> String {
    let mark = |optional: bool| if optional { "?" } else { "" };
    match payload {
        Payload::None => String::new(),
        Payload::Null(_) => " (null)".to_owned(),
        Payload::Any { optional, .. } => format!(" (_{})", mark(*optional)),
        Payload::Type { path, optional } => format!(" ({}{})", rust(&path.text), mark(*optional)),
    }
}

/// A Rust path with a space behind each comma.
fn rust(text: &str) -> String {
    text.replace(',', ", ")
}

fn condition(condition: &Option<Condition>) -> String {
    match condition {
        None => String::new(),
        Some(Condition { path, literal: None, .. }) => format!(" if {}", json_path(path)),
        Some(Condition { path, literal: Some(literal), .. }) => {
            format!(" if {} = {}", json_path(path), quote(&literal.text))
        }
    }
}

fn message_field(field: &MessageField) -> String {
    format!("{}.{}", field.message.text, json_path(&field.path))
}

fn json_path(path: &JsonPath) -> String {
    path.segments.iter().map(|segment| json_key(&segment.text)).collect::<Vec<_>>().join(".")
}

/// A key, in quotes unless it reads as one word.
fn json_key(key: &str) -> String {
    if crate::lexer::is_word(key) { key.to_owned() } else { quote(key) }
}
