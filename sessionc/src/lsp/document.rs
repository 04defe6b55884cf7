//! One open document: its changes and the questions about it, in the order in which the editor has sent them.

use std::path::PathBuf;
use std::sync::Arc;

use lsp_protocols::lsp_3_17::server::{self, Handle, OpenNext};
use lsp_protocols::lsp_3_17::{LspError, Open};
use lsp_protocols::types::{LogMessageParams, MessageType, TextDocumentItem, Uri};
use mcp_runtime::RpcError;

use super::documents::{OpenDocument, Opening};
use super::questions;
use super::snapshot::Snapshot;
use super::uris::path_of;
use super::workspace::{Workspace, answer};

/// Follows one document. A question is answered from the texts as they are when it comes, while later changes go on.
pub(super) struct Following {
    workspace: Arc<Workspace>,
    peer: Handle,
    uri: Uri,
    path: PathBuf,
    opening: Opening,
}

impl Following {
    /// Follows the document of a URI.
    pub(super) fn new(workspace: Arc<Workspace>, peer: Handle, uri: &Uri) -> Following {
        let opening = workspace.open();
        Following { workspace, peer, uri: uri.clone(), path: path_of(uri), opening }
    }

    /// Follows the document until it is closed.
    ///
    /// # Errors
    /// If the session ends before.
    pub(super) async fn run(
        &self,
        opened: TextDocumentItem,
        mut document: server::Document<Open>,
    ) -> Result<(), LspError> {
        // Before the first `await`, so that what comes next sees the text.
        self.set(opened.version, opened.text);
        loop {
            document = match document.next().await? {
                OpenNext::DidChange(changed, document) => {
                    // The server has announced that it wants the whole text each time.
                    if let Some(change) = changed.content_changes.into_iter().next_back() {
                        self.set(changed.text_document.version, change.text);
                    }
                    document
                }
                OpenNext::DidClose(_) => {
                    self.workspace.close(&self.path, self.opening);
                    self.workspace.look_for_files().await;
                    return Ok(());
                }
                OpenNext::Definition(asked, answer, document) => {
                    self.ask(questions::definition, asked, |found| answer.answer(found));
                    document
                }
                OpenNext::References(asked, answer, document) => {
                    self.ask(questions::references, asked, |found| answer.answer(found));
                    document
                }
                OpenNext::DocumentHighlight(asked, answer, document) => {
                    self.ask(questions::document_highlight, asked, |found| answer.answer(found));
                    document
                }
                OpenNext::DocumentSymbol(asked, answer, document) => {
                    self.ask(questions::document_symbol, asked, |found| answer.answer(found));
                    document
                }
                OpenNext::Hover(asked, answer, document) => {
                    self.ask(questions::hover, asked, |found| answer.answer(found));
                    document
                }
                OpenNext::Completion(asked, answer, document) => {
                    self.ask(questions::completion, asked, |found| answer.answer(found));
                    document
                }
                OpenNext::CodeAction(asked, answer, document) => {
                    self.ask(questions::code_action, asked, |found| answer.answer(found));
                    document
                }
                OpenNext::Formatting(asked, answer, document) => {
                    self.ask(questions::formatting, asked, |found| answer.answer(found));
                    document
                }
                OpenNext::PrepareRename(asked, answer, document) => {
                    self.ask(questions::prepare_rename, asked, |found| answer.answer(found));
                    document
                }
                OpenNext::Rename(asked, answer, document) => {
                    self.ask(questions::rename, asked, |found| answer.answer(found));
                    document
                }
                // Nothing else was announced. What the editor asks all the same is answered with an error.
                other => match other.into_open() {
                    Ok(document) => document,
                    Err(_) => return Ok(()),
                },
            }
        }
    }

    fn set(&self, version: i32, text: String) {
        let document =
            OpenDocument { uri: self.uri.clone(), version, text: text.into(), opening: self.opening };
        if self.workspace.set(&self.path, document).is_err() {
            let message = format!(
                "the open documents are too large: close some of them. Until then `{}` is read from disk",
                self.path.display()
            );
            let peer = self.peer.clone();
            tokio::spawn(async move {
                let _ = peer.send_log_message(LogMessageParams { typ: MessageType::ERROR, message }).await;
            });
        }
    }

    /// Answers a question from the texts as they are now, in a task of its own.
    fn ask<P: Send + 'static, T: Send + 'static>(
        &self,
        question: fn(&Snapshot, &P) -> Result<T, RpcError>,
        asked: P,
        respond: impl FnOnce(Result<T, RpcError>) -> Result<(), LspError> + Send + 'static,
    ) {
        let snapshot = self.workspace.snapshot();
        tokio::spawn(async move {
            let found = answer(snapshot, question, asked).await;
            // An error here is the end of the session.
            let _ = respond(found);
        });
    }
}
