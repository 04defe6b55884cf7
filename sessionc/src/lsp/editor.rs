//! What the editor can do.

use lsp_protocols::types::{ClientCapabilities, MarkupKind, PositionEncodingKind};

use super::positions::Encoding;

/// What of the editor's capabilities changes answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Editor {
    /// How columns count: bytes if the editor offers them.
    pub(super) encoding: Encoding,
    /// It shows Markdown in a hover.
    pub(super) markdown: bool,
    /// It takes edits that name the version of a document.
    pub(super) versioned_edits: bool,
    /// It shows symbols inside of others.
    pub(super) nested_symbols: bool,
    /// It watches files for the server.
    pub(super) watches: bool,
}

impl Editor {
    /// Reads what the editor announces.
    pub(super) fn of(capabilities: &ClientCapabilities) -> Editor {
        let general = capabilities.general.as_ref();
        let offered = general.and_then(|general| general.position_encodings.as_deref()).unwrap_or_default();
        let text = capabilities.text_document.as_ref();
        let workspace = capabilities.workspace.as_ref();
        let hover = text.and_then(|text| text.hover.as_ref());
        let formats = hover.and_then(|hover| hover.content_format.as_deref()).unwrap_or_default();
        let edits = workspace.and_then(|workspace| workspace.workspace_edit.as_ref());
        let symbols = text.and_then(|text| text.document_symbol.as_ref());
        let watching = workspace.and_then(|workspace| workspace.did_change_watched_files.as_ref());
        Editor {
            encoding: match offered.contains(&PositionEncodingKind::UTF8) {
                true => Encoding::Utf8,
                false => Encoding::Utf16,
            },
            markdown: formats.contains(&MarkupKind::Markdown),
            versioned_edits: edits.and_then(|edits| edits.document_changes).unwrap_or_default(),
            nested_symbols: symbols
                .and_then(|symbols| symbols.hierarchical_document_symbol_support)
                .unwrap_or_default(),
            watches: watching.and_then(|watching| watching.dynamic_registration).unwrap_or_default(),
        }
    }
}
