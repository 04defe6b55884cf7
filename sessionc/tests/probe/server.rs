//! Servers of the counter in `examples/counter`, and of a chain whose params have positions, each with its way of treating what the protocol forbids.

use std::io::{BufRead, Read, Write, stdin};
use std::path::Path;

use mcp_protocol_compiler::{Settings, compile_with, generate, source};
use mcp_runtime::Options;
use mcp_runtime::observer::{Observed, ObservedKind, Observer};
use mcp_runtime::protocol::Side;
use serde_json::{Value, json};

const COUNTER: &str = "../examples/counter/counter.session";
/// Requests with their params by position.
pub(crate) const CHAIN: &str = "tests/probe/chain.session";
/// Sub-sessions that may be opened after a shutdown, too.
pub(crate) const DOWNLOADS: &str = "tests/probe/downloads.session";

/// Sub-sessions whose key is in the envelope.
pub(crate) const DEVTOOLS: &str = "../tests/protocols/devtools.session";

/// One session.
pub(crate) struct Session {
    manner: &'static str,
    observer: Observer,
}

impl Session {
    pub(crate) fn new(manner: &str) -> Session {
        Session::of(COUNTER, manner)
    }

    /// One of the protocol in a file, which is named from this package.
    fn of(file: &str, manner: &str) -> Session {
        let manner = ["correct", "lenient", "silent", "dies", "hangs", "talks", "grumbles"]
            .into_iter()
            .find(|one| *one == manner);
        Session { manner: manner.unwrap(), observer: Session::observer(file) }
    }

    fn observer(file: &str) -> Observer {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let mut read = |path: &Path| source::bytes_of(std::fs::File::open(path)?);
        let compilation = compile_with(&file, &mut read, Settings::default()).unwrap();
        let protocol = generate::machine(compilation.protocol.as_ref().unwrap());
        Observer::new(protocol, Options::new().judge_payloads(true)).unwrap().refuse_misshapen()
    }

    /// Takes a message, and returns the answers.
    pub(crate) fn take(&mut self, text: &[u8]) -> Vec<Value> {
        let observed = self.observer.observe(Side::Client, text);
        let mut answers: Vec<Value> =
            observed.iter().filter_map(|one| answer(self.manner, text, one)).collect();
        answers.extend(unasked(self.manner, observed.first()));
        for answer in &answers {
            self.observer.observe(Side::Server, answer.to_string().as_bytes());
        }
        answers
    }
}

/// A server of MCP that answers every request with a result, until the input ends. It may also complain of every
/// notification, with an error that has no id.
fn serve_mcp(revision: &str, complains: bool) {
    let begun = json!({
        "protocolVersion": revision,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "small", "version": "1" },
    });
    for line in stdin().lock().split(b'\n') {
        let Ok(message) = serde_json::from_slice::<Value>(&line.unwrap()) else { continue };
        let Some(method) = message["method"].as_str() else { continue };
        let error = json!({ "code": -32601, "message": "no such method" });
        match message.get("id") {
            Some(id) if method == "initialize" => {
                println!("{}", json!({ "jsonrpc": "2.0", "id": id, "result": begun }));
            }
            Some(id) => {
                println!(
                    "{}",
                    json!({ "jsonrpc": "2.0", "id": id, "result": { "tools": [], "content": [] } })
                );
            }
            None if complains => println!("{}", json!({ "jsonrpc": "2.0", "id": null, "error": error })),
            None => {}
        }
    }
}

/// A browser with one page. It may say nothing to a client that attaches to the page.
fn serve_browser(is_mute: bool) {
    let mut observer = Session::observer(DEVTOOLS);
    let version = json!({ "protocolVersion": "1.3", "product": "b", "revision": "1", "userAgent": "b", "jsVersion": "1" });
    for line in stdin().lock().split(b'\n') {
        let line = line.unwrap();
        let observed = observer.observe(Side::Client, &line).remove(0);
        let message: Value = serde_json::from_slice(&line).unwrap_or_default();
        let answer = match (observed.kind, observed.refusal()) {
            (ObservedKind::Request | ObservedKind::Malformed, Some(refusal)) => {
                observer.error_reply(&line, observed.id.as_ref(), &refusal)
            }
            (ObservedKind::Request, None) => {
                let result = match message["method"].as_str().unwrap() {
                    "Browser.getVersion" => version.clone(),
                    "Target.attachToTarget" if is_mute => continue,
                    "Target.attachToTarget" => json!({ "sessionId": "S1" }),
                    "Page.navigate" => json!({ "frameId": "F1" }),
                    "Runtime.evaluate" => json!({ "result": { "type": "undefined" } }),
                    _ => json!({}),
                };
                let mut answer = json!({ "id": message["id"], "result": result });
                if let Some(session) = message.get("sessionId") {
                    answer["sessionId"] = session.clone();
                }
                answer.to_string().into_bytes()
            }
            _ => continue,
        };
        observer.observe(Side::Server, &answer);
        println!("{}", String::from_utf8(answer).unwrap());
    }
}

/// A server of MCP that takes ids for texts: all of them, or those of tool calls.
fn serve_mcp_with_texts(of_all: bool) {
    let begun = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "small", "version": "1" },
    });
    for line in stdin().lock().split(b'\n') {
        let Ok(message) = serde_json::from_slice::<Value>(&line.unwrap()) else { continue };
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else { continue };
        let id = if of_all || method == "tools/call" { json!(id.to_string()) } else { id.clone() };
        let result =
            if method == "initialize" { begun.clone() } else { json!({ "tools": [], "content": [] }) };
        println!("{}", json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }
}

