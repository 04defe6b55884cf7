//! The open documents: the editor's texts, which go ahead of the files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_protocols::types::Uri;

/// How many bytes the open documents may have in all: far more than an editor shows.
const MOST_BYTES: usize = 256 << 20;

/// One open document.
#[derive(Clone, Debug)]
pub(super) struct OpenDocument {
    /// What the editor calls it.
    pub(super) uri: Uri,
    /// Which of its texts this is.
    pub(super) version: i32,
    /// The text as the editor has sent it.
    pub(super) text: Arc<str>,
    /// Which `didOpen` of the session has opened it.
    pub(super) opening: Opening,
}

/// The number of a `didOpen`. Each opened document has a task of its own; one that is closed and opened again at once has
/// two of them for a moment, and what the first still does must not touch the text of the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Opening(u64);

impl Opening {
    /// The number of the next `didOpen`.
    pub(super) fn next(self) -> Opening {
        Opening(self.0.saturating_add(1))
    }
}

/// The open documents by their paths.
///
/// Invariant: `bytes` is the length of all texts together, and at most [`MOST_BYTES`].
#[derive(Clone, Debug, Default)]
pub(super) struct Documents {
    open: HashMap<PathBuf, OpenDocument>,
    bytes: usize,
}

/// The open documents leave no room for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

impl Documents {
    /// Opens a document, or gives it another text. A text that does not fit is not kept, and its document
    /// counts as not open. A text of an earlier opening is too late.
    pub(super) fn set(&mut self, path: &Path, document: OpenDocument) -> Result<(), NoRoom> {
        if self.open.get(path).is_some_and(|open| open.opening > document.opening) {
            return Ok(());
        }
        self.close(path, document.opening);
        let bytes = self.bytes.saturating_add(document.text.len());
        if bytes > MOST_BYTES {
            return Err(NoRoom);
        }
        self.bytes = bytes;
        self.open.insert(path.to_path_buf(), document);
        Ok(())
    }

    /// Closes a document, unless it has been opened again: its text is that of the file.
    pub(super) fn close(&mut self, path: &Path, opening: Opening) {
        if self.open.get(path).is_some_and(|open| open.opening <= opening)
            && let Some(closed) = self.open.remove(path)
        {
            self.bytes = self.bytes.saturating_sub(closed.text.len());
        }
    }

    /// A document, if it is open.
    pub(super) fn get(&self, path: &Path) -> Option<&OpenDocument> {
        self.open.get(path)
    }

    /// The paths of all open documents.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.open.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(version: i32, text: &str, opening: Opening) -> OpenDocument {
        OpenDocument { uri: "file:///a.session".parse().unwrap(), version, text: text.into(), opening }
    }

    #[test]
    fn texts_replace_one_another_and_have_a_limit() {
        let mut documents = Documents::default();
        let path = Path::new("/a.session");
        let (first, other) = (Opening::default(), Path::new("/b.session"));
        documents.set(path, document(1, &"x".repeat(MOST_BYTES), first)).unwrap();
        assert_eq!(documents.set(other, document(1, "y", first)), Err(NoRoom));
        documents.set(path, document(2, "short", first)).unwrap();
        documents.set(other, document(1, "y", first)).unwrap();
        assert_eq!(documents.get(path).unwrap().version, 2);
        documents.close(path, first);
        assert!(documents.get(path).is_none());
        assert_eq!((documents.bytes, documents.paths().count()), (1, 1));
    }

    #[test]
    fn a_document_that_is_opened_again_keeps_its_text() {
        let mut documents = Documents::default();
        let path = Path::new("/a.session");
        let (first, second) = (Opening::default(), Opening::default().next());
        documents.set(path, document(1, "old", first)).unwrap();
        documents.set(path, document(1, "new", second)).unwrap();
        documents.set(path, document(2, "late", first)).unwrap();
        documents.close(path, first);
        assert_eq!(&*documents.get(path).unwrap().text, "new");
        documents.close(path, second);
        assert!(documents.get(path).is_none());
    }
}
