//! Compiled protocols, kept until one of their files changes.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mcp_protocol_compiler::generate::{self, TypedMethod};
use mcp_protocol_compiler::resolve::load::normal;
use mcp_protocol_compiler::symbols::symbols;
use mcp_protocol_compiler::{Compilation, Settings, compile_among};

use super::imports::FileHead;

/// How many protocols are kept. An editor shows few at a time.
const MOST_ANALYSES: usize = 16;

/// Of how many files it is kept what they import.
const MOST_FILES: usize = 4_000;

/// What is known of one protocol.
pub(super) struct Analysis {
    compilation: Compilation,
    methods: OnceLock<Vec<TypedMethod>>,
    /// What was read, and a hash of what was there.
    read: Vec<(PathBuf, u64)>,
}

impl Analysis {
    /// What the compiler made of it.
    pub(super) fn compilation(&self) -> &Compilation {
        &self.compilation
    }

    /// The Rust methods, if the protocol compiles.
    pub(super) fn methods(&self) -> &[TypedMethod] {
        self.methods.get_or_init(|| {
            let compiled = self.compilation.protocol.as_ref();
            let methods = compiled.map(|compiled| generate::methods(compiled, &self.compilation.sources));
            // A payload that is not a Rust type is a finding of `expand`.
            methods.and_then(Result::ok).unwrap_or_default()
        })
    }

    fn is_current(&self, read: &mut dyn FnMut(&Path) -> io::Result<Vec<u8>>) -> bool {
        self.read.iter().all(|(path, hash)| hash_of(read(path).ok().as_deref()) == *hash)
    }
}

/// The protocols that were compiled last, and what files import.
///
/// Invariant: at most [`MOST_ANALYSES`] and [`MOST_FILES`] are kept; what is kept is given out only while all files have
/// the content from which it was made.
#[derive(Default)]
pub(super) struct Analyses {
    kept: Mutex<Vec<(PathBuf, Arc<Analysis>)>>,
    /// By the file, with the hash of the content from which it was made.
    heads: Mutex<HashMap<PathBuf, (u64, Arc<FileHead>)>>,
}

impl Analyses {
    /// Compiles a protocol, unless it was compiled from the same texts.
    ///
    /// # Errors
    /// If the first file cannot be read.
    pub(super) fn of(
        &self,
        entry: &Path,
        read: &mut dyn FnMut(&Path) -> io::Result<Vec<u8>>,
        list: &mut dyn FnMut(&Path) -> Vec<PathBuf>,
    ) -> io::Result<Arc<Analysis>> {
        let known =
            locked(&self.kept).iter().find(|(path, _)| path == entry).map(|(_, known)| Arc::clone(known));
        if let Some(known) = known.filter(|known| known.is_current(read)) {
            return Ok(known);
        }
        let mut hashes = Vec::new();
        let mut recorded = |path: &Path| {
            let found = read(path);
            hashes.push((path.to_path_buf(), hash_of(found.as_deref().ok())));
            found
        };
        let compilation = compile_among(entry, &mut recorded, list, Settings::default().for_code(true))?;
        let analysis = Arc::new(Analysis { compilation, methods: OnceLock::new(), read: hashes });
        let mut kept = locked(&self.kept);
        kept.retain(|(path, _)| path != entry);
        if kept.len() >= MOST_ANALYSES {
            kept.remove(0);
        }
        kept.push((entry.to_path_buf(), Arc::clone(&analysis)));
        Ok(analysis)
    }

    /// What a file with this content says about others.
    pub(super) fn head(&self, path: &Path, bytes: &[u8]) -> Option<Arc<FileHead>> {
        let hash = hash_of(Some(bytes));
        if let Some((_, known)) = locked(&self.heads).get(path).filter(|(known, _)| *known == hash) {
            return Some(Arc::clone(known));
        }
        // What it imports is not read: each file is looked at by itself.
        let own = symbols(path, &mut |other| match other == path {
            true => Ok(bytes.to_vec()),
            false => Err(io::ErrorKind::NotFound.into()),
        });
        let own = own.ok()?;
        let head = Arc::new(FileHead {
            imports: own.imports().iter().map(|import| normal(&import.path)).collect(),
            declares_role: own.sources().files().any(|file| own.declares_role(file)),
        });
        let mut heads = locked(&self.heads);
        if heads.len() >= MOST_FILES {
            heads.clear();
        }
        heads.insert(path.to_path_buf(), (hash, Arc::clone(&head)));
        Some(head)
    }
}

/// The hash of what was read, or of nothing if it could not be.
fn hash_of(bytes: Option<&[u8]>) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// No code panics while it holds these locks, and what they hold is whole at any time.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
