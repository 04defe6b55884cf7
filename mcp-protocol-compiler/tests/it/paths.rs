//! The paths of MCP, misspelt by one letter: each is found at its place.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests may fail the test"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::Settings;

use crate::support::{Files, compiled, rendered};

/// The revisions, the latest first: it has most of the declarations, and an older one has what it overrides.
const REVISIONS: [&str; 6] = [
    "mcp-2025-11-25.session",
    "mcp-2026-07-28.session",
    "mcp-2026-07-28-tasks.session",
    "mcp-2025-06-18.session",
    "mcp-2025-03-26.session",
    "mcp-2024-11-05.session",
];

/// The words before a path. After `requires` it begins with the side that announces.
const BEFORE: [&str; 8] = ["if", "unless", "pages", "from", "cancels", "reports", "of", "default"];

fn shipped() -> Files {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocols");
    let mut files = Files::new();
    for folder in ["", "mcp", "mcp/payloads"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "session") {
                let name = path.strip_prefix(&root).unwrap().to_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Where the keys of paths begin and end in a text.
fn keys(text: &str) -> Vec<(usize, usize)> {
    let mut keys = Vec::new();
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let code = &line[..line.find("--").unwrap_or(line.len())];
        let mut before = "";
        for word in code.split(|letter: char| !(letter.is_ascii_alphanumeric() || "_.".contains(letter))) {
            if word.is_empty() {
                continue;
            }
            let start = line_start + (word.as_ptr() as usize - line.as_ptr() as usize);
            // Without a path it is the message alone, and has no keys.
            let of_message = word.starts_with(|first: char| first.is_ascii_uppercase());
            let holder = before == "requires" || of_message;
            if holder || BEFORE.contains(&before) {
                let mut at = start;
                for (place, key) in word.split('.').enumerate() {
                    let is_key = !holder || place > 0;
                    if is_key && !key.is_empty() {
                        keys.push((at, at + key.len()));
                    }
                    at += key.len() + 1;
                }
            }
            before = word;
        }
        line_start += line.len();
    }
    keys
}

/// Whether compiling one of the revisions finds a wrong path at a place.
fn is_found(files: &Files, file: &Path, line: usize, column: usize) -> bool {
    let place = format!("{}:{line}:{column}\n", file.display());
    REVISIONS.iter().any(|revision| {
        let shown = rendered(&compiled(files, revision, Settings::default(), false));
        shown.contains("S0705") && shown.contains(&place)
    })
}

#[test]
fn every_path_of_mcp_that_is_misspelt_is_found() {
    let files = shipped();
    let mut missed = BTreeSet::new();
    let (mut paths, mut tried) = (0, 0);
    for (name, bytes) in &files {
        if name.starts_with("mcp/payloads") {
            continue;
        }
        let text = std::str::from_utf8(bytes).unwrap();
        for (start, end) in keys(text) {
            paths += 1;
            let line = 1 + text[..start].matches('\n').count();
            let column = 1 + start - text[..start].rfind('\n').map_or(0, |newline| newline + 1);
            for at in BTreeSet::from([start, end - 1]) {
                let mut misspelt = text.to_owned();
                let other = if &text[at..=at] == "z" { "y" } else { "z" };
                misspelt.replace_range(at..=at, other);
                let mut wrong = files.clone();
                wrong.insert(PathBuf::from(name), misspelt.into_bytes());
                tried += 1;
                if !is_found(&wrong, name, line, column) {
                    missed.insert(format!("{}:{line}: `{}`", name.display(), &text[start..end]));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} of {paths} paths: {missed:#?}", missed.len());
    assert!(paths > 100 && tried > 200, "{paths} keys of paths, {tried} ways to misspell them");
}
