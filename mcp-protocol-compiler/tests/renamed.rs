//! One name edited on one side only: a finding points at that place and at the other role's, and says which message was
//! expected.
//!
//! In each protocol the server is written out, as the client's dual, so that the two sides share no text. Then each
//! message that a session type names is changed in turn: into a word that nothing declares, and into other messages.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests say what they expect by panicking"
)]

mod support;

use std::collections::BTreeSet;

use mcp_protocol_compiler::ast::{ItemKind, RoleSide};
use mcp_protocol_compiler::diagnostic::{Diagnostic, Severity};
use mcp_protocol_compiler::lexer::{Kind, lex};
use mcp_protocol_compiler::source::{SourceMap, Span};
use mcp_protocol_compiler::{Compilation, Settings};
use support::{Files, compiled, flat, rendered, tree, with_written_server};

/// Each with whether its server has to be written out.
const PROTOCOLS: [(&str, bool); 7] = [
    ("protocols/mcp-2025-03-26.session", true),
    ("tests/protocols/note.session", false),
    ("tests/protocols/note-channels.session", true),
    ("tests/examples/counter/counter.session", true),
    ("tests/examples/cash_machine/cash_machine.session", true),
    ("tests/examples/file_transfer/file_transfer.session", true),
    ("tests/examples/language_server/language_server.session", true),
];

/// The protocol with both roles written out.
fn written_out((path, derived): (&str, bool)) -> String {
    let text = flat(path);
    let mut servers = tree(&text).items.into_iter().filter_map(|item| match item.kind {
        ItemKind::Role { side: RoleSide::Server, name, .. } => Some(name.text),
        _ => None,
    });
    let server = &servers.next_back().unwrap();
    let text = if derived { with_written_server(&text, server) } else { text };
    let errors = errors(&compile(&text));
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    text
}

fn compile(text: &str) -> Compilation {
    let files = Files::from([("test.session".into(), text.as_bytes().to_vec())]);
    compiled(&files, "test.session", Settings::default(), false)
}

fn errors(compilation: &Compilation) -> Vec<Diagnostic> {
    let found = compilation.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    found.cloned().collect()
}

/// Every place where a session type names a message: the name without its sign.
fn names(text: &str) -> Vec<Span> {
    let mut sources = SourceMap::new();
    let file = sources.add("test.session", text);
    let tokens = lex(&sources, file).tokens;
    let pairs = tokens.windows(2).filter(|pair| {
        matches!(pair[0].kind, Kind::Exclamation | Kind::Question)
            && pair[1].kind == Kind::Word
            && sources.slice(pair[1].span(file)) != "reply"
    });
    pairs.map(|pair| pair[1].span(file)).collect()
}

fn replaced(text: &str, place: Span, by: &str) -> String {
    format!("{}{by}{}", &text[..place.start as usize], &text[place.end as usize..])
}

/// Where the first session type starts, and where the server's do: all of the client's stand before them.
fn roles(text: &str) -> (u32, u32) {
    let items = tree(text).items;
    let servers: Vec<&str> = items
        .iter()
        .filter_map(|item| match &item.kind {
            ItemKind::Role { side: RoleSide::Server, name, .. } => Some(name.text.as_str()),
            _ => None,
        })
        .collect();
    let definitions = || {
        items.iter().filter_map(|item| match &item.kind {
            ItemKind::Definition { role, name, .. } => Some((role.as_ref().unwrap_or(name), item.span.start)),
            _ => None,
        })
    };
    let server = definitions().find(|(name, _)| servers.contains(&name.text.as_str())).unwrap().1;
    (definitions().next().unwrap().1, server)
}

/// Whether a finding has a label in each role, and has the name that stood there in what it says.
fn points_at_both(found: &Diagnostic, (client, server): (u32, u32), name: &str) -> bool {
    let starts = || found.labels.iter().map(|label| label.span.start);
    let said = found.labels.iter().map(|label| &label.text).chain([&found.message]).chain(&found.helps);
    let words = [format!("`!{name}`"), format!("`?{name}`")];
    starts().any(|start| (client..server).contains(&start))
        && starts().any(|start| start >= server)
        && said.into_iter().any(|text| words.iter().any(|word| text.contains(word)))
}

/// Whether one of the labels is in the line of a place.
fn is_near(found: &Diagnostic, compilation: &Compilation, place: Span) -> bool {
    let line = |start: u32| compilation.sources.line_number(place.file, start);
    found
        .labels
        .iter()
        .any(|label| (line(label.span.start)..=line(label.span.end)).contains(&line(place.start)))
}

#[test]
fn a_misspelt_name_is_found_where_it_is() {
    let mut tried = 0;
    for (path, derived) in PROTOCOLS {
        let text = written_out((path, derived));
        let sides = roles(&text);
        for place in names(&text) {
            tried += 1;
            let name = &text[place.start as usize..place.end as usize];
            let wrong = format!("{name}{}", name.chars().last().unwrap());
            let compilation = compile(&replaced(&text, place, &wrong));
            let (found, said) = (errors(&compilation), rendered(&compilation));
            // What is imported twice or used by both sides is still one place.
            assert_eq!(found.len(), 1, "{path}: {wrong}\n{said}");
            assert_eq!(found[0].code.0, "S0101", "{path}\n{said}");
            assert_eq!(found[0].labels[0].span.start, place.start, "{path}\n{said}");
            assert!(points_at_both(&found[0], sides, name), "{path}: {wrong}\n{said}");
            assert_eq!(found[0].helps, [format!("did you mean `{name}`?")], "{path}\n{said}");
        }
    }
    assert!(tried > 100, "only {tried} names were changed");
}

#[test]
fn another_message_on_one_side_is_found_where_it_is() {
    let mut codes = BTreeSet::new();
    let mut tried = 0;
    let mut elsewhere = Vec::new();
    let mut one_sided: Vec<String> = Vec::new();
    for (path, derived) in PROTOCOLS {
        let text = written_out((path, derived));
        let (places, sides) = (names(&text), roles(&text));
        let all: BTreeSet<&str> =
            places.iter().map(|place| &text[place.start as usize..place.end as usize]).collect();
        for place in &places {
            let name = &text[place.start as usize..place.end as usize];
            for other in all.iter().filter(|other| **other != name) {
                tried += 1;
                let compilation = compile(&replaced(&text, *place, other));
                let (found, said) = (errors(&compilation), rendered(&compilation));
                assert!(!found.is_empty(), "{path}: `{other}` for `{name}` passes");
                codes.extend(found.iter().map(|found| found.code.0));
                if !found.iter().any(|found| points_at_both(found, sides, name)) {
                    one_sided.push(format!("{path}: `{other}` for `{name}`\n{said}"));
                }
                if !found.iter().any(|found| is_near(found, &compilation, *place)) {
                    elsewhere.push(format!("{path}: `{other}` for `{name}`"));
                }
                assert!(found.iter().all(|found| !found.helps.is_empty()), "{path}\n{said}");
            }
        }
    }
    assert!(tried > 500, "only {tried} changes were made");
    assert!(codes.contains("S0501") && codes.contains("S0301"), "{codes:?}");
    assert!(one_sided.is_empty(), "{} of {tried}: {}", one_sided.len(), one_sided.concat());
    // A reply is missed where its request comes again, which is in another line.
    elsewhere.retain(|found| !found.ends_with("for `Subscribed`"));
    // A message that makes up a whole channel is missed where the other role has that channel.
    assert_eq!(elsewhere, ["tests/protocols/note-channels.session: `Initialized` for `AnyNotification`"]);
}
