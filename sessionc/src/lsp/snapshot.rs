//! Everything that an answer is made from, as it was when the question came.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_protocols::types::{Location, Position, Range, Uri};
use mcp_protocol_compiler::resolve::load::normal;
use mcp_protocol_compiler::source::{FileId, SourceMap, Span, bytes_of};
use mcp_protocol_compiler::symbols::{Symbols, symbols};
use mcp_runtime::RpcError;

use super::analysis::{Analyses, Analysis};
use super::documents::Documents;
use super::editor::Editor;
use super::imports::{FileHead, Imports};
use super::uris::{path_of, uri_of};

/// The texts of one moment. Files that are not open are read when they are needed.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub(super) documents: Documents,
    /// The `.session` files of the workspace.
    pub(super) files: Arc<[PathBuf]>,
    pub(super) editor: Editor,
    pub(super) analyses: Arc<Analyses>,
}

/// A place in a file that was asked about, and the names of the protocol that the file belongs to.
pub(super) struct AskedPlace {
    /// The file of the protocol.
    pub(super) entry: PathBuf,
    pub(super) symbols: Symbols,
    pub(super) path: PathBuf,
    pub(super) file: FileId,
    pub(super) offset: u32,
}

impl Snapshot {
    /// The bytes of a file: those of the editor, or else those on disk. Opening what is not a file might wait indefinitely.
    pub(super) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.documents.get(&normal(path)) {
            Some(document) => Ok(document.text.as_bytes().to_vec()),
            None if fs::metadata(path)?.is_file() => bytes_of(File::open(path)?),
            None => Err(io::Error::other("it is not a file")),
        }
    }

    /// The names of a file and its imports.
    pub(super) fn symbols(&self, entry: &Path) -> io::Result<Symbols> {
        symbols(entry, &mut |path| self.read(path))
    }

    /// The compiled protocol of a file.
    pub(super) fn analysis(&self, entry: &Path) -> io::Result<Arc<Analysis>> {
        let mut list = |folder: &Path| {
            let folder = normal(folder);
            self.files.iter().filter(|file| file.parent() == Some(&folder)).cloned().collect()
        };
        self.analyses.of(entry, &mut |path| self.read(path), &mut list)
    }

    /// The files of the protocols that a file is a part of: itself if it declares a role, and those that import it and
    /// declare one. A file that belongs to no protocol stands for itself.
    pub(super) fn protocols_of(&self, path: &Path) -> Vec<PathBuf> {
        let known = self.documents.paths().chain(self.files.iter()).map(|path| normal(path)).collect();
        Imports::from(known, |path| self.head(path)).protocols_of(path)
    }

    /// The protocols in which a file is checked: itself if it declares a role, or else those that import it.
    pub(super) fn checked_in(&self, path: &Path) -> Vec<PathBuf> {
        // The files around a protocol of its own need not be looked at.
        if self.head(path).is_some_and(|head| head.declares_role) {
            return vec![path.to_path_buf()];
        }
        self.protocols_of(path)
    }

    fn head(&self, path: &Path) -> Option<Arc<FileHead>> {
        self.analyses.head(path, &self.read(path).ok()?)
    }

    /// The place that a question is about.
    pub(super) fn asked(&self, uri: &Uri, position: Position) -> Result<AskedPlace, RpcError> {
        let path = path_of(uri);
        let entry = self.checked_in(&path).into_iter().next().unwrap_or_else(|| path.clone());
        let symbols = self.symbols(&entry).map_err(|error| cannot_read(&path, &error))?;
        let file = file_at(symbols.sources(), &path).ok_or_else(|| cannot_read(&path, &gone()))?;
        let offset = self.editor.encoding.offset(symbols.sources().text(file), position);
        Ok(AskedPlace { entry, symbols, path, file, offset })
    }

    /// What the editor calls a file.
    pub(super) fn uri(&self, path: &Path) -> Option<Uri> {
        let path = normal(path);
        self.documents.get(&path).map(|document| document.uri.clone()).or_else(|| uri_of(&path))
    }

    /// The range of a place.
    pub(super) fn range(&self, sources: &SourceMap, span: Span) -> Range {
        let position = |offset| self.editor.encoding.position_in(sources, span.file, offset);
        Range::new(position(span.start), position(span.end))
    }

    /// A place for the editor.
    pub(super) fn location(&self, sources: &SourceMap, span: Span) -> Option<Location> {
        Some(Location::new(self.uri(sources.path(span.file))?, self.range(sources, span)))
    }
}

/// The file of a path.
pub(super) fn file_at(sources: &SourceMap, path: &Path) -> Option<FileId> {
    sources.files().find(|file| normal(sources.path(*file)) == path)
}

/// The answer to a question about a file that is not there.
pub(super) fn cannot_read(path: &Path, error: &io::Error) -> RpcError {
    RpcError::invalid_params(format!("cannot read `{}`: {error}", path.display()))
}

fn gone() -> io::Error {
    io::ErrorKind::NotFound.into()
}
