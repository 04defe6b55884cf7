//! Changes of texts, as the editor applies them.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use lsp_protocols::types::{
    DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, TextDocumentEdit, TextEdit,
    WorkspaceEdit,
};
use mcp_protocol_compiler::resolve::load::normal;

use super::snapshot::Snapshot;

/// Makes one edit of the changes of several files. With the versions of open documents where the editor takes them, so
/// that it refuses an edit of a text that has changed meanwhile.
pub(super) fn workspace_edit(
    snapshot: &Snapshot,
    changes: BTreeMap<PathBuf, Vec<TextEdit>>,
) -> WorkspaceEdit {
    let files = changes.into_iter().filter_map(|(path, edits)| {
        let version = snapshot.documents.get(&normal(&path)).map(|document| document.version);
        Some((snapshot.uri(&path)?, version, edits))
    });
    if !snapshot.editor.versioned_edits {
        #[allow(
            clippy::mutable_key_type,
            reason = "the map is that of the type, and its keys are compared as texts"
        )]
        let changes: HashMap<_, _> = files.map(|(uri, _, edits)| (uri, edits)).collect();
        return WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() };
    }
    let documents = files.map(|(uri, version, edits)| TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri, version },
        edits: edits.into_iter().map(OneOf::Left).collect(),
    });
    let document_changes = Some(DocumentChanges::Edits(documents.collect()));
    WorkspaceEdit { document_changes, ..WorkspaceEdit::default() }
}
