//! Servers of others, probed: `docs/probed.md` shows what the command prints.
//!
//! They come from npm and PyPI, at the versions of the lock files in `tests/peers`: `npm ci` there, and
//! `python3 -m venv .venv` with `.venv/bin/pip install --require-hashes -r requirements.lock`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "these are tests"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use mcp_protocol_compiler::explain::blocks;

const EVERYTHING: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
const FILESYSTEM: &str = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
const PYTHON: &str = ".venv/bin/python";

fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/peers").canonicalize().unwrap()
}

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/probed.md")).unwrap()
}

/// Compares what is printed for a server with what the page has below a heading.
fn assert_page_shows(heading: &str, samples: &str, server: &[&str]) {
    assert_page_shows_of(&["--protocol", "mcp"], heading, samples, server);
}

/// The same of a protocol that is named in these words.
fn assert_page_shows_of(protocol: &[&str], heading: &str, samples: &str, server: &[&str]) {
    let samples = peers().join("samples").join(samples);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    command
        .env_remove("COLUMNS")
        .arg("probe")
        .args(protocol)
        .args(["--fail-on", "never", "--samples"])
        .arg(samples);
    if server.contains(&"--") {
        // It is started again and again, which takes its time where other tests run.
        command.args(["--timeout", "300"]);
    }
    command.args(server);
    let output = command.current_dir(peers()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let page = page();
    let (_, below) = page.split_once(&format!("## {heading}\n")).expect("the page has the heading");
    let shown = blocks(below).into_iter().find(|block| block.has("text")).unwrap().text;
    assert_eq!(shown, printed, "`docs/probed.md` is not current: {heading}");
}

/// A server over HTTP that ends with this.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that was free a moment ago, for servers that take no address but a port.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// Reads until the server says where it is.
fn await_words(stream: impl Read + Send + 'static, words: &str) -> String {
    let mut lines = BufReader::new(stream).lines();
    let line = lines.find_map(|line| line.ok().filter(|line| line.contains(words)));
    thread::spawn(move || lines.count());
    line.expect("the server starts")
}

#[test]
fn the_page_names_the_versions_that_are_probed() {
    let package: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(peers().join("package.json")).unwrap()).unwrap();
    let python = fs::read_to_string(peers().join("requirements.txt")).unwrap();
    let python = |name: &str| {
        let pinned = python.lines().find_map(|line| line.strip_prefix(&format!("{name}=="))).unwrap();
        pinned.to_owned()
    };
    let npm = |name: &str| package["dependencies"][name].as_str().unwrap().to_owned();
    let page = page();
    for (name, version) in [
        ("@modelcontextprotocol/server-everything", npm("@modelcontextprotocol/server-everything")),
        ("@modelcontextprotocol/server-filesystem", npm("@modelcontextprotocol/server-filesystem")),
        ("mcp", python("mcp")),
        ("fastmcp", python("fastmcp")),
    ] {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}`"))).unwrap();
        assert!(row.contains(&version), "`{name}` is pinned to {version}, and the page says: {row}");
    }
}

#[test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
fn everything_over_stdio() {
    assert_page_shows(
        "server-everything over stdio",
        "everything.json",
        &["--", "node", EVERYTHING, "stdio"],
    );
}

#[test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
fn everything_over_http() {
    let port = free_port();
    let mut command = Command::new("node");
    command.arg(peers().join(EVERYTHING)).arg("streamableHttp").env("PORT", port.to_string());
    let mut serving = Serving(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    await_words(serving.0.stderr.take().unwrap(), "listening");
    let url = format!("http://127.0.0.1:{port}/mcp");
    assert_page_shows("server-everything over HTTP", "everything.json", &["--url", &url]);
}

#[test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
fn filesystem_over_stdio() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    assert_page_shows("server-filesystem over stdio", "filesystem.json", &["--", "node", FILESYSTEM, folder]);
}

#[test]
#[ignore = "needs Python and the packages of `tests/peers/requirements.lock`"]
fn python_over_stdio() {
    assert_page_shows("Python SDK over stdio", "desk.json", &["--", PYTHON, "server.py", "stdio"]);
}

#[test]
#[ignore = "needs Python and the packages of `tests/peers/requirements.lock`"]
fn python_over_http() {
    let mut command = Command::new(peers().join(PYTHON));
    command.arg(peers().join("server.py")).args(["http", "plain"]).stderr(Stdio::null());
    let mut serving = Serving(command.stdout(Stdio::piped()).spawn().unwrap());
    let url = await_words(serving.0.stdout.take().unwrap(), "http://");
    assert_page_shows("Python SDK over HTTP", "desk.json", &["--url", &url]);
    let alone = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocols/mcp-2026-07-28.session");
    assert_page_shows_of(
        &[alone.to_str().unwrap()],
        "Python SDK over HTTP, without a handshake",
        "desk.json",
        &["--url", &url],
    );
}

#[test]
#[ignore = "needs Python and the packages of `tests/peers/requirements.lock`"]
fn fastmcp_over_stdio() {
    assert_page_shows("FastMCP over stdio", "calculator.json", &["--", PYTHON, "fastmcp_server.py", "stdio"]);
}

#[test]
#[ignore = "needs Python and the packages of `tests/peers/requirements.lock`"]
fn fastmcp_over_http() {
    let port = free_port();
    let mut command = Command::new(peers().join(PYTHON));
    command.arg(peers().join("fastmcp_server.py")).args(["http", &port.to_string()]);
    let _serving = Serving(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        thread::yield_now();
    }
    let url = format!("http://127.0.0.1:{port}/mcp");
    assert_page_shows("FastMCP over HTTP", "calculator.json", &["--url", &url]);
}
