//! The `.session` files below the folders of the workspace.

use std::fs;
use std::path::{Path, PathBuf};

/// How many files are looked for. A repository has tens of them.
const MOST_FILES: usize = 2_000;

/// How many entries of folders are looked at, so that a large tree does not keep the editor waiting.
const MOST_ENTRIES: usize = 100_000;

/// How deep folders are looked into.
const DEEPEST: usize = 16;

/// Finds the `.session` files below some folders, without what is hidden, built or installed.
pub(super) fn session_files(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries = 0;
    let mut waiting: Vec<(PathBuf, usize)> = folders.iter().rev().map(|folder| (folder.clone(), 0)).collect();
    while let Some((folder, depth)) = waiting.pop() {
        let Ok(listed) = fs::read_dir(&folder) else { continue };
        for entry in listed.flatten() {
            entries += 1;
            if entries > MOST_ENTRIES || found.len() >= MOST_FILES {
                found.sort();
                return found;
            }
            let path = entry.path();
            // The type of the entry itself: a link to a folder above would lead in a circle.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < DEEPEST && !is_skipped(&path) {
                waiting.push((path, depth + 1));
            } else if (kind.is_file() || kind.is_symlink())
                && path.extension().is_some_and(|end| end == "session")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn is_skipped(folder: &Path) -> bool {
    let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.starts_with('.') || name == "target" || name == "node_modules"
}
