//! What the editor says and asks at any time, and about documents that are not open.

use std::sync::Arc;

use lsp_protocols::lsp_3_17::Open;
use lsp_protocols::lsp_3_17::server::{self, Context};
use lsp_protocols::types::*;
use mcp_runtime::RpcError;
use serde_json::Value;

use super::document::Following;
use super::questions;
use super::snapshot::Snapshot;
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

    async fn ask<P: Send + 'static, T: Send + 'static>(
        &self,
        question: fn(&Snapshot, &P) -> Result<T, RpcError>,
        asked: P,
    ) -> Result<T, RpcError> {
        answer(self.workspace.snapshot(), question, asked).await
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
        self.ask(questions::definition, params).await
    }

    async fn references(
        &self,
        _: Context,
        params: ReferenceParams,
    ) -> Result<Option<Vec<Location>>, RpcError> {
        self.ask(questions::references, params).await
    }

    async fn document_highlight(
        &self,
        _: Context,
        params: DocumentHighlightParams,
    ) -> Result<Option<Vec<DocumentHighlight>>, RpcError> {
        self.ask(questions::document_highlight, params).await
    }

    async fn document_symbol(
        &self,
        _: Context,
        params: DocumentSymbolParams,
    ) -> Result<Option<DocumentSymbolResponse>, RpcError> {
        self.ask(questions::document_symbol, params).await
    }

    async fn hover(&self, _: Context, params: HoverParams) -> Result<Option<Hover>, RpcError> {
        self.ask(questions::hover, params).await
    }

    async fn completion(
        &self,
        _: Context,
        params: CompletionParams,
    ) -> Result<Option<CompletionResponse>, RpcError> {
        self.ask(questions::completion, params).await
    }

    async fn code_action(
        &self,
        _: Context,
        params: CodeActionParams,
    ) -> Result<Option<CodeActionResponse>, RpcError> {
        self.ask(questions::code_action, params).await
    }

    async fn formatting(
        &self,
        _: Context,
        params: DocumentFormattingParams,
    ) -> Result<Option<Vec<TextEdit>>, RpcError> {
        self.ask(questions::formatting, params).await
    }

    async fn prepare_rename(
        &self,
        _: Context,
        params: TextDocumentPositionParams,
    ) -> Result<Option<PrepareRenameResponse>, RpcError> {
        self.ask(questions::prepare_rename, params).await
    }

    async fn rename(&self, _: Context, params: RenameParams) -> Result<Option<WorkspaceEdit>, RpcError> {
        self.ask(questions::rename, params).await
    }

    async fn workspace_symbol(
        &self,
        _: Context,
        params: WorkspaceSymbolParams,
    ) -> Result<Option<WorkspaceSymbolResponse>, RpcError> {
        self.ask(questions::workspace_symbol, params).await
    }

    async fn execute_command(
        &self,
        _: Context,
        params: ExecuteCommandParams,
    ) -> Result<Option<Value>, RpcError> {
        self.ask(questions::execute_command, params).await
    }
}
