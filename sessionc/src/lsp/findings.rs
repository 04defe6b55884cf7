//! The compiler's diagnostics, as the editor shows them.

use std::path::Path;

use lsp_protocols::types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, NumberOrString, Range,
};
use mcp_protocol_compiler::diagnostic::{self, Severity};
use mcp_protocol_compiler::source::{SourceMap, Span};

use super::snapshot::Snapshot;

/// The codes of what may be deleted, which editors show faded.
const UNUSED: [&str; 4] = ["S0111", "S0114", "S0125", "S0127"];

/// One diagnostic. Its message has all that the compiler says of it but the labels, which are links to their places.
pub(super) fn shown(snapshot: &Snapshot, sources: &SourceMap, found: &diagnostic::Diagnostic) -> Diagnostic {
    let label = found.labels.first().map(|label| label.text.as_str()).filter(|text| !text.is_empty());
    let lines = std::iter::once(found.message.clone())
        .chain(label.map(str::to_owned))
        .chain(found.notes.iter().map(|note| format!("note: {note}")))
        .chain(found.helps.iter().map(|help| format!("help: {help}")));
    let related = found.labels.iter().skip(1).filter_map(|label| {
        let message = if label.text.is_empty() { "see here".to_owned() } else { label.text.clone() };
        Some(DiagnosticRelatedInformation { location: snapshot.location(sources, label.span)?, message })
    });
    let related: Vec<_> = related.collect();
    Diagnostic {
        range: found.span().map(|span| snapshot.range(sources, span)).unwrap_or_default(),
        severity: Some(match found.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            _ => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(found.code.0.to_owned())),
        source: Some("sessionc".to_owned()),
        message: lines.collect::<Vec<_>>().join("\n"),
        related_information: (!related.is_empty()).then_some(related),
        tags: UNUSED.contains(&found.code.0).then(|| vec![DiagnosticTag::UNNECESSARY]),
        ..Diagnostic::default()
    }
}

/// The file of a diagnostic: that of its primary place.
pub(super) fn file<'s>(sources: &'s SourceMap, found: &diagnostic::Diagnostic, entry: &'s Path) -> &'s Path {
    found.span().map_or(entry, |span| sources.path(span.file))
}

/// Whether a place touches a range.
pub(super) fn touches(snapshot: &Snapshot, sources: &SourceMap, span: Span, range: Range) -> bool {
    let place = snapshot.range(sources, span);
    place.start <= range.end && range.start <= place.end
}
