//! What the editor says and asks at any time, and about documents that are not open.

use std::sync::Arc;

use lsp_protocols::lsp_3_17::Open;
use lsp_protocols::lsp_3_17::server::{self, Context};
use lsp_protocols::types::*;
use mcp_runtime::RpcError;
use serde_json::Value;

use super::document::Following;
use super::questions;
use super::uris::path_of;
use super::workspace::{Workspace, answer};

/// Answers one editor.
pub(super) struct Handler {
    workspace: Arc<Workspace>,
}

impl Handler {
    /// Answers from this workspace.
    pub(super) fn new(workspace: Arc<Workspace>) -> Handler {
        Handler { workspace }
    }
}

impl server::Handler for Handler {
    /// Follows one document, until it is closed or the session ends.
    async fn did_open(
        &self,
        context: Context,
        opened: DidOpenTextDocumentParams,
        document: server::Document<Open>,
    ) {
        let following =
            Following::new(Arc::clone(&self.workspace), context.peer(), &opened.text_document.uri);
        // An error here ends the session.
        let _ = following.run(opened.text_document, document).await;
    }

    async fn did_change_watched_files(&self, _: Context, _: DidChangeWatchedFilesParams) {
        self.workspace.look_for_files().await;
    }

    async fn did_change_workspace_folders(&self, _: Context, params: DidChangeWorkspaceFoldersParams) {
        let paths =
            |folders: Vec<WorkspaceFolder>| folders.iter().map(|folder| path_of(&folder.uri)).collect();
        let removed: Vec<_> = paths(params.event.removed);
        self.workspace.change_folders(paths(params.event.added), &removed);
        self.workspace.look_for_files().await;
    }

    async fn definition(
        &self,
        _: Context,
        params: GotoDefinitionParams,
    ) -> Result<Option<GotoDefinitionResponse>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::definition(texts, &params)).await
    }

    async fn references(
        &self,
        _: Context,
        params: ReferenceParams,
    ) -> Result<Option<Vec<Location>>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::references(texts, &params)).await
    }

    async fn document_highlight(
        &self,
        _: Context,
        params: DocumentHighlightParams,
    ) -> Result<Option<Vec<DocumentHighlight>>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::document_highlight(texts, &params)).await
    }

    async fn document_symbol(
        &self,
        _: Context,
        params: DocumentSymbolParams,
    ) -> Result<Option<DocumentSymbolResponse>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::document_symbol(texts, &params)).await
    }

    async fn hover(&self, _: Context, params: HoverParams) -> Result<Option<Hover>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::hover(texts, &params)).await
    }

    async fn completion(
        &self,
        _: Context,
        params: CompletionParams,
    ) -> Result<Option<CompletionResponse>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::completion(texts, &params)).await
    }

    async fn code_action(
        &self,
        _: Context,
        params: CodeActionParams,
    ) -> Result<Option<CodeActionResponse>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::code_action(texts, &params)).await
    }

    async fn formatting(
        &self,
        _: Context,
        params: DocumentFormattingParams,
    ) -> Result<Option<Vec<TextEdit>>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::formatting(texts, &params)).await
    }

    async fn prepare_rename(
        &self,
        _: Context,
        params: TextDocumentPositionParams,
    ) -> Result<Option<PrepareRenameResponse>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::prepare_rename(texts, &params)).await
    }

    async fn rename(&self, _: Context, params: RenameParams) -> Result<Option<WorkspaceEdit>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::rename(texts, &params)).await
    }

    async fn workspace_symbol(
        &self,
        _: Context,
        params: WorkspaceSymbolParams,
    ) -> Result<Option<WorkspaceSymbolResponse>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::workspace_symbol(texts, &params)).await
    }

    async fn execute_command(
        &self,
        _: Context,
        params: ExecuteCommandParams,
    ) -> Result<Option<Value>, RpcError> {
        answer(self.workspace.snapshot(), move |texts| questions::execute_command(texts, &params)).await
    }
}
