//! The protocols of this project.

use std::path::PathBuf;

/// Where the project has protocols, from its root.
const FOLDERS: [&str; 7] = [
    "protocols",
    "acp",
    "lsp",
    "examples",
    "tests/protocols",
    "mcp-protocol-compiler/tests/generate",
    "mcp-runtime/tests/sessions",
];

/// Every `.session` file in these folders and below, also those that are a part of another one, in order.
pub(crate) fn session_files() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    let mut waiting: Vec<PathBuf> = FOLDERS.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "session") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
