//! The state of the server: open documents, folders, and what was compiled.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_runtime::RpcError;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use super::analysis::Analyses;
use super::documents::{Documents, NoRoom, OpenDocument, Opening};
use super::editor::Editor;
use super::folders::session_files;
use super::snapshot::Snapshot;

/// What the server knows. Answers are made from a [`Snapshot`] of it, on other threads.
pub(super) struct Workspace {
    editor: Editor,
    texts: Mutex<Texts>,
    analyses: Arc<Analyses>,
    changed: Notify,
}

/// Where texts are.
struct Texts {
    documents: Documents,
    /// The last `didOpen`.
    opening: Opening,
    folders: Vec<PathBuf>,
    /// The `.session` files of the folders, when they were looked for last.
    files: Arc<[PathBuf]>,
}

impl Workspace {
    /// Nothing is open, and no folder has been looked into.
    pub(super) fn new(editor: Editor, folders: Vec<PathBuf>) -> Workspace {
        let texts = Texts {
            documents: Documents::default(),
            opening: Opening::default(),
            folders,
            files: Arc::default(),
        };
        let (analyses, changed) = (Arc::default(), Notify::new());
        Workspace { editor, texts: Mutex::new(texts), analyses, changed }
    }

    /// Opens a document, or gives it another text.
    pub(super) fn set(&self, path: &Path, document: OpenDocument) -> Result<(), NoRoom> {
        let result = self.texts().documents.set(path, document);
        self.changed.notify_one();
        result
    }

    /// The number of a new `didOpen`.
    pub(super) fn open(&self) -> Opening {
        let mut texts = self.texts();
        texts.opening = texts.opening.next();
        texts.opening
    }

    /// Closes a document, unless it has been opened again.
    pub(super) fn close(&self, path: &Path, opening: Opening) {
        self.texts().documents.close(path, opening);
        self.changed.notify_one();
    }

    /// Adds folders and removes others.
    pub(super) fn change_folders(&self, added: Vec<PathBuf>, removed: &[PathBuf]) {
        let mut texts = self.texts();
        texts.folders.retain(|folder| !removed.contains(folder));
        texts.folders.extend(added);
    }

    /// Looks for the files of the folders again.
    pub(super) async fn look_for_files(&self) {
        let folders = self.texts().folders.clone();
        if let Ok(files) = spawn_blocking(move || session_files(&folders)).await {
            self.texts().files = files.into();
            self.changed.notify_one();
        }
    }

    /// Waits until something has changed since the last call.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The texts as they are now.
    pub(super) fn snapshot(&self) -> Snapshot {
        let texts = self.texts();
        Snapshot {
            documents: texts.documents.clone(),
            files: Arc::clone(&texts.files),
            editor: self.editor,
            analyses: Arc::clone(&self.analyses),
        }
    }

    /// No code panics while it holds the lock.
    fn texts(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers a question from a snapshot, on another thread.
pub(super) async fn answer<P: Send + 'static, T: Send + 'static>(
    snapshot: Snapshot,
    question: fn(&Snapshot, &P) -> Result<T, RpcError>,
    asked: P,
) -> Result<T, RpcError> {
    match spawn_blocking(move || question(&snapshot, &asked)).await {
        Ok(answer) => answer,
        Err(_) => Err(RpcError::internal_error("the answer could not be made")),
    }
}
