//! Items as text.

use mcp_protocol_compiler::lexer::quote;
use mcp_protocol_machine::protocol::{Literal, Presence};

use super::item::{Item, Written, WrittenField, WrittenPosition, WrittenRecord};
use super::union_names;
use super::variants::VariantNames;

/// The items as they stand in a file; `sessionc fmt` lays them out.
pub(crate) fn text(items: &[Item]) -> String {
    let mut text = String::new();
    for item in items {
        for unsaid in &item.unsaid {
            // Keys and references can be any text.
            let unsaid = unsaid.replace(char::is_control, " ");
            text.push_str(&format!("-- The schema says more: {unsaid}\n"));
        }
        text.push_str(&documentation(&item.documentation, ""));
        text.push_str(&format!("type {} = {}\n\n", item.name, shape(&item.variants, &item.shape)));
    }
    text
}

fn documentation(lines: &[String], indent: &str) -> String {
    lines.iter().map(|line| format!("{indent}--- {line}\n").replace("--- \n", "---\n")).collect()
}

fn shape(variants: &VariantNames, written: &Written) -> String {
    match written {
        Written::Any => "any".to_owned(),
        Written::Null => "null".to_owned(),
        Written::Bool => "bool".to_owned(),
        Written::Int => "int".to_owned(),
        Written::Uint => "uint".to_owned(),
        Written::Number => "number".to_owned(),
        Written::String => "string".to_owned(),
        Written::Object => "object".to_owned(),
        Written::Literal(Literal::Text(text)) => quote(text),
        Written::Literal(Literal::Int(number)) => number.to_string(),
        Written::Literal(Literal::Bool(value)) => value.to_string(),
        Written::List(of) => format!("[{}]", shape(variants, of)),
        Written::Tuple(positions) => tuple(variants, positions),
        Written::Map(of) => format!("map {}", part(variants, of)),
        Written::Record(written) => record(variants, written),
        Written::Union(parts) => {
            let names = union_names::names(variants, parts)
                .into_iter()
                .map(|name| name.map(|name| format!(" as {name}")));
            let parts = parts.iter().zip(names);
            let parts = parts.map(|(written, name)| part(variants, written) + &name.unwrap_or_default());
            parts.collect::<Vec<_>>().join(" | ")
        }
        Written::Named(name) => name.clone(),
    }
}

fn part(variants: &VariantNames, written: &Written) -> String {
    match written {
        Written::Union(_) => format!("({})", shape(variants, written)),
        other => shape(variants, other),
    }
}

fn tuple(variants: &VariantNames, positions: &[WrittenPosition]) -> String {
    let is_like_a_list = matches!(positions, [only] if only.label.is_none() && only.presence.is_required());
    let positions = positions.iter().map(|position| {
        let mark = if position.presence == Presence::Optional { "?" } else { "" };
        let dots = if position.presence.is_rest() { "..." } else { "" };
        match &position.label {
            Some(label) => {
                let lines = documentation(&position.documentation, "");
                let line = if lines.is_empty() { "" } else { "\n" };
                format!("{line}{lines}{dots}{}{mark}: {}", key(label), shape(variants, &position.shape))
            }
            None if position.presence.is_required() => shape(variants, &position.shape),
            None => format!("{dots}{}{mark}", part(variants, &position.shape)),
        }
    });
    format!("[{}{}]", positions.collect::<Vec<_>>().join(", "), if is_like_a_list { "," } else { "" })
}

fn record(variants: &VariantNames, record: &WrittenRecord) -> String {
    let mut members: Vec<String> = record.spreads.iter().map(|name| format!("...{name}")).collect();
    members.extend(record.fields.iter().map(|own| field(variants, own)));
    members.extend(record.rest.then(|| "..rest".to_owned()));
    match members.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{\n{}\n}}", members.join(",\n")),
    }
}

fn field(variants: &VariantNames, field: &WrittenField) -> String {
    let mark = if field.required { "" } else { "?" };
    let lines = documentation(&field.documentation, "");
    format!("{lines}{}{mark}: {}", key(&field.name), shape(variants, &field.shape))
}

/// A key as a word, or in quotes.
fn key(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    match name.chars().all(plain) && name.starts_with(|first: char| !first.is_ascii_digit()) {
        true => name.to_owned(),
        false => quote(name),
    }
}
