//! Every suggestion that the compiler can make is made for some program of the corpus.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::corpus;

/// These make suggestions only about megabytes of text, which `tests/robustness_limits.rs` and `tests/diagnostics.rs`
/// have.
const LARGE: [&str; 2] = ["src/findings/size.rs", "src/diagnostic/encoding.rs"];

/// This one makes suggestions about two files, which `tests/compat` has.
const OF_TWO_FILES: &str = "src/compat/payload.rs";

/// Suggestions that no known program gets.
const NEVER_SEEN: [&str; 1] = ["out {there}, or give both roles the same steps here"];

/// Where the sources make suggestions: file and line.
fn made() -> BTreeSet<(String, u32)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut waiting = vec![root.join("src")];
    let mut made = BTreeSet::new();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let inside = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
            waiting.extend(inside.filter(|path| path.file_name().is_none_or(|name| name != "tests")));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        // Unit tests stand at the end of a file, and what defines the constructors makes nothing.
        let code = text.split("#[cfg(test)]").next().unwrap();
        if path.ends_with("diagnostic/finding.rs")
            || path.extension().is_none_or(|extension| extension != "rs")
        {
            continue;
        }
        for (number, line) in code.lines().enumerate() {
            let line = line.split("//").next().unwrap();
            if NEVER_SEEN.iter().any(|text| line.contains(text)) {
                continue;
            }
            let makes = [".help(", ".helps_if(", ".suggest(", ".changes(", "Suggestion::new("];
            for _ in makes.iter().filter(|makes| line.contains(*makes)) {
                let path: PathBuf = path.strip_prefix(root).unwrap().to_owned();
                made.insert((path.to_str().unwrap().to_owned(), number as u32 + 1));
            }
        }
    }
    made
}

#[test]
fn every_suggestion_has_a_case() {
    let mut seen = BTreeSet::new();
    for program in corpus::all() {
        for suggestion in program.compiled().diagnostics.iter().flat_map(|finding| &finding.helps) {
            let place = suggestion.made_at();
            let file = place.file();
            let file = file.find("src/").map_or(file, |start| &file[start..]);
            seen.insert((file.to_owned(), place.line()));
        }
    }
    let made = made();
    assert!(made.len() > 150, "only {} suggestions were found", made.len());
    let unseen: Vec<String> = made
        .difference(&seen)
        .filter(|(file, _)| !LARGE.contains(&file.as_str()) && file != OF_TWO_FILES)
        .map(|(file, line)| format!("{file}:{line}"))
        .collect();
    assert!(unseen.is_empty(), "{} without a case:\n{}", unseen.len(), unseen.join("\n"));
}
