//! `docs/guide/`: what its pages show is what a reader gets who does what they say, block by block.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests may fail the test"
)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::commands_of;

use mcp_protocol_compiler::explain::{Block, blocks};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A reader who follows a page.
struct Reader {
    folder: PathBuf,
    /// What the last commands printed, and whether the last one succeeded.
    output: String,
    /// The line that the reader has put in to see it fail.
    wrong: Option<String>,
}

impl Reader {
    fn follow(&mut self, block: &Block<'_>) {
        let text = block.text.as_str();
        match block.tags.as_slice() {
            // What the reader has done before: this test is that program.
            ["text"] => assert_eq!(text, "cargo install --path sessionc\n"),
            ["sh"] => self.run(text, true),
            ["sh", "fails"] => self.run(text, false),
            ["text", "output"] => {
                for line in text.lines() {
                    let is_there = self.output.lines().any(|other| other.trim() == line.trim());
                    assert!(is_there, "line {}: `{line}` is not in:\n{}", block.line, self.output);
                }
            }
            ["session", "part"] => {
                let protocol = self.read("calc.session");
                assert!(protocol.contains(text), "line {}: {text} is not in:\n{protocol}", block.line);
            }
            ["mermaid"] => {
                self.run("sessionc diagram calc.session --without-refusals", true);
                assert_eq!(self.output, text);
            }
            ["rust", "wrong"] => {
                self.edit("tests/session.rs", "    let (welcome, client)", |found| format!("{text}{found}"));
                self.wrong = Some(text.to_owned());
            }
            ["session", "add"] => {
                let wrong = self.wrong.take().unwrap();
                self.edit("tests/session.rs", &wrong, |_| String::new());
                self.edit("calc.session", "notification Log", |found| format!("{text}{found}"));
            }
            ["session", "replace" | "mistake"] => {
                let protocol = self.read("calc.session");
                let line = protocol.lines().find(|line| line.starts_with("Ready = ")).unwrap();
                self.edit("calc.session", line, |_| text.trim_end().to_owned());
            }
            ["rust", "handler"] => {
                let place = "impl server::Handler for Calculator {\n";
                self.edit("src/lib.rs", place, |found| format!("{found}{text}\n"));
            }
            ["rust", "call"] => {
                self.edit("tests/session.rs", "    client.close()", |found| format!("{text}{found}"));
            }
            tags => panic!("line {}: what does a reader do with {tags:?}?", block.line),
        }
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap()
    }

    fn edit(&self, file: &str, place: &str, change: impl FnOnce(&str) -> String) {
        let text = self.read(file);
        assert_eq!(text.matches(place).count(), 1, "`{place}` in {file}");
        fs::write(self.folder.join(file), text.replace(place, &change(place))).unwrap();
    }

    fn run(&mut self, script: &str, succeeds: bool) {
        self.output.clear();
        for line in script.lines() {
            let runtime = root().join("mcp-runtime").to_str().unwrap().to_owned();
            let line = line.replace("path/to/mcp-runtime", &runtime);
            let mut words = line.split(' ');
            let mut command = match words.next().unwrap() {
                "cd" => {
                    self.folder.push(words.next().unwrap());
                    continue;
                }
                "sessionc" => Command::new(env!("CARGO_BIN_EXE_sessionc")),
                "cargo" => self.cargo(),
                other => panic!("`{other}` is not a command of the guide"),
            };
            let output = command.args(words).current_dir(&self.folder).output().unwrap();
            let printed =
                [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
            assert_eq!(output.status.success(), succeeds, "{line}\n{printed}");
            self.output += &printed;
        }
    }

    /// Builds with the versions and into the folder of this workspace, without the internet.
    fn cargo(&self) -> Command {
        let lock = self.folder.join("Cargo.lock");
        if !lock.exists() {
            fs::copy(root().join("Cargo.lock"), lock).unwrap();
            // The folder lies in this workspace, to which the new crate does not belong.
            let manifest = self.read("Cargo.toml") + "\n[workspace]\n";
            fs::write(self.folder.join("Cargo.toml"), manifest).unwrap();
        }
        let mut command = Command::new(env!("CARGO"));
        command.arg("--offline");
        command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap());
        command.env("CARGO_PROFILE_DEV_DEBUG", "false");
        command
    }
}

#[test]
#[ignore = "builds a crate and what it depends on, which takes a minute"]
fn the_first_protocol() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let page = fs::read_to_string(root().join("docs/guide/first-protocol.md")).unwrap();
    let mut reader = Reader { folder, output: String::new(), wrong: None };
    for block in blocks(&page) {
        reader.follow(&block);
    }
}

#[test]
fn the_guide_names_commands_that_there_are() {
    for page in ["README.md", "first-protocol.md"] {
        let text = fs::read_to_string(root().join("docs/guide").join(page)).unwrap();
        let quoted = text.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("sessionc "));
        let names = quoted.filter_map(|code| code.split_whitespace().next());
        let mut count = 0;
        for name in names {
            let output =
                Command::new(env!("CARGO_BIN_EXE_sessionc")).args([name, "--help"]).output().unwrap();
            assert!(output.status.success(), "{page} names `sessionc {name}`");
            count += 1;
        }
        assert!(count >= 3, "{page} names {count} commands");
    }
}

#[test]
fn the_pages_list_every_command() {
    let output = Command::new(env!("CARGO_BIN_EXE_sessionc")).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let names = commands_of(&help);
    assert!(names.contains(&"check"), "{names:?}");
    for page in ["README.md", "sessionc/README.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for name in names.iter().filter(|name| **name != "help") {
            let row = [format!("| `{name} "), format!("| `{name}` ")];
            assert!(
                row.iter().any(|row| text.contains(row)),
                "{page} has no row for `{name}` in its table of commands"
            );
        }
    }
}
