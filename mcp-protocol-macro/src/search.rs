//! Searches the package for the source file that names a path.
//!
//! rustc tells a macro which file it is called in; rust-analyzer does not. But the call stands in a file of the package,
//! and that file holds the path in quotes.

use std::fs;
use std::path::{Path, PathBuf};

/// How many files and folders are looked at.
const MOST_ENTRIES: usize = 20_000;
/// Larger source files are not read, in bytes.
const LARGEST_SOURCE: u64 = 4 << 20;

/// What the search found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No source file names the path.
    Nothing,
    /// The source files that name the path all mean this file, which may not exist.
    One(PathBuf),
    /// They mean different files, and these exist.
    Several(Vec<PathBuf>),
}

/// Looks for the source files of a package that name a path, and for the file that they mean by it.
pub(crate) fn meant(package: &Path, written: &str) -> Found {
    let mut meant: Vec<PathBuf> = Vec::new();
    for source in sources(package) {
        if let Some(folder) = source.parent()
            && names(&source, written)
        {
            meant.push(folder.join(written));
        }
    }
    meant.sort();
    meant.dedup();
    if meant.len() > 1 && meant.iter().any(|file| file.is_file()) {
        meant.retain(|file| file.is_file());
    }
    match meant.len() {
        0 => Found::Nothing,
        1 => meant.pop().map_or(Found::Nothing, Found::One),
        _ => Found::Several(meant),
    }
}

/// Whether a source file has the path in quotes.
fn names(source: &Path, written: &str) -> bool {
    let small = fs::metadata(source).is_ok_and(|about| about.len() <= LARGEST_SOURCE);
    let quoted = format!("\"{written}\"");
    small && fs::read_to_string(source).is_ok_and(|text| text.contains(&quoted))
}

/// The Rust files of a package: not those of packages within it, nor of `target` and hidden folders.
fn sources(package: &Path) -> Vec<PathBuf> {
    let mut sources = Vec::new();
    let mut folders = vec![package.to_path_buf()];
    let mut left = MOST_ENTRIES;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else { return sources };
            left = rest;
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // Links are not followed: one may lead back to a folder above it.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                let is_another =
                    name.starts_with('.') || name == "target" || path.join("Cargo.toml").is_file();
                if !is_another {
                    folders.push(path);
                }
            } else if kind.is_file() && name.ends_with(".rs") {
                sources.push(path);
            }
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn package(files: &[(&str, &str)]) -> TempDir {
        let folder = TempDir::new().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    const CALL: &str = "mod talk { protocol!(\"./talk.session\"); }";

    #[test]
    fn the_file_next_to_the_only_source_that_names_it() {
        let folder = package(&[
            ("src/deep/mod.rs", CALL),
            ("src/deep/talk.session", ""),
            ("src/other/talk.session", ""),
            ("src/main.rs", "fn main() {}"),
            ("target/debug/build/out.rs", CALL),
            ("inner/Cargo.toml", ""),
            ("inner/src/main.rs", CALL),
            ("inner/src/talk.session", ""),
        ]);
        let root = folder.path();
        assert_eq!(meant(root, "./talk.session"), Found::One(root.join("src/deep").join("./talk.session")));
        assert_eq!(meant(root, "./walk.session"), Found::Nothing);
    }

    #[test]
    fn two_sources_that_mean_different_files_are_listed() {
        let folder = package(&[
            ("examples/a/main.rs", CALL),
            ("examples/a/talk.session", ""),
            ("examples/b/main.rs", CALL),
            ("examples/b/talk.session", ""),
            ("examples/c.rs", CALL),
        ]);
        let root = folder.path();
        let Found::Several(files) = meant(root, "./talk.session") else { panic!() };
        assert_eq!(files, [root.join("examples/a/./talk.session"), root.join("examples/b/./talk.session")]);
        fs::remove_file(root.join("examples/b/talk.session")).unwrap();
        assert_eq!(meant(root, "./talk.session"), Found::One(root.join("examples/a/./talk.session")));
    }
}
