//! Reads a file and everything it imports.

use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::ast::{self, ItemKind, Name};
use crate::diagnostic::Diagnostic;
use crate::findings::imports;
use crate::parser;
use crate::source::{FileId, SourceMap};

/// How the caller reads a file.
pub type Read<'a> = &'a mut dyn FnMut(&Path) -> io::Result<Vec<u8>>;

/// One file with its tree.
#[derive(Clone, Debug)]
pub struct LoadedFile {
    /// Which file.
    pub file: FileId,
    /// What the parser saw.
    pub tree: ast::File,
    /// Whether it was imported, rather than named by the caller.
    pub imported: bool,
}

/// Reads `entry` and, depth first, what it imports; each file once, an import before its importer.
///
/// Fails only if the first file itself cannot be read; everything else is a diagnostic.
pub fn load(
    entry: &Path,
    read: Read<'_>,
    sources: &mut SourceMap,
    diagnostics: &mut Vec<Diagnostic>,
) -> io::Result<Vec<LoadedFile>> {
    let mut loader = Loader { sources, diagnostics, read, places: HashMap::new(), finished: Vec::new() };
    let mut open = Vec::new();
    let bytes = (loader.read)(entry)?;
    loader.open(entry.to_path_buf(), bytes, None, &mut open);
    loader.run(open);
    Ok(loader.finished)
}

/// A file whose imports are being read.
struct Open {
    path: PathBuf,
    file: FileId,
    tree: ast::File,
    imports: std::vec::IntoIter<Name>,
    imported: bool,
}

/// How far the reading of a file has come.
#[derive(Clone, Copy)]
enum LoadState {
    /// Its imports are being read; how many files that import one another are open around it.
    Open(usize),
    /// It and its imports are read, or cannot be.
    Finished,
}

struct Loader<'a> {
    sources: &'a mut SourceMap,
    diagnostics: &'a mut Vec<Diagnostic>,
    read: Read<'a>,
    /// Every path met so far.
    places: HashMap<PathBuf, LoadState>,
    finished: Vec<LoadedFile>,
}

impl Loader<'_> {
    fn open(&mut self, path: PathBuf, bytes: Vec<u8>, from: Option<&Name>, open: &mut Vec<Open>) {
        let (file, mut found) = self.sources.add_bytes(&path, bytes);
        self.diagnostics.append(&mut found);
        let (tree, mut found) = parser::parse(self.sources, file);
        self.diagnostics.append(&mut found);
        let imports: Vec<Name> = tree
            .items
            .iter()
            .filter_map(|item| match &item.kind {
                ItemKind::Import(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        self.places.insert(normal(&path), LoadState::Open(open.len()));
        open.push(Open { path, file, tree, imports: imports.into_iter(), imported: from.is_some() });
    }

    /// Works with a stack of its own, so that a long chain of imports does not recurse deeply.
    fn run(&mut self, mut open: Vec<Open>) {
        while let Some(top) = open.last_mut() {
            let Some(import) = top.imports.next() else {
                if let Some(done) = open.pop() {
                    self.places.insert(normal(&done.path), LoadState::Finished);
                    self.finished.push(LoadedFile {
                        file: done.file,
                        tree: done.tree,
                        imported: done.imported,
                    });
                }
                continue;
            };
            let path = top.path.parent().unwrap_or(Path::new("")).join(&import.text);
            match self.places.get(&normal(&path)) {
                Some(LoadState::Finished) => {}
                Some(LoadState::Open(start)) => {
                    let files = open.get(*start..).unwrap_or_default();
                    let between: Vec<&Path> = files.iter().map(|file| file.path.as_path()).collect();
                    self.diagnostics.push(imports::cyclic(import.span, &between, &path));
                }
                None => match (self.read)(&path) {
                    Ok(bytes) => self.open(path, bytes, Some(&import), &mut open),
                    Err(error) => {
                        // Remembered as finished, so that a second import of it is not a second report.
                        self.places.insert(normal(&path), LoadState::Finished);
                        self.diagnostics.push(imports::unreadable(import.span, &path, &error));
                    }
                },
            }
        }
    }
}

/// The path without `.` and `x/..`, so that two ways to write one file are one file.
pub fn normal(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if result
                    .components()
                    .next_back()
                    .is_some_and(|last| matches!(last, Component::Normal(_))) =>
            {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
}
