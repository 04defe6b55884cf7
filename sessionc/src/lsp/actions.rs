//! Code actions: what a diagnostic suggests, done.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lsp_protocols::types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse, TextEdit,
    WorkspaceEdit,
};
use mcp_protocol_compiler::diagnostic::Suggestion;
use mcp_protocol_compiler::resolve::load::normal;
use mcp_protocol_compiler::source::SourceMap;
use mcp_runtime::RpcError;

use super::edits::workspace_edit;
use super::findings::{shown, touches};
use super::snapshot::{Snapshot, file_at};
use super::uris::path_of;

/// The suggestions of the diagnostics that touch a range.
pub(super) fn actions(
    snapshot: &Snapshot,
    params: &CodeActionParams,
) -> Result<Option<CodeActionResponse>, RpcError> {
    if let Some(only) = &params.context.only
        && !only.iter().any(|kind| CodeActionKind::QUICKFIX.as_str().starts_with(kind.as_str()))
    {
        return Ok(None);
    }
    let path = path_of(&params.text_document.uri);
    let mut actions: Vec<CodeAction> = Vec::new();
    for entry in snapshot.checked_in(&path) {
        let Ok(analysis) = snapshot.analysis(&entry) else { continue };
        let compilation = analysis.compilation();
        let sources = &compilation.sources;
        let Some(file) = file_at(sources, &path) else { continue };
        for found in &compilation.diagnostics {
            let is_here = |span| touches(snapshot, sources, span, params.range);
            if !found.labels.iter().any(|label| label.span.file == file && is_here(label.span)) {
                continue;
            }
            let applicable: Vec<&Suggestion> =
                found.helps.iter().filter(|help| !help.edits().is_empty()).collect();
            for help in &applicable {
                let action = CodeAction {
                    title: help.text().to_owned(),
                    kind: Some(CodeActionKind::QUICKFIX),
                    diagnostics: Some(vec![shown(snapshot, sources, found)]),
                    edit: Some(edit(snapshot, sources, help)),
                    is_preferred: Some(applicable.len() == 1),
                    ..CodeAction::default()
                };
                // Two protocols that share the file suggest the same.
                if !actions.contains(&action) {
                    actions.push(action);
                }
            }
        }
    }
    Ok(Some(actions.into_iter().map(CodeActionOrCommand::CodeAction).collect()))
}

fn edit(snapshot: &Snapshot, sources: &SourceMap, help: &Suggestion) -> WorkspaceEdit {
    let mut changes: BTreeMap<PathBuf, Vec<TextEdit>> = BTreeMap::new();
    for edit in help.edits() {
        let path = normal(sources.path(edit.span.file));
        let edit = TextEdit::new(snapshot.range(sources, edit.span), edit.text.clone());
        changes.entry(path).or_default().push(edit);
    }
    workspace_edit(snapshot, changes)
}
