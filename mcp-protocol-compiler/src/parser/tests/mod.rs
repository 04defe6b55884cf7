//! Tests of the parser: what must be read, what must be refused and how that looks, and arbitrary text.

mod arbitrary;
mod declarations;
mod reading;
mod recovery;
mod sessions;

use super::parse;
use crate::ast::File;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::render::{Style, render_all};
use crate::source::SourceMap;

/// The tree of a text and what is wrong with it.
pub(crate) fn parsed(text: &str) -> (SourceMap, File, Vec<Diagnostic>) {
    let mut sources = SourceMap::new();
    let file = sources.add("test.session", text);
    let (tree, diagnostics) = parse(&sources, file);
    (sources, tree, diagnostics)
}

/// The tree of a text that must be correct.
pub(crate) fn correct(text: &str) -> File {
    let (sources, tree, diagnostics) = parsed(text);
    assert!(diagnostics.is_empty(), "{text}\n{}", render_all(&sources, &diagnostics, Style::Plain));
    tree
}

/// Several small files, each with its findings, as a user would see them.
fn shown(texts: &[&str]) -> String {
    let mut out = String::new();
    for text in texts {
        let (sources, _, diagnostics) = parsed(text);
        out.push_str(text);
        out.push_str("\n\n");
        out.push_str(&render_all(&sources, &diagnostics, Style::Plain));
        out.push_str("════════\n");
    }
    out
}
