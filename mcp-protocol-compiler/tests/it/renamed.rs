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

use std::collections::BTreeSet;
use std::thread;

use crate::support::{Files, compiled, flat, rendered, tree, with_written_server};
use mcp_protocol_compiler::ast::{ItemKind, RoleSide};
use mcp_protocol_compiler::diagnostic::{Diagnostic, Severity};
use mcp_protocol_compiler::lexer::{Kind, lex};
use mcp_protocol_compiler::source::{SourceMap, Span};
use mcp_protocol_compiler::{Compilation, Settings};

/// Each with whether its server has to be written out.
const PROTOCOLS: [(&str, bool); 7] = [
    ("protocols/mcp-2025-03-26.session", true),
    ("tests/protocols/note.session", false),
    ("tests/protocols/note-channels.session", true),
    ("examples/counter/counter.session", true),
    ("examples/cash_machine/cash_machine.session", true),
    ("examples/file_transfer/file_transfer.session", true),
    ("examples/language_server/language_server.session", true),
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

/// In the development profile suggestions are not tried: that takes longer than all else. `.ci/oracles` has them tried.
fn compile(text: &str) -> Compilation {
    let files = Files::from([("test.session".into(), text.as_bytes().to_vec())]);
    let settings = Settings::default().without_tries(cfg!(debug_assertions));
    compiled(&files, "test.session", settings, false)
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

/// Where a place is that something may have been replaced before.
fn moved(at: u32, place: Span, by: &str) -> u32 {
    if place.start < at { at - (place.end - place.start) + by.len() as u32 } else { at }
}

/// Where the server's session types start: all of the client's stand before them.
fn server(text: &str) -> u32 {
    let items = tree(text).items;
    let server = items.iter().find_map(|item| match &item.kind {
        ItemKind::Role { side: RoleSide::Server, name, .. } => Some(&name.text),
        _ => None,
    });
    let mut starts = items.iter().filter_map(|item| match &item.kind {
        ItemKind::Definition { role, name, .. } => {
            (Some(&role.as_ref().unwrap_or(name).text) == server).then_some(item.span.start)
        }
        _ => None,
    });
    starts.next().unwrap()
}

/// Whether a finding points at the edited place and at the message that faced what stood there, in the other role, and
/// says to write that. `server` is where the server's session types start after the edit.
fn points_at_both(found: &Diagnostic, sources: &SourceMap, server: u32, place: Span, name: &str) -> bool {
    let other = |span: Span| (span.start >= server) != (place.start >= server);
    let sign = |sign: char| format!("{sign}{name}");
    let faces = |span: Span| [sign('!'), sign('?')].contains(&sources.slice(span).to_owned());
    found.labels.iter().any(|label| (label.span.start..label.span.end).contains(&place.start))
        && found.labels.iter().any(|label| other(label.span) && faces(label.span))
        && found.helps.iter().any(|help| {
            [sign('!'), sign('?'), name.to_owned()].iter().any(|text| help.contains(&format!("`{text}`")))
        })
}

#[test]
fn a_misspelt_name_is_found_where_it_is() {
    let mut tried = 0;
    for (path, derived) in PROTOCOLS {
        let text = written_out((path, derived));
        let server = server(&text);
        for place in names(&text) {
            tried += 1;
            let name = &text[place.start as usize..place.end as usize];
            let wrong = format!("{name}{}", name.chars().last().unwrap());
            let compilation = compile(&replaced(&text, place, &wrong));
            let server = moved(server, place, &wrong);
            let (found, said) = (errors(&compilation), rendered(&compilation));
            // What is imported twice or used by both sides is still one place.
            assert_eq!(found.len(), 1, "{path}: {wrong}\n{said}");
            assert_eq!(found[0].code.0, "S0101", "{path}\n{said}");
            assert_eq!(found[0].labels[0].span.start, place.start, "{path}\n{said}");
            assert!(
                points_at_both(&found[0], &compilation.sources, server, place, name),
                "{path}: {wrong}\n{said}"
            );
            let helps: Vec<&str> = found[0].helps.iter().map(|help| help.text()).collect();
            assert_eq!(helps, [format!("did you mean `{name}`?")], "{path}\n{said}");
        }
    }
    assert!(tried > 100, "only {tried} names were changed");
}

/// What replaced names have led to.
#[derive(Default)]
struct Outcome {
    tried: usize,
    codes: BTreeSet<&'static str>,
    /// Each change whose one finding does not point at both places.
    others: Vec<String>,
}

/// Which part of the other messages is tried in each place, in the development profile, where this took as long as all
/// other tests of the program together. `.ci/oracles` tries all of them.
const SHARE: usize = if cfg!(debug_assertions) { 3 } else { 1 };

impl Outcome {
    /// Puts other messages in the place of the one that stands there. From place to place they are others.
    fn of_place(&mut self, path: &str, text: &str, server: u32, place: Span, all: &BTreeSet<&str>) {
        let name = &text[place.start as usize..place.end as usize];
        let first = place.start as usize % SHARE;
        for other in all.iter().filter(|other| **other != name).skip(first).step_by(SHARE) {
            self.tried += 1;
            let compilation = compile(&replaced(text, place, other));
            let server = moved(server, place, other);
            let (found, said) = (errors(&compilation), rendered(&compilation));
            assert!(!found.is_empty(), "{path}: `{other}` for `{name}` passes");
            self.codes.extend(found.iter().map(|found| found.code.0));
            let both = |found: &Diagnostic| points_at_both(found, &compilation.sources, server, place, name);
            if !matches!(found.as_slice(), [found] if both(found)) {
                self.others.push(format!("{path}: `{other}` for `{name}`\n{said}"));
            }
            assert!(found.iter().all(|found| !found.helps.is_empty()), "{path}\n{said}");
        }
    }

    fn join(mut self, other: Outcome) -> Outcome {
        self.tried += other.tried;
        self.codes.extend(other.codes);
        self.others.extend(other.others);
        self
    }
}

/// This is much of the time that the tests of this program take, so the places are shared out to the processors.
#[test]
fn another_message_on_one_side_is_found_where_it_is() {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let outcome = PROTOCOLS.iter().fold(Outcome::default(), |outcome, (path, derived)| {
        let text = written_out((path, *derived));
        let (server, places) = (server(&text), names(&text));
        let all: BTreeSet<&str> =
            places.iter().map(|place| &text[place.start as usize..place.end as usize]).collect();
        let of_share = |first: usize| {
            let mut outcome = Outcome::default();
            for place in places.iter().skip(first).step_by(threads) {
                outcome.of_place(path, &text, server, *place, &all);
            }
            outcome
        };
        thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|first| scope.spawn(move || of_share(first))).collect();
            running.into_iter().map(|share| share.join().unwrap()).fold(outcome, Outcome::join)
        })
    });
    let Outcome { tried, codes, others } = outcome;
    assert!(tried > 500 / SHARE, "only {tried} changes were made");
    assert!(codes.contains("S0501") && codes.contains("S0301"), "{codes:?}");
    assert!(others.is_empty(), "{} of {tried}: {}", others.len(), others.concat());
}
