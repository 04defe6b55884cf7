//! The command and the recordings.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs `sessionc` in the root of the repository, with a text on its standard input.
pub(crate) fn sessionc(arguments: &[&str], input: &[u8]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    command.env_remove("CLICOLOR_FORCE").args(arguments).current_dir(root());
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that does not read it has closed the pipe.
    let writer = std::thread::spawn(move || drop(to.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// What was found in a log.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) code: i32,
    pub(crate) findings: Vec<Value>,
    /// The lines that cannot be read.
    pub(crate) broken: Vec<u64>,
    /// What is said of them.
    pub(crate) unread: Vec<Value>,
    pub(crate) summary: Value,
}

impl Found {
    /// Line and kind of each finding.
    pub(crate) fn places(&self) -> Vec<(u64, String)> {
        let place = |finding: &Value| {
            (finding["line"].as_u64().unwrap(), finding["code"].as_str().unwrap().to_owned())
        };
        self.findings.iter().map(place).collect()
    }

    pub(crate) fn lines(&self) -> Vec<u64> {
        self.places().into_iter().map(|(line, _)| line).collect()
    }

    pub(crate) fn unobserved(&self) -> Vec<&str> {
        self.summary["not observed"].as_array().unwrap().iter().map(|what| what.as_str().unwrap()).collect()
    }
}

/// Judges a log as MCP.
pub(crate) fn trace(log: impl AsRef<[u8]>) -> Found {
    trace_with(&[], log)
}

pub(crate) fn trace_with(arguments: &[&str], log: impl AsRef<[u8]>) -> Found {
    trace_of(&[&["--protocol", "mcp"], arguments].concat(), log)
}

/// Judges a log by the protocol that the arguments name.
pub(crate) fn trace_of(arguments: &[&str], log: impl AsRef<[u8]>) -> Found {
    let all = [&["trace", "--format", "json"], arguments, &["-"]].concat();
    let run = sessionc(&all, log.as_ref());
    assert_eq!(run.err, "", "{}", run.out);
    let lines: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).cloned().collect::<Vec<_>>();
    let unread = of("broken");
    Found {
        code: run.code,
        findings: of("finding"),
        broken: unread.iter().map(|line| line["line"].as_u64().unwrap()).collect(),
        unread,
        summary: of("summary").pop().unwrap(),
    }
}

/// A recording as it is in its file.
pub(crate) fn recorded(name: &str) -> String {
    fs::read_to_string(root().join(format!("tests/traffic/{name}.jsonl"))).unwrap()
}

/// One message: whether the client sent it, and the message.
pub(crate) type Message = (bool, Value);

/// The messages of a recording, without remarks.
pub(crate) fn messages(name: &str) -> Vec<Message> {
    let lines = recorded(name);
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let message = |line: Value| match line["dir"].as_str().unwrap() {
        "c2s" => Some((true, line["msg"].clone())),
        "s2c" => Some((false, line["msg"].clone())),
        _ => None,
    };
    lines.filter_map(message).collect()
}

/// Messages as a log, one on each line.
pub(crate) fn written(messages: &[Message]) -> String {
    let line = |(is_client, message): &Message| {
        let line = json!({ "dir": if *is_client { "c2s" } else { "s2c" }, "msg": message });
        format!("{line}\n")
    };
    messages.iter().map(line).collect()
}

/// The line, counted from 1, of the first message for which this holds.
pub(crate) fn line_of(messages: &[Message], wanted: impl Fn(&Value) -> bool) -> usize {
    messages.iter().position(|(_, message)| wanted(message)).unwrap() + 1
}

pub(crate) fn is(method: &'static str) -> impl Fn(&Value) -> bool {
    move |message| message["method"] == method
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_standard_input_and_what_came_is_judged() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    command.args(["trace", "--protocol", "mcp", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"dir\":\"c2s\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":1}}\n").unwrap();
    // More than a pipe holds: what came first has been read when this is written.
    input.write_all(&vec![b'\n'; 1 << 20]).unwrap();
    let pid = child.id().to_string();
    let waits_for_signals = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        // SIGINT is the second signal.
        u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0
    };
    while !waits_for_signals() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("must[form]") && text.contains("--> <stdin>:1\n"), "{text}");
    drop(input);
}
