//! `docs/guide/guarding.md`: its commands do and print what it shows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use mcp_protocol_compiler::explain::{Block, blocks};
use serde_json::Value;

use super::Test;
use super::client::{feed, guard, record};
use super::http_guard::Guard;

pub(crate) const TESTS: [Test; 1] = [("the_page_shows_what_happens", the_page_shows_what_happens)];

/// Follows the page block by block.
fn the_page_shows_what_happens() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/guarding.md");
    let page = fs::read_to_string(page).unwrap();
    let mut inputs = BTreeMap::new();
    let mut output: Option<Output> = None;
    for block in blocks(&page) {
        let Block { tags, text, line, .. } = &block;
        let printed = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        match tags.as_slice() {
            ["json", _] if block.value("input").is_some() => {
                inputs.insert(block.value("input").unwrap().to_owned(), text.clone());
            }
            ["sh"] => output = Some(follow(text, &inputs, 0)),
            ["sh", _] if block.value("exits").is_some() => {
                output = Some(follow(text, &inputs, block.value("exits").unwrap().parse().unwrap()));
            }
            ["json", "output"] => {
                assert_eq!(objects(&printed(&output.as_ref().unwrap().stdout)), objects(text), "line {line}");
            }
            ["json", "reports"] => {
                assert_eq!(objects(&printed(&output.as_ref().unwrap().stderr)), objects(text), "line {line}");
            }
            ["text", "reports"] => {
                assert_eq!(printed(&output.as_ref().unwrap().stderr), *text, "line {line}")
            }
            // These need other programs: `true` takes the place of the server.
            ["sh", "example"] => {
                for line in text.lines() {
                    let words = line.replace("your-protocol.session", "examples/counter/counter.session");
                    let words: Vec<&str> = words.split_whitespace().skip(2).collect();
                    if words.contains(&"--listen") {
                        let words = words.iter().map(|word| word.replace(":8080", ":0"));
                        assert!(
                            Guard::run(guard(
                                &words.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>()
                            ))
                            .stop()
                            .is_empty()
                        );
                        continue;
                    }
                    let own = words.iter().position(|word| *word == "--").unwrap();
                    let run = feed(guard(&[&words[..own], &["--", "true"]].concat()), b"");
                    assert!(run.status.success(), "{line}: {}", printed(&run.stderr));
                }
            }
            tags => panic!("line {line}: what does a reader do with {tags:?}?"),
        }
    }
    assert!(output.is_some());
}

/// Runs a command of the page. Its record goes to the folder for tests.
fn follow(command: &str, inputs: &BTreeMap<String, String>, code: i32) -> Output {
    let server = std::env::current_exe().unwrap();
    let server = server.to_str().unwrap();
    let record = record("guide");
    let (command, input) = command.trim().split_once(" < ").unwrap();
    let words = command.split_whitespace().skip(2).flat_map(|word| match word {
        "./small-server" => vec![server, "serve", "correct"],
        "./dying-server" => vec![server, "serve", "dies"],
        "session.jsonl" => vec![record.to_str().unwrap()],
        word => vec![word],
    });
    let output = feed(guard(&words.collect::<Vec<_>>()), inputs[input].as_bytes());
    assert_eq!(output.status.code(), Some(code), "{command}");
    if command.contains("--record") {
        let lines = fs::read_to_string(&record).unwrap();
        assert_eq!(lines.matches("\"dir\": \"c2s\"").count(), 2, "{lines}");
        assert_eq!(lines.matches("\"dir\": \"s2c\"").count(), 2, "{lines}");
    }
    output
}

/// The objects of a text, by their ids: an error of the guard and an answer of the server may come in any order.
fn objects(lines: &str) -> Vec<Value> {
    let mut lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.sort_by_key(|line| line["id"].as_u64());
    lines
}
