//! `docs/guide/server-in-ci.md`: its commands print what it shows.

use std::fs;
use std::path::Path;

use mcp_protocol_compiler::explain::{Block, blocks};

use super::tests::{Run, sessionc};

/// Follows the page block by block.
pub(crate) fn the_page_shows_what_is_printed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/server-in-ci.md");
    let page = fs::read_to_string(page).unwrap();
    let samples = Path::new(env!("CARGO_TARGET_TMPDIR")).join("samples.json");
    let mut output = String::new();
    let mut commands = 0;
    for block in blocks(&page) {
        let Block { tags, text, line, .. } = &block;
        match tags.as_slice() {
            ["sh"] => (output, commands) = (follow(text, &samples, 0, *line).out, commands + 1),
            ["sh", "fails"] => (output, commands) = (follow(text, &samples, 1, *line).out, commands + 1),
            ["text", "output"] => assert_eq!(output, *text, "line {line}"),
            ["json", "sample"] => fs::write(&samples, &**text).unwrap(),
            ["yaml"] => {
                let (_, command) = text.split_once("run: ").unwrap();
                let (command, _) = command.split_once(" > ").unwrap();
                assert!(follow(command, &samples, 0, *line).out.starts_with("<?xml"));
            }
            // These need other programs: the arguments are tried with a list in place of a server.
            ["sh", "example"] => {
                for line in text.lines() {
                    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
                    let own = words.iter().position(|word| matches!(*word, "--" | "--url")).unwrap();
                    let run = sessionc(&[&words[..own], &["--list"], &words[own..]].concat());
                    assert_eq!(run.code, 0, "{line}: {}", run.err);
                }
            }
            tags => panic!("line {line}: what does a reader do with {tags:?}?"),
        }
    }
    assert_eq!(commands, 4);
}

fn follow(command: &str, samples: &Path, code: i32, line: usize) -> Run {
    let server = std::env::current_exe().unwrap();
    let server = server.to_str().unwrap();
    let words = command.split_whitespace().skip(1).flat_map(|word| match word {
        "./lenient-server" => vec![server, "serve", "lenient"],
        "./correct-server" => vec![server, "serve", "correct"],
        "samples.json" => vec![samples.to_str().unwrap()],
        word => vec![word],
    });
    let run = sessionc(&words.collect::<Vec<_>>());
    assert_eq!(run.code, code, "line {line}: {}{}", run.out, run.err);
    run
}
