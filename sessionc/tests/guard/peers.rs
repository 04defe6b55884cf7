//! A guard between programs of others: nothing changes for them, and all of it is recorded. What they see is compared with
//! what they see without a guard.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::Test;
use super::client::{guard, record, recorded};
use super::http_guard::Guard;

/// These need Node, Python, and what `.ci/run` installs in `tests/peers`.
pub(crate) const TESTS: [Test; 7] = [
    ("inspector_and_server_everything", inspector_and_server_everything),
    ("inspector_and_server_everything_over_http", inspector_and_server_everything_over_http),
    ("the_python_sdk_with_itself", the_python_sdk_with_itself),
    ("the_typescript_sdk_with_itself", the_typescript_sdk_with_itself),
    ("the_typescript_sdk_over_http", the_typescript_sdk_over_http),
    ("the_revision_without_a_handshake", the_revision_without_a_handshake),
    ("pyright_and_an_editor", pyright_and_an_editor),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/peers").canonicalize().unwrap()
}

/// What a guard says where it was started before with the same record.
const FOLLOWS: &str = "has earlier recordings, and this one follows them";

/// Runs a program of `tests/peers` to its end, and returns what it printed.
fn run(words: &[&str]) -> String {
    let mut command = Command::new(words[0]);
    let output = command.args(&words[1..]).current_dir(folder()).stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words:?}: {errors}");
    // A client that finds out what its server speaks may start it twice.
    let is_complaint = |line: &&str| line.contains("guard: ") && !line.ends_with(FOLLOWS);
    assert_eq!(errors.lines().find(is_complaint), None, "nothing is wrong: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a client saw. Its session differs; and the TypeScript SDK loses the progress of a call that arrives in one piece
/// with the result.
fn seen(printed: &str) -> Value {
    let mut seen: Value = serde_json::from_str(printed).unwrap();
    for member in ["session", "progress"] {
        seen.as_object_mut().unwrap().remove(member);
    }
    seen
}

/// A program that is the guard of a server, for clients that take options for their own.
fn wrapper(name: &str) -> (String, PathBuf) {
    let (path, record) = (record(name).with_extension("sh"), record(name));
    let guard = env!("CARGO_BIN_EXE_sessionc");
    let script = format!(
        "#!/bin/sh\nexec '{guard}' guard --protocol mcp --enforce should --record '{}' -- \"$@\"\n",
        record.display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (path.to_str().unwrap().to_owned(), record)
}

/// Everything of a session of some length is recorded, of both sides.
fn assert_recorded(path: &Path, least: usize) {
    let recorded = recorded(path);
    for writer in ["c2s", "s2c"] {
        let count = recorded.iter().filter(|(other, _)| other == writer).count();
        assert!(count >= least, "{count} of {writer}");
    }
    assert!(recorded.iter().all(|(writer, _)| !writer.ends_with("-raw")));
}

/// A client sees the same of a server with a guard and without.
fn compare_over_stdio(name: &str, client: &[&str], server: &[&str]) {
    let (guard, record) = wrapper(name);
    let direct = run(&[client, server].concat());
    let guarded = run(&[client, &[guard.as_str()], server].concat());
    assert_eq!(seen(&guarded), seen(&direct));
    assert_recorded(&record, 10);
}

fn the_python_sdk_with_itself() {
    let python = ".venv/bin/python";
    compare_over_stdio("python", &[python, "client.py", "legacy", "stdio"], &[python, "server.py", "stdio"]);
}

fn the_typescript_sdk_with_itself() {
    compare_over_stdio("typescript-1", &["node", "client.mjs", "stdio"], &["node", "server.mjs", "stdio"]);
    compare_over_stdio(
        "typescript-2",
        &["node", "client2.mjs", "2025-06-18", "stdio"],
        &["node", "server.mjs", "stdio"],
    );
}

fn the_revision_without_a_handshake() {
    for mode in ["2026-07-28", "auto"] {
        compare_over_stdio(
            "rounds",
            &["node", "rounds.mjs", mode, "stdio"],
            &["node", "rounds_server.mjs", "stdio"],
        );
    }
}

/// A server that runs until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Starts a server that prints its address first.
fn serve(words: &[&str]) -> (Running, String) {
    let mut command = Command::new(words[0]);
    let mut child = command.args(&words[1..]).current_dir(folder()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut address = String::new();
    output.read_line(&mut address).unwrap();
    // It prints more while it runs.
    std::thread::spawn(move || output.lines().for_each(drop));
    (Running(child), address.trim().to_owned())
}

fn before(server: &str, name: &str) -> (Guard, PathBuf) {
    let path = record(name);
    let guard = Guard::start(server, &["--enforce", "should", "--record", path.to_str().unwrap()]);
    (guard, path)
}

fn the_typescript_sdk_over_http() {
    for manner in ["plain", "resumable"] {
        let (_running, address) = serve(&["node", "server.mjs", "http", manner]);
        let direct = run(&["node", "client.mjs", "http", &address]);
        let (guard, record) = before(&address, &format!("typescript-{manner}"));
        let path = address.splitn(4, '/').nth(3).unwrap();
        let guarded = run(&["node", "client.mjs", "http", &guard.url.replace("mcp", path)]);
        assert_eq!(seen(&guarded), seen(&direct));
        assert_eq!(guard.stop(), "");
        assert_recorded(&record, 10);
    }
}

const EVERYTHING: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
const INSPECTOR: &str = "node_modules/@modelcontextprotocol/inspector-cli/build/index.js";

/// The Inspector's command line. It reads the version of the package that usually has it, which another test may do right
/// now.
fn inspect(words: &[&str]) -> String {
    let packages = folder().join("node_modules/@modelcontextprotocol");
    let linked = fs::hard_link(packages.join("inspector-cli/package.json"), packages.join("package.json"));
    assert!(linked.is_ok() || packages.join("package.json").exists(), "{linked:?}");
    run(&[&["node", INSPECTOR], words].concat())
}

/// What the Inspector is asked to do.
const METHODS: [&[&str]; 4] = [
    &["--method", "tools/list"],
    &["--method", "resources/list"],
    &["--method", "prompts/list"],
    &["--tool-name", "echo", "--tool-arg", "message=hello", "--method", "tools/call"],
];

fn inspector_and_server_everything() {
    for method in METHODS {
        let (guard, record) = wrapper("inspector");
        let server = ["node", EVERYTHING, "stdio"];
        let direct = inspect(&[method, &server].concat());
        assert_eq!(inspect(&[method, &[guard.as_str()], &server].concat()), direct);
        assert_recorded(&record, 3);
    }
}

fn inspector_and_server_everything_over_http() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("node");
    command.args([EVERYTHING, "streamableHttp"]).env("PORT", port.to_string()).current_dir(folder());
    let _running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::yield_now();
    }
    let address = format!("http://127.0.0.1:{port}/mcp");
    let (guard, record) = before(&address, "inspector-http");
    for method in METHODS {
        let over = |address| inspect(&[&["--transport", "http"], method, &[address]].concat());
        assert_eq!(over(&guard.url), over(&address));
    }
    assert_eq!(guard.stop(), "");
    assert_recorded(&record, 12);
}

/// An editor that opens a document, asks about it and leaves. It does not wait for answers, which come in any order.
fn pyright_and_an_editor() {
    let messages = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a.py","languageId":"python","version":1,"text":"value = 1\nvalue\n"}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///a.py"},"position":{"line":1,"character":1}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"shutdown"}"#,
        r#"{"jsonrpc":"2.0","method":"exit"}"#,
    ];
    let server = folder().join("node_modules/.bin/pyright-langserver");
    let server = [server.to_str().unwrap(), "--stdio"];
    let path = record("pyright");
    let arguments = ["--protocol", "lsp", "--record", path.to_str().unwrap(), "--"];
    let guarded = talk(guard(&[&arguments[..], &server].concat()), &messages);
    let mut direct = Command::new(server[0]);
    direct.arg(server[1]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let direct = talk(direct, &messages);
    assert_eq!(guarded, direct);
    assert!(guarded.1[1].to_string().contains("value"), "{guarded:?}");
    let answers =
        recorded(&path).into_iter().filter(|(writer, line)| writer == "s2c" && !line["id"].is_null());
    assert!(answers.count() >= 3);
}

/// Sends each message once the request before it is answered. Returns the exit code and the results by their ids.
fn talk(mut command: Command, messages: &[&str]) -> (Option<i32>, Vec<Value>) {
    use std::io::{Read, Write};

    let mut child = command.spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut results = Vec::new();
    for message in messages {
        write!(input, "Content-Length: {}\r\n\r\n{message}", message.len()).unwrap();
        let id = serde_json::from_str::<Value>(message).unwrap()["id"].take();
        while !id.is_null() {
            let mut length = 0;
            let mut line = String::new();
            while output.read_line(&mut line).unwrap() > 2 {
                length =
                    line.strip_prefix("Content-Length: ").map_or(length, |text| text.trim().parse().unwrap());
                line.clear();
            }
            let mut body = vec![0; length];
            output.read_exact(&mut body).unwrap();
            let mut answer: Value = serde_json::from_slice(&body).unwrap();
            if answer["id"] == id && answer["method"].is_null() {
                results.push(answer["result"].take());
                break;
            }
        }
    }
    drop(input);
    (child.wait().unwrap().code(), results)
}
