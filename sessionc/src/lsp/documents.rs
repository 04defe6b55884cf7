//! The open documents: the editor's texts, which go ahead of the files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_protocols::types::Uri;

/// How many bytes the open documents may have in all: far more than an editor shows.
const MOST_BYTES: usize = 256 << 20;

/// One open document.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// What the editor calls it.
    pub(super) uri: Uri,
    /// Which of its texts this is.
    pub(super) version: i32,
    /// The text as the editor has sent it.
    pub(super) text: Arc<str>,
}

/// The open documents by their paths.
///
/// Invariant: `bytes` is the length of all texts together, and at most [`MOST_BYTES`].
#[derive(Clone, Debug, Default)]
pub(super) struct Documents {
    open: HashMap<PathBuf, Document>,
    bytes: usize,
}

/// There is no room for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

impl Documents {
    /// Opens a document, or gives it another text. A text for which there is no room is not kept, and its document is as
    /// one that is not open.
    pub(super) fn set(&mut self, path: &Path, document: Document) -> Result<(), NoRoom> {
        self.close(path);
        let bytes = self.bytes.saturating_add(document.text.len());
        if bytes > MOST_BYTES {
            return Err(NoRoom);
        }
        self.bytes = bytes;
        self.open.insert(path.to_path_buf(), document);
        Ok(())
    }

    /// Closes a document: its text is that of the file again.
    pub(super) fn close(&mut self, path: &Path) {
        if let Some(closed) = self.open.remove(path) {
            self.bytes = self.bytes.saturating_sub(closed.text.len());
        }
    }

    /// A document, if it is open.
    pub(super) fn get(&self, path: &Path) -> Option<&Document> {
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

    fn document(version: i32, text: &str) -> Document {
        Document { uri: "file:///a.session".parse().unwrap(), version, text: text.into() }
    }

    #[test]
    fn texts_replace_one_another_and_have_a_limit() {
        let mut documents = Documents::default();
        let path = Path::new("/a.session");
        let most = "x".repeat(MOST_BYTES);
        documents.set(path, document(1, &most)).unwrap();
        assert_eq!(documents.set(Path::new("/b.session"), document(1, "y")), Err(NoRoom));
        documents.set(path, document(2, "short")).unwrap();
        documents.set(Path::new("/b.session"), document(1, "y")).unwrap();
        assert_eq!(documents.get(path).unwrap().version, 2);
        documents.close(path);
        assert!(documents.get(path).is_none());
        assert_eq!((documents.bytes, documents.paths().count()), (1, 1));
    }
}
