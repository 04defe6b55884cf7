//! The paths of MCP, misspelt by one letter: each is found at its place.
//!
//! Many are misspelt at once, for what compiles a text is the same for one and for many. A key that is wrong hides what
//! is wrong behind it, so those of one depth are wrong together; what is not found among others is tried among fewer, and alone in the end.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests may fail the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::Settings;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};

use crate::support::{Files, compiled};

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

/// A key of a path: where it begins and ends in a text, and how many keys stand before it.
#[derive(Clone, Copy)]
struct Key {
    start: usize,
    end: usize,
    depth: usize,
}

/// The keys of the paths in a text.
fn keys(text: &str) -> Vec<Key> {
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
                        keys.push(Key { start: at, end: at + key.len(), depth: place });
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

/// One letter of a key that is another one.
struct Misspelling {
    file: PathBuf,
    key: Key,
    at: usize,
    /// The file, the line and the column of the key, as a finding shows them.
    place: String,
}

impl Misspelling {
    fn new(file: &Path, text: &str, key: Key, at: usize) -> Misspelling {
        let before = &text[..key.start];
        let line = 1 + before.matches('\n').count();
        let column = 1 + key.start - before.rfind('\n').map_or(0, |newline| newline + 1);
        Misspelling { file: file.to_owned(), key, at, place: format!("{}:{line}:{column}", file.display()) }
    }

    /// Writes it into the files.
    fn plant(&self, files: &mut Files) {
        let letter = &mut files.get_mut(&self.file).unwrap()[self.at];
        *letter = if *letter == b'z' { b'y' } else { b'z' };
    }
}

/// Where compiling some revision finds a wrong path, and what is said there.
fn found(files: &Files) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for revision in REVISIONS {
        let compilation = compiled(files, revision, Settings::default().without_tries(true), false);
        for finding in compilation.diagnostics.iter().filter(|finding| finding.code.0 == "S0705") {
            let shown = render_all(&compilation.sources, std::slice::from_ref(finding), Style::Plain);
            let (_, place) = shown.lines().find_map(|line| line.split_once("--> ")).unwrap();
            found.insert(place.to_owned(), shown);
        }
    }
    found
}

/// Those that are not found where they are. Where they are not, there must be nothing.
fn missed<'m>(files: &Files, wrong: &[&'m Misspelling]) -> Vec<&'m Misspelling> {
    let mut misspelt = files.clone();
    wrong.iter().for_each(|one| one.plant(&mut misspelt));
    let mut found = found(&misspelt);
    let missed = wrong.iter().copied().filter(|one| found.remove(&one.place).is_none()).collect();
    assert!(found.is_empty(), "found where nothing is wrong: {found:#?}");
    missed
}

#[test]
fn every_path_of_mcp_that_is_misspelt_is_found() {
    let files = shipped();
    assert!(missed(&files, &[]).is_empty());
    // By the depth of the key, and by which of its letters it is.
    let mut together: BTreeMap<(usize, bool), Vec<Misspelling>> = BTreeMap::new();
    let (mut paths, mut tried) = (0, 0);
    for (name, bytes) in &files {
        if name.starts_with("mcp/payloads") {
            continue;
        }
        let text = std::str::from_utf8(bytes).unwrap();
        for key in keys(text) {
            paths += 1;
            for at in BTreeSet::from([key.start, key.end - 1]) {
                tried += 1;
                let same = together.entry((key.depth, at == key.start)).or_default();
                same.push(Misspelling::new(name, text, key, at));
            }
        }
    }
    let mut never = BTreeSet::new();
    let mut runs = 0;
    // Of more than a hundred findings only the first are shown.
    let mut waiting: Vec<Vec<&Misspelling>> =
        together.values().flat_map(|wrong| wrong.chunks(50)).map(|wrong| wrong.iter().collect()).collect();
    while let Some(wrong) = waiting.pop() {
        runs += 1;
        let missed = missed(&files, &wrong);
        match missed.as_slice() {
            [] => {}
            [one] if wrong.len() == 1 => {
                let text = std::str::from_utf8(&files[&one.file]).unwrap();
                never.insert(format!("{}: `{}`", one.place, &text[one.key.start..one.key.end]));
            }
            // They hide one another. Among half as many, some are found.
            _ if missed.len() == wrong.len() => {
                waiting.extend(missed.chunks(missed.len().div_ceil(2)).map(<[_]>::to_vec));
            }
            _ => waiting.push(missed),
        }
    }
    println!("{paths} keys, {tried} ways to misspell them, {runs} runs");
    assert!(never.is_empty(), "{} of {paths} paths: {never:#?}", never.len());
    assert!(paths > 100 && tried > 200, "{paths} keys of paths, {tried} ways to misspell them");
}
