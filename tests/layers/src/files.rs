//! The files of the project.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the project stands.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files of the project, without what is built or installed.
///
/// # Panics
/// If one cannot be listed.
#[must_use]
pub fn of_the_project() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&root(), &mut found);
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry of a folder").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "node_modules"].contains(&name.as_str()) {
                collect(&path, found);
            }
        } else {
            found.push(path);
        }
    }
}
