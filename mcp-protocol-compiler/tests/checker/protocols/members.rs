//! Keys in members of the envelope.

use std::path::Path;

use mcp_protocol_compiler::diagnostic::Diagnostic;
use mcp_protocol_compiler::{Settings, compile_with};

use crate::random::Random;

/// How many random protocols in a hundred have such keys, and how many of the places of a key become members.
const PROTOCOLS: usize = 60;
const PLACES: usize = 85;

/// The keys of a protocol, each with its places, and whether each line begins with `open`.
fn key(line: &str) -> Option<(&str, &str, &str)> {
    let (open, key) = line.strip_prefix("open ").map_or(("", line), |key| ("open ", key));
    let (name, places) = key.strip_prefix("key ")?.split_once(" = ")?;
    Some((open, name, places))
}

/// The message of a place of a key that may be in the envelope: that of no reply.
fn message(place: &str) -> Option<&str> {
    let place = place.strip_prefix("open ").unwrap_or(place);
    let (message, _) = place.split_once('.')?;
    let number = message.strip_prefix(['N', 'R'])?;
    number.chars().all(|letter| letter.is_ascii_digit()).then_some(message)
}

/// The same text with these places of its keys in the envelope.
fn with(text: &str, moved: &[(String, String)]) -> String {
    let mut changed = String::new();
    for line in text.lines() {
        let Some((open, name, places)) = key(line) else {
            changed += line;
            changed.push('\n');
            continue;
        };
        let is_moved = |place: &str| moved.iter().any(|(key, moved)| key == name && moved == place);
        let places = places.split(" | ").map(|place| {
            let (open, field) = place.strip_prefix("open ").map_or(("", place), |field| ("open ", field));
            match field.split_once('.') {
                Some((message, field)) if is_moved(place) => format!("{open}{field} of {message}"),
                _ => place.to_owned(),
            }
        });
        changed += &format!("{open}key {name} = {}\n", places.collect::<Vec<_>>().join(" | "));
    }
    changed
}

/// Writes some places of keys as members of the envelope, where what comes before brings their values. Nothing else of a
/// seed depends on them.
pub(super) fn add(mut random: Random, text: String) -> String {
    if !random.percent(PROTOCOLS) {
        return text;
    }
    let keys = text.lines().filter_map(key);
    let places = keys.flat_map(|(_, key, places)| places.split(" | ").map(move |place| (key, place)));
    let mut moved: Vec<(String, String)> = places
        .filter(|(_, place)| message(place).is_some() && random.percent(PLACES))
        .map(|(key, place)| (key.to_owned(), place.to_owned()))
        .collect();
    // Without any, there is nothing for the compiler to refuse.
    while !moved.is_empty() {
        let changed = with(&text, &moved);
        let mut read = |_: &Path| Ok(changed.clone().into_bytes());
        let settings = Settings::default().without_tries(true);
        let compilation = compile_with(Path::new("random.session"), &mut read, settings).unwrap();
        let refused = |found: &&Diagnostic| matches!(found.code.0, "S0129" | "S0410");
        let refused: Vec<&Diagnostic> = compilation.diagnostics.iter().filter(refused).collect();
        if refused.is_empty() {
            return changed;
        }
        let before = moved.len();
        moved.retain(|(_, place)| {
            let message = message(place).unwrap_or_default();
            let names = [format!("`!{message}`"), format!("`?{message}`"), format!("`{message}`")];
            !refused.iter().any(|found| names.iter().any(|name| found.message.contains(name)))
        });
        if moved.len() == before {
            break;
        }
    }
    text
}
