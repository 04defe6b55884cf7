//! A guard over standard streams, and its client.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
pub(crate) const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}"#;

/// A call of revision 2026-07-28, by a client that answers questions, with more members of its params.
pub(crate) fn call_alone(id: u8, more: &Value) -> Value {
    let mut params = json!({
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        },
        "name": "greet",
    });
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// What answers the question of the server whose manner is to ask in rounds; with another state or another answer it does not.
pub(crate) fn round(state: &str, question: &str) -> Value {
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    json!({ "requestState": state, "inputResponses": { question: answer } })
}

/// The guard as a command, in the folder of the repository.
pub(crate) fn guard(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    command.arg("guard").args(arguments);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A guard of MCP before a server of this manner.
pub(crate) fn guard_of(manner: &str, more: &[&str]) -> Command {
    let server = std::env::current_exe().unwrap();
    let server = server.to_str().unwrap();
    guard(&[&["--protocol", "mcp"], more, &["--", server, "serve", manner]].concat())
}

/// A file for a record, which does not exist yet.
pub(crate) fn record(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.jsonl"));
    let _ = std::fs::remove_file(&path);
    path
}

/// What a record has, without its times and notes: who wrote, and what.
pub(crate) fn recorded(path: &Path) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = lines.map(|mut line| (line["dir"].as_str().unwrap().to_owned(), line["msg"].take()));
    lines.filter(|(writer, _)| writer != "note").collect()
}

/// What `sessionc trace` finds in a record: the code and the side that is to blame.
pub(crate) fn traced(path: &Path) -> Vec<(String, String)> {
    let mut trace = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    trace.args(["trace", "--protocol", "mcp", "--format", "json"]).arg(path);
    let printed = String::from_utf8(trace.output().unwrap().stdout).unwrap();
    let lines = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found = lines.filter(|line| line["kind"] == "finding");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    found.map(|line| (text(&line["code"]), text(&line["blame"]))).collect()
}

/// Gives a command all of its input, and reads all that it writes.
pub(crate) fn feed(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // What is written comes back while it is written.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// A client that waits for each answer.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Client {
    pub(crate) fn start(mut command: Command) -> Client {
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Client { input: child.stdin.take(), output, child }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.try_write(text).unwrap();
    }

    pub(crate) fn try_write(&mut self, text: &str) -> std::io::Result<()> {
        self.input.as_mut().unwrap().write_all(text.as_bytes())
    }

    pub(crate) fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| json!(line))
    }

    pub(crate) fn ask(&mut self, request: &str) -> Value {
        self.write(&format!("{request}\n"));
        self.read()
    }

    /// Goes through the handshake.
    pub(crate) fn initialize(&mut self) {
        assert_eq!(self.ask(INITIALIZE)["id"], 1);
        self.write(&format!("{INITIALIZED}\n"));
    }

    /// Closes the input. Returns the exit code, what else came, and the reports.
    pub(crate) fn close(mut self) -> (i32, String, String) {
        drop(self.input.take());
        self.wait()
    }

    /// Waits without closing the input.
    pub(crate) fn wait(mut self) -> (i32, String, String) {
        let (mut rest, mut reports) = (String::new(), String::new());
        self.output.read_to_string(&mut rest).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut reports).unwrap();
        (self.child.wait().unwrap().code().unwrap(), rest, reports)
    }
}