/// A server of LSP that refuses all requests but `initialize`, and that if it does not have what it has to have. It
/// exits when it is asked to: with 1, as nothing was shut down. A slow one shuts down, and takes some time for what
/// comes then.
fn serve_lsp(is_slow: bool) {
    let mut is_down = false;
    let mut input = stdin().lock();
    let mut head = String::new();
    while input.read_line(&mut head).unwrap() > 0 {
        let Some(length) = head.trim().strip_prefix("Content-Length: ").map(str::to_owned) else {
            head.clear();
            continue;
        };
        input.skip_until(b'\n').unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        input.read_exact(&mut body).unwrap();
        let message: Value = serde_json::from_slice(&body).unwrap();
        let mut answer = json!({ "jsonrpc": "2.0", "id": message["id"] });
        match message["method"].as_str() {
            Some("initialize") if message["params"].get("processId").is_none() => {
                answer["error"] = json!({ "code": -32602, "message": "missing field `processId`" });
            }
            Some("initialize") => {
                answer["result"] = json!({ "capabilities": { "textDocumentSync": { "openClose": true } } });
            }
            Some("exit") => std::process::exit(1),
            Some("shutdown") if is_slow && !is_down => {
                is_down = true;
                answer["result"] = Value::Null;
            }
            _ => answer["error"] = json!({ "code": -32601, "message": "no such method" }),
        }
        if !message["id"].is_null() {
            if is_down && answer["error"].is_object() {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            let answer = answer.to_string();
            print!("Content-Length: {}\r\n\r\n{answer}", answer.len());
            std::io::stdout().flush().unwrap();
        }
        head.clear();
    }
}

/// Serves on the standard streams until the input ends.
pub(crate) fn serve(manner: &str) {
    match manner {
        "mcp with texts as ids" | "mcp with other ids" => {
            return serve_mcp_with_texts(manner != "mcp with other ids");
        }
        "mcp" | "mcp that complains" => return serve_mcp("2025-11-25", manner != "mcp"),
        "lsp" | "slow lsp" => return serve_lsp(manner != "lsp"),
        "mcp of another revision" => return serve_mcp("2031-01-01", false),
        "browser" | "browser without pages" => return serve_browser(manner != "browser"),
        _ => {}
    }
    if manner == "endless" {
        // It ends when its output is closed.
        let mut output = std::io::stdout().lock();
        while std::io::Write::write_all(&mut output, b"y\n").is_ok() {}
        return;
    }
    if manner == "talks" {
        println!("the counter is ready");
    }
    let mut session = match manner.split_once(' ') {
        Some(("deaf", "downloads")) => Session::of(DOWNLOADS, "correct"),
        Some((manner, "chain")) => Session::of(CHAIN, manner),
        Some((manner, "downloads")) => Session::of(DOWNLOADS, manner),
        Some((_, other)) => panic!("`{other}` is not a protocol"),
        None => Session::new(manner),
    };
    let mut input = stdin().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).unwrap() > 0 {
        for answer in session.take(&line) {
            println!("{answer}");
        }
        let is_shutdown =
            serde_json::from_slice::<Value>(&line).is_ok_and(|line| line["method"] == "shutdown");
        if is_shutdown {
            if manner.starts_with("deaf") {
                // It is there, and says nothing more.
                std::io::copy(&mut input, &mut std::io::sink()).unwrap();
            }
            return;
        }
        line.clear();
    }
}

/// What a server sends in addition to its answer: it counts by itself, or it stops after what the protocol forbids.
fn unasked(manner: &str, observed: Option<&Observed>) -> Option<Value> {
    let observed = observed?;
    let sends = |method: &str, params: Option<Value>| {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        params.into_iter().for_each(|params| message["params"] = params);
        message
    };
    match manner {
        "talks" if observed.kind == ObservedKind::Request && observed.is_clean() => {
            Some(sends("counter/add", Some(json!({ "amount": 1 }))))
        }
        "grumbles" if !observed.is_clean() => Some(sends("counter/stop", None)),
        _ => None,
    }
}

fn answer(manner: &str, line: &[u8], observed: &Observed) -> Option<Value> {
    let message: Value = serde_json::from_slice(line).unwrap_or_default();
    let result = |id: &Value| json!({ "jsonrpc": "2.0", "id": id, "result": { "count": 0 } });
    let Some(refusal) = observed.refusal() else {
        return (observed.kind == ObservedKind::Request).then(|| result(&message["id"]));
    };
    match manner {
        "correct" | "talks" | "grumbles" => match observed.kind {
            ObservedKind::Request | ObservedKind::Malformed => {
                let id = observed.id.as_ref().map(|_| message["id"].clone());
                Some(
                    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": refusal.code, "message": refusal.message } }),
                )
            }
            _ => None,
        },
        "lenient" => message.get("id").filter(|_| message.get("method").is_some()).map(result),
        "silent" => None,
        "dies" => {
            eprintln!("{}", refusal.message);
            std::process::exit(3)
        }
        "hangs" => loop {
            std::thread::park();
        },
        other => panic!("`{other}` is not a manner"),
    }
}
