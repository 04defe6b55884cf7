//! `docs/language.md` says what the compiler does: its examples compile, or fail as it says, and the Rust it shows is
//! the Rust that is generated.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests may fail the test")]

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use mcp_protocol_compiler::checks::unused::UNUSED_MESSAGE;
use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::explain::{Block, blocks, pages};
use mcp_protocol_compiler::{Compilation, Settings, compile_with, generate};

fn reference() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/language.md")).unwrap()
}

/// The text in front of an example that is not a whole file.
fn prelude(blocks: &[Block<'_>]) -> String {
    let found: Vec<&Block<'_>> = blocks.iter().filter(|block| block.has("prelude")).collect();
    assert_eq!(found.len(), 1);
    found[0].text.clone()
}

fn whole(block: &Block<'_>, prelude: &str) -> String {
    if block.text.starts_with("protocol ") { block.text.clone() } else { format!("{prelude}{}", block.text) }
}

/// With what is found when code is generated.
fn compiled(text: &str) -> Compilation {
    // `-- in NAME:` begins another file.
    let mut parts = text.split("-- in ");
    let mut files = vec![("example.session", parts.next().unwrap())];
    files.extend(parts.map(|part| part.split_once(":\n").unwrap()));
    let mut read = |path: &Path| {
        let file = files.iter().find(|(name, _)| path == Path::new(name));
        file.map(|(_, text)| text.as_bytes().to_vec()).ok_or(io::Error::from(io::ErrorKind::NotFound))
    };
    compile_with(Path::new("example.session"), &mut read, Settings::default().for_code(true)).unwrap()
}

fn codes(compilation: &Compilation, severity: Severity) -> BTreeSet<&str> {
    let found = compilation.diagnostics.iter().filter(|found| found.severity == severity);
    // Each piece uses a few of the messages that all of them share.
    let found = found.filter(|found| found.code != UNUSED_MESSAGE);
    found.map(|found| found.code.0).collect()
}

#[test]
fn every_example_gives_what_the_page_says() {
    let text = reference();
    let blocks = blocks(&text);
    let prelude = prelude(&blocks);
    let mut examples = 0;
    for block in blocks.iter().filter(|block| block.has("session") && !block.has("prelude")) {
        examples += 1;
        let compilation = compiled(&whole(block, &prelude));
        let rendered = render_all(&compilation.sources, &compilation.diagnostics, Style::Plain);
        for (severity, tag) in
            [(Severity::Error, "fails"), (Severity::Warning, "warns"), (Severity::Note, "notes")]
        {
            // A note need not be spoken of everywhere.
            if severity > Severity::Note || block.value(tag).is_some() {
                let expected: BTreeSet<&str> = block.value(tag).into_iter().collect();
                let found = codes(&compilation, severity);
                assert_eq!(found, expected, "line {}: {tag}\n{rendered}", block.line);
            }
        }
    }
    assert!(examples >= 30, "only {examples} examples were found");
}

/// Without white space and the commas that only a broken line has.
fn squeezed(code: &str) -> String {
    let code: String = code.chars().filter(|character| !character.is_whitespace()).collect();
    code.replace(",)", ")").replace(",>", ">")
}

/// The top-level items of generated code whose first line is this.
fn items_of(code: &str, head: &str) -> String {
    let mut found = String::new();
    let mut inside = false;
    for line in code.lines() {
        if !line.is_empty() && !line.starts_with([' ', '}']) {
            inside = squeezed(line) == squeezed(head);
        }
        if inside {
            found += line;
        }
    }
    squeezed(&found)
}

#[test]
fn the_rust_shown_is_the_rust_generated() {
    let text = reference();
    let blocks = blocks(&text);
    let prelude = prelude(&blocks);
    let mut code = String::new();
    let mut signatures = 0;
    for block in &blocks {
        if block.has("session") && !block.has("prelude") && block.value("fails").is_none() {
            let compilation = compiled(&whole(block, &prelude));
            code = match &compilation.protocol {
                // The public items, and what is behind them.
                Some(protocol) => {
                    let sources = &compilation.sources;
                    let api = generate::signatures(protocol, sources).unwrap();
                    api + "\n" + &generate::expand(protocol, sources, &Default::default()).unwrap()
                }
                None => String::new(),
            };
        }
        let mut item = String::new();
        for line in block.text.lines().filter(|_| block.has("signature")) {
            signatures += 1;
            if line.starts_with(' ') {
                let there = item.contains(&squeezed(line));
                assert!(there, "line {}: `{}` is not generated there", block.line, line.trim());
            } else {
                item = items_of(&code, line);
                assert!(!item.is_empty(), "line {}: `{line}` is not generated", block.line);
            }
        }
    }
    assert!(signatures >= 50, "only {signatures} signatures were found");
}

#[test]
fn every_code_is_listed() {
    let text = reference();
    let (_, list) = text.split_once("\n## All codes\n").unwrap();
    for page in pages() {
        assert!(list.contains(page.code.0), "{} is not listed", page.code.0);
    }
    let known = |word: &str| pages().iter().any(|page| page.code.0 == word);
    for word in text.split(|character: char| !character.is_ascii_alphanumeric()) {
        let code = word.len() == 5 && word.starts_with('S') && word[1..].bytes().all(|b| b.is_ascii_digit());
        assert!(!code || known(word), "there is no {word}");
    }
}

#[test]
fn links_within_the_page_lead_somewhere() {
    let text = reference();
    let anchor = |heading: &str| -> String {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        kept.chars()
            .filter(|c| c.is_alphanumeric() || " -".contains(*c))
            .collect::<String>()
            .replace(' ', "-")
    };
    let anchors: BTreeSet<String> = text.lines().filter(|line| line.starts_with('#')).map(anchor).collect();
    for link in text.split("](#").skip(1) {
        let target = link.split(')').next().unwrap();
        assert!(anchors.contains(target), "no heading `{target}`");
    }
}
