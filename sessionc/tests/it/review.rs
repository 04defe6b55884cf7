//! `docs/review.md`: its commands do what it says, and its test is the one that stands here.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests may fail the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mcp_protocol_compiler::{compile, generate};

use super::program::empty_folder;

/// The page.
fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/review.md")).unwrap()
}

/// The blocks of code that begin with these words.
fn blocks(page: &str, words: &str) -> Vec<String> {
    let starts = format!("\n```{words}\n");
    page.split(starts.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// A folder with the protocol of the page.
fn folder(name: &str) -> PathBuf {
    let path = empty_folder(name);
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/talk.session"), path.join("talk.session"))
        .unwrap();
    path
}

fn run(folder: &Path, command: &str) -> Output {
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("sessionc"), "{command}");
    Command::new(env!("CARGO_BIN_EXE_sessionc")).args(words).current_dir(folder).output().unwrap()
}

/// Puts a new notification into the protocol.
fn edit(folder: &Path) {
    let file = folder.join("talk.session");
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("\nclient Speaker", "notification Wave \"wave\"\n\nclient Speaker");
    let text = text.replace("= *( ?Ask . !Answer . End )", "= (*( ?Ask . !Answer . End ), *( !Wave . End ))");
    fs::write(file, text).unwrap();
}

#[test]
fn the_commands_of_the_page_do_what_it_says() {
    let page = page();
    let commands = blocks(&page, "sh");
    let [write, check, signatures] = commands.as_slice() else { panic!("{commands:?}") };
    let folder = folder("review");
    assert!(run(&folder, write).status.success());
    assert!(run(&folder, check).status.success());
    let shown = String::from_utf8(run(&folder, signatures).stdout).unwrap();
    for line in blocks(&page, "rust,signatures").iter().flat_map(|block| block.lines()) {
        assert!(shown.lines().any(|other| other.trim() == line.trim()), "`{line}` is not in:\n{shown}");
    }

    edit(&folder);
    let output = run(&folder, check);
    assert_eq!(output.status.code(), Some(1));
    let difference = String::from_utf8(output.stdout).unwrap();
    let beginning = &blocks(&page, "diff")[0];
    assert!(difference.starts_with(beginning.as_str()), "{difference}");
    assert!(difference.contains("\n+        pub fn send_wave(&self)"), "{difference}");
    assert!(run(&folder, write).status.success());
    assert!(run(&folder, check).status.success());
}

#[test]
fn rustfmt_leaves_the_code_as_it_is() {
    let folder = folder("review-rustfmt");
    assert!(run(&folder, "sessionc expand talk.session -o talk.rs").status.success());
    for settings in ["max_width=60", "use_small_heuristics=Max"] {
        let rustfmt = Command::new("rustfmt")
            .args(["--check", "--edition", "2024", "--config", settings, "talk.rs"])
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(rustfmt.status.success(), "{rustfmt:?}");
    }
    let first = fs::read_to_string(folder.join("talk.rs")).unwrap();
    assert!(first.lines().next().unwrap().contains("@generated"));
}

#[test]
fn the_test_of_the_page_stands_here() {
    let block = &blocks(&page(), "rust,test")[0];
    assert!(include_str!("review.rs").contains(block.replace("talk.session", "tests/talk.session").as_str()));
}

#[test]
fn the_api_of_the_protocol() {
    let file = std::path::Path::new("tests/talk.session");
    let compilation = compile(file, &mut |path| std::fs::read(path)).unwrap();
    let protocol = compilation.protocol.as_ref().unwrap();
    insta::assert_snapshot!(generate::signatures(protocol, &compilation.sources).unwrap());
}
