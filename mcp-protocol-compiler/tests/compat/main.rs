//! Two versions of a protocol: what `compat` says of them is what happens.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they expect by panicking"
)]

mod cases;
mod conditions;
mod order;
mod payloads;
mod random;
mod shipped;
mod tuples;
mod unions;
mod values;

use std::io;
use std::path::Path;

use mcp_protocol_compiler::compat::{Comparison, PairVerdict, Verdict, compare};
use mcp_protocol_compiler::diagnostic::render::{Style, render, render_all};

/// Compares two texts.
fn comparison(old: &str, new: &str) -> Comparison {
    let mut read = |path: &Path| -> io::Result<Vec<u8>> {
        Ok(if path == Path::new("old.session") { old } else { new }.as_bytes().to_vec())
    };
    compare(Path::new("old.session"), Path::new("new.session"), &mut read).unwrap()
}

/// The verdict on two texts without errors.
fn verdict(old: &str, new: &str) -> Verdict {
    let comparison = comparison(old, new);
    let found = || render_all(&comparison.sources, &comparison.diagnostics, Style::Plain);
    comparison.verdict.clone().unwrap_or_else(|| panic!("{}\n{old}\n{new}", found()))
}

/// What breaks, a line each: the pair, the code and the message.
fn lines(old: &str, new: &str) -> Vec<String> {
    let all = verdict(old, new);
    let pair = |pair: &PairVerdict| {
        let place = format!("{}-{}", pair.client.word(), pair.server().word());
        let found = pair.found.iter();
        let line = move |found: &mcp_protocol_compiler::compat::Break| {
            format!("{place} {} {}", found.diagnostic.code.0, found.diagnostic.message)
        };
        found.map(line).collect::<Vec<_>>()
    };
    all.pairs.iter().flat_map(pair).collect()
}

/// All findings as a person reads them.
fn rendered(old: &str, new: &str) -> String {
    let comparison = comparison(old, new);
    let verdict = comparison.verdict.as_ref().unwrap();
    let found = verdict.pairs.iter().flat_map(|pair| &pair.found);
    found.map(|found| render(&comparison.sources, &found.diagnostic, Style::Plain) + "\n").collect()
}
