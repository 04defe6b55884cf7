//! The shipped protocols: each is compatible with itself, and what is said of two revisions of MCP.

use std::fs;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::compat::{Verdict, compare};

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file)
}

fn verdict(old: &str, new: &str) -> Verdict {
    let comparison = compare(&path(old), &path(new), &mut |path: &Path| fs::read(path)).unwrap();
    comparison.verdict.unwrap()
}

const SHIPPED: [&str; 8] = [
    "protocols/mcp-2024-11-05.session",
    "protocols/mcp-2025-03-26.session",
    "protocols/mcp-2025-06-18.session",
    "protocols/mcp-2025-11-25.session",
    "protocols/mcp-2026-07-28.session",
    "protocols/mcp-2026-07-28-tasks.session",
    "lsp/lsp-3.17.session",
    "acp/acp-v1.session",
];

#[test]
fn each_is_compatible_with_itself() {
    let judge = |file| {
        let verdict = verdict(file, file);
        assert!(verdict.pairs.len() == 2 && verdict.is_compatible(), "{file}: {:#?}", verdict.pairs);
        assert!(verdict.pairs.iter().all(|pair| pair.found.is_empty()), "{file}: {:#?}", verdict.pairs);
        assert_eq!(verdict.changes, [], "{file}");
    };
    // One thread for each: of all that the tests do, this takes longest.
    std::thread::scope(|scope| {
        for file in SHIPPED {
            scope.spawn(move || judge(file));
        }
    });
}

#[test]
fn what_breaks_between_two_revisions_of_mcp() {
    let verdict = verdict("protocols/mcp-2025-06-18.session", "protocols/mcp-2025-11-25.session");
    let mut out = String::new();
    for pair in &verdict.pairs {
        out += &format!("{} client, {} server\n", pair.client.word(), pair.server().word());
        for found in &pair.found {
            out += &format!("  {} {}\n", found.diagnostic.code.0, found.diagnostic.message);
        }
    }
    for change in verdict.changes.iter().filter(|change| !change.breaks.is_empty()) {
        let pairs = change.breaks.iter().map(|(client, server)| format!("{client} with {server}"));
        let pairs = pairs.collect::<Vec<_>>().join(", ");
        out += &format!("{} {}: {} [{pairs}]\n", change.part.word(), change.name, change.text);
    }
    insta::assert_snapshot!(out);
}
