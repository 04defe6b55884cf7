//! `docs/guide/traces.md`: its commands print what it shows.

use std::fs;
use std::path::Path;
use std::process::Command;

use mcp_protocol_compiler::explain::{Block, blocks};

use super::command::{root, sessionc};

#[test]
fn the_page_shows_what_is_printed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traces");
    fs::create_dir_all(&folder).unwrap();
    let page = fs::read_to_string(root().join("docs/guide/traces.md")).unwrap();
    let (mut output, mut commands) = (String::new(), 0);
    for block in blocks(&page) {
        let Block { tags, text, line, .. } = &block;
        match tags.as_slice() {
            ["json", "log"] => {
                fs::write(folder.join("session.jsonl"), &**text).unwrap();
                let rest: Vec<&str> = text.lines().skip(4).take(2).collect();
                fs::write(folder.join("rest.jsonl"), rest.join("\n")).unwrap();
            }
            ["sh"] => (output, commands) = (follow(&folder, text, 0, *line), commands + 1),
            ["sh", "fails"] => (output, commands) = (follow(&folder, text, 1, *line), commands + 1),
            ["text", "output"] => assert_eq!(output, *text, "line {line}"),
            // These logs are the reader's: the arguments are tried without one.
            ["sh", "example"] => {
                for line in text.lines() {
                    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
                    let run = sessionc(&words, b"");
                    assert_eq!(run.code, 2, "{line}: {}", run.out);
                    assert!(
                        run.err.contains("cannot read") || run.err.contains("has no message"),
                        "{}",
                        run.err
                    );
                }
            }
            tags => panic!("line {line}: what does a reader do with {tags:?}?"),
        }
    }
    assert_eq!(commands, 3);
}

fn follow(folder: &Path, command: &str, code: i32, line: usize) -> String {
    let mut process = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    let output = process.args(command.split_whitespace().skip(1)).current_dir(folder).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output.status.code(), Some(code), "line {line}: {out}{err}");
    out
}
