//! `sessionc compat` and `sessionc diff` as a user runs them; `docs/evolving.md` shows what they print.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests may fail the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mcp_protocol_compiler::explain::blocks;
use serde_json::Value;

use super::program::{empty_folder, run};

fn folder(name: &str) -> PathBuf {
    empty_folder(&format!("compat_{name}"))
}

/// A text without spaces at the ends of lines and of the whole, which no reader sees.
fn trimmed(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Set `REWRITE_PAGE` to write what the commands print into the page; then read it.
#[test]
fn the_page_shows_what_the_commands_print() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/evolving.md");
    let mut page = fs::read_to_string(&path).unwrap();
    let folder = folder("page");
    let mut commands = 0;
    for block in blocks(&page.clone()) {
        if let Some(name) = block.value("file") {
            fs::write(folder.join(name), &block.text).unwrap();
        }
        if !block.has("console") {
            continue;
        }
        commands += 1;
        let (command, shown) = block.text.split_once('\n').unwrap();
        let arguments: Vec<&str> = command.strip_prefix("$ sessionc ").unwrap().split(' ').collect();
        let (code, out, err) = run(&folder, &arguments);
        assert_eq!((Some(code.to_string().as_str()), err.as_str()), (block.value("exits"), ""), "{command}");
        if std::env::var_os("REWRITE_PAGE").is_some() {
            let new = format!("{command}\n{}\n", trimmed(&out));
            page = page.replacen(&format!("\n{}```\n", block.text), &format!("\n{new}```\n"), 1);
            fs::write(&path, &page).unwrap();
        } else {
            assert_eq!(trimmed(shown), trimmed(&out), "line {}", block.line);
        }
    }
    assert!(commands >= 3, "{commands}");
}

const OLD: &str = "protocol P \"1\"\ntype Note = { text: string }\nnotification Add \"add\" (Note)\n\
                   client C\nserver S = dual C\nC = *( !Add . End )\n";

#[test]
fn a_protocol_without_a_name_is_called_so() {
    let folder = folder("nameless");
    fs::write(folder.join("old.session"), OLD.split_once('\n').unwrap().1).unwrap();
    fs::write(folder.join("new.session"), OLD).unwrap();
    let (_, out, _) = run(&folder, &["diff", "old.session", "new.session"]);
    assert!(out.contains("was none, is `P`"), "{out}");
    fs::write(folder.join("log"), "{\"jsonrpc\":\"2.0\",\"method\":\"add\",\"params\":{\"text\":\"\"}}\n")
        .unwrap();
    let (_, out, err) = run(&folder, &["trace", "old.session", "log"]);
    assert!(
        format!("{out}{err}").contains("1 session of a protocol without a name, 1 message"),
        "{out}{err}"
    );
}

#[test]
fn for_programs_there_is_one_object_a_line() {
    let folder = folder("json");
    fs::write(folder.join("old.session"), OLD).unwrap();
    let new = OLD
        .replace("text: string", "text: string, author: string")
        .replace("*( !Add . End )", "( *( !Add . End ), *( ?Gone . End ) )\nnotification Gone \"gone\"");
    fs::write(folder.join("new.session"), new).unwrap();
    let (code, out, err) = run(&folder, &["compat", "--format", "json", "old.session", "new.session"]);
    assert_eq!((code, err.as_str()), (1, ""));
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["finding", "finding", "verdict", "verdict"]);
    assert_eq!((&lines[0]["code"], &lines[0]["client"]), (&"C0001".into(), &"old".into()));
    assert_eq!(lines[0]["places"][0]["file"], "new.session");
    assert_eq!(lines[1]["payload"], serde_json::json!({ "text": "" }));
    assert_eq!((&lines[2]["compatible"], &lines[2]["breaks"]), (&false.into(), &2.into()));
    assert_eq!((&lines[3]["client"], &lines[3]["compatible"]), (&"new".into(), &true.into()));

    let (code, out, _) = run(&folder, &["diff", "--format", "json", "old.session", "new.session"]);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let parts: Vec<&str> = lines.iter().map(|line| line["part"].as_str().unwrap()).collect();
    assert_eq!((code, parts), (1, vec!["message", "shape", "state", "state"]));
    assert_eq!(lines[1]["breaks"], serde_json::json!([{ "client": "old", "server": "new" }]));
    assert_eq!(lines[1]["new"]["line"], 2);
}

