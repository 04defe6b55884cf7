//! The canonical layout of a document.

use lsp_protocols::types::{DocumentFormattingParams, TextEdit};
use mcp_protocol_compiler::format;
use mcp_protocol_compiler::source::Span;
use mcp_runtime::RpcError;

use super::changed_lines::changed_lines;
use super::snapshot::{Snapshot, cannot_read};
use super::uris::path_of;

/// The edits that format a document, those lines alone that change, so that the cursor stays where it is. A document with
/// errors is left as it is.
pub(super) fn formatting(
    snapshot: &Snapshot,
    params: &DocumentFormattingParams,
) -> Result<Option<Vec<TextEdit>>, RpcError> {
    let path = path_of(&params.text_document.uri);
    let bytes = snapshot.read(&path).map_err(|error| cannot_read(&path, &error))?;
    let formatted = format(&path, bytes);
    let Some(new) = &formatted.text else { return Ok(None) };
    let Some(file) = formatted.sources.files().next() else { return Ok(None) };
    let old: Vec<&str> = formatted.sources.text(file).split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut ends = vec![0];
    for line in &old {
        ends.push(ends.last().unwrap_or(&0) + u32::try_from(line.len()).unwrap_or(0));
    }
    let end_of = |line: usize| ends.get(line).copied().unwrap_or(0);
    let mut edits = Vec::new();
    for change in changed_lines(&old, &new) {
        let span = Span { file, start: end_of(change.old.start), end: end_of(change.old.end) };
        let text = new.get(change.new).unwrap_or_default().concat();
        edits.push(TextEdit::new(snapshot.range(&formatted.sources, span), text));
    }
    Ok(Some(edits))
}