#[test]
fn a_changed_tuple_is_shown_as_it_is_written() {
    let folder = folder("tuple");
    let note = |shape: &str| OLD.replace("{ text: string }", shape);
    fs::write(folder.join("old.session"), note("[text: string, times?: int | string]")).unwrap();
    fs::write(folder.join("new.session"), note("[line: string, times: int]")).unwrap();
    let (code, out, err) = run(&folder, &["diff", "old.session", "new.session"]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert_eq!(
        out,
        "shape `Note`\n    was `[text: string, times?: int | string]`, is `[line: string, times: int]`   [breaks the \
         old client with the new server]\n"
    );
    fs::write(folder.join("new.session"), note("[text: string, ...times: int | string]")).unwrap();
    let (_, out, _) = run(&folder, &["diff", "old.session", "new.session"]);
    assert_eq!(
        out,
        "shape `Note`\n    was `[text: string, times?: int | string]`, is `[text: string, ...times: int | string]`   \
         [breaks the new client with the old server]\n"
    );
    // Other labels are a change of the text that breaks nothing.
    fs::write(folder.join("new.session"), note("[line: string, times?: int | string]")).unwrap();
    let (_, out, _) = run(&folder, &["diff", "old.session", "new.session"]);
    assert!(out.ends_with("is `[line: string, times?: int | string]`\n"), "{out}");
    assert_eq!(run(&folder, &["compat", "old.session", "new.session"]).0, 0);
}

#[test]
fn files_that_cannot_be_compared_are_unusable() {
    let folder = folder("unusable");
    fs::write(folder.join("old.session"), OLD).unwrap();
    fs::write(folder.join("bad.session"), "client C\nC = !A . B\n").unwrap();
    for command in ["compat", "diff"] {
        let (code, out, err) = run(&folder, &[command, "old.session", "missing.session"]);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains("`missing.session`"), "{err}");
        let (code, out, err) = run(&folder, &[command, "old.session", "bad.session"]);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains("S0103") && err.ends_with("while a file has errors\n"), "{err}");
        let (code, out, _) = run(&folder, &[command, "--format", "json", "old.session", "old.session"]);
        let verdicts = if command == "compat" { 2 } else { 0 };
        assert_eq!((code, out.lines().count()), (0, verdicts));
    }
}

/// A terminal of 60 columns has room for each sentence; without one, each is a line.
#[test]
fn sentences_fit_the_terminal() {
    let folder = folder("wrapped");
    fs::write(folder.join("old.session"), OLD).unwrap();
    let new = OLD.replace("text: string", "text: string, author: string");
    fs::write(folder.join("new.session"), new).unwrap();
    fs::write(folder.join("wrong.session"), OLD.replace("!Add . End", "!Ad . End")).unwrap();
    let log = r#"{"dir":"c2s","msg":{"jsonrpc":"2.0","method":"remove","params":{"text":"a text"}}}"#;
    fs::write(folder.join("log.jsonl"), format!("{log}\n")).unwrap();
    for arguments in [
        &["compat", "old.session", "new.session"][..],
        &["diff", "old.session", "new.session"],
        &["check", "wrong.session"],
        &["trace", "old.session", "log.jsonl"],
    ] {
        let out = |columns: Option<&str>| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
            command.env_remove("COLUMNS").args(arguments).current_dir(&folder);
            columns.into_iter().for_each(|columns| _ = command.env("COLUMNS", columns));
            String::from_utf8(command.output().unwrap().stdout).unwrap()
        };
        let (whole, narrow) = (out(None), out(Some("60")));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&whole), words(&narrow), "nothing is lost");
        let is_sentence = |line: &&str| !line.contains(['|', '^', '{']) && !line.contains("-->");
        for line in narrow.lines().filter(is_sentence) {
            assert!(line.chars().count() <= 60, "{line}\n{narrow}");
        }
        assert!(whole.lines().filter(is_sentence).any(|line| line.chars().count() > 60), "{whole}");
    }
}
