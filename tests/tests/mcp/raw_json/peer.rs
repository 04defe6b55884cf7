//! A client of raw text against the quickstart's server: as a child process, and in memory, where its reports can be
//! read as well.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::driver::Limits;
use mcp_runtime::transport::ByteStream;
use mcp_runtime::{Options, Report};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines, duplex, split};
use tokio::process::{Child, Command};

use test_support::raw::Wire;

use super::server::serve_session;

/// Fails a test that hangs; nothing else depends on the time.
const GUARD: Duration = Duration::from_secs(120);

/// Reports of the server in memory that the test has not taken yet.
type Reports = Arc<Mutex<VecDeque<String>>>;

/// One session with the server.
pub(crate) struct Peer {
    writer: Box<dyn AsyncWrite + Unpin + Send>,
    lines: Lines<BufReader<Box<dyn AsyncRead + Unpin + Send>>>,
    reports: Option<Reports>,
    child: Option<Child>,
    pings: u32,
}

impl Peer {
    /// The same server, reached in both ways.
    pub(crate) fn both() -> [Peer; 2] {
        [Peer::child(), Peer::memory()]
    }

    /// The server as a process of its own.
    pub(crate) fn child() -> Peer {
        let mut child = Command::new(integration_tests::example::program("quickstart"))
            .arg("--serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the example can be started");
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let mut peer = Peer::new(output, input);
        peer.child = Some(child);
        peer
    }

    /// The server on this thread.
    pub(crate) fn memory() -> Peer {
        Peer::memory_with(|wire, options| async move {
            // How it ends is the tests' to look at from outside.
            let _ = serve_session(wire, options).await;
        })
    }

    /// Another server on this thread.
    pub(crate) fn memory_with<F>(serve: impl FnOnce(Wire, Options) -> F) -> Peer
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (near, far) = duplex(1 << 16);
        let reports = Reports::default();
        let seen = Arc::clone(&reports);
        let options = Options::default().on_report(move |report: &Report| {
            // The handlers of these tests leave out what a test does not ask.
            if !matches!(report, Report::Unhandled { .. }) {
                seen.lock().unwrap().push_back(report.to_string());
            }
        });
        test_support::spawn(serve(ByteStream::new(far).limits(Limits::NONE), options));
        let (reader, writer) = split(near);
        let mut peer = Peer::new(reader, writer);
        peer.reports = Some(reports);
        peer
    }

    fn new(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Peer {
        let reader: Box<dyn AsyncRead + Unpin + Send> = Box::new(reader);
        let lines = BufReader::new(reader).lines();
        Peer { writer: Box::new(writer), lines, reports: None, child: None, pings: 0 }
    }

    /// Sends a line.
    pub(crate) async fn say(&mut self, line: impl AsRef<[u8]>) {
        self.say_bytes(line).await;
        self.say_bytes("\n").await;
    }

    /// Sends bytes as they are.
    pub(crate) async fn say_bytes(&mut self, bytes: impl AsRef<[u8]>) {
        guarded(async {
            self.writer.write_all(bytes.as_ref()).await.unwrap();
            self.writer.flush().await.unwrap();
        })
        .await;
    }

    /// The next message; nothing at the end of the stream.
    pub(crate) async fn hear_any(&mut self) -> Option<Value> {
        let line = guarded(self.lines.next_line()).await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// The next message.
    pub(crate) async fn hear(&mut self) -> Value {
        self.hear_any().await.expect("the server goes on")
    }

    /// Sends a line and gives the next message.
    pub(crate) async fn ask(&mut self, line: impl AsRef<[u8]>) -> Value {
        self.say(line).await;
        self.hear().await
    }

    /// Sends a line that is answered with an error, and reported; the server then goes on.
    pub(crate) async fn refused(
        &mut self,
        line: impl AsRef<[u8]>,
        id: Value,
        code: i64,
        words: &[&str],
    ) -> Value {
        let shown = String::from_utf8_lossy(line.as_ref()).chars().take(200).collect::<String>();
        let answer = self.ask(line).await;
        assert_refused(&answer, &id, code, words, &shown);
        self.reported(&[""]);
        self.lives().await;
        answer
    }

    /// Sends a line that gets no answer; reported are exactly those things that contain these words.
    pub(crate) async fn ignored(&mut self, line: impl AsRef<[u8]>, reports: &[&str]) {
        self.say(line).await;
        self.lives().await;
        self.reported(reports);
    }

    /// The next good message works: nothing comes before the answer to a ping.
    pub(crate) async fn lives(&mut self) {
        self.pings += 1;
        let id = format!("ping {}", self.pings);
        let answer = self.ask(request(&*id, "ping", Value::Null)).await;
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    }

    /// Checks what was reported since this was last asked, where reports can be read.
    pub(crate) fn reported(&mut self, expected: &[&str]) {
        let Some(reports) = &self.reports else { return };
        let reports = std::mem::take(&mut *reports.lock().unwrap());
        assert_eq!(reports.len(), expected.len(), "{reports:?}");
        for (report, words) in reports.iter().zip(expected) {
            assert!(report.contains(words), "{report:?} does not contain {words:?}");
        }
    }

    /// Shakes hands up to the result of `initialize`.
    pub(crate) async fn initialize(&mut self) {
        let answer = self.ask(initialize("hello")).await;
        assert_eq!(answer["id"], json!("hello"));
        assert_eq!(answer["result"]["protocolVersion"], json!("2025-03-26"), "{answer}");
        self.reported(&[]);
    }

    /// Shakes hands to the end.
    pub(crate) async fn open(&mut self) {
        self.initialize().await;
        self.ignored(notification("notifications/initialized", Value::Null), &[]).await;
    }

    /// Says nothing more, and gives what the server still says until it is gone, of its own accord.
    pub(crate) async fn leave(mut self) -> Vec<Value> {
        self.writer.shutdown().await.unwrap();
        self.writer = Box::new(tokio::io::sink());
        let mut rest = Vec::new();
        while let Some(message) = self.hear_any().await {
            rest.push(message);
        }
        if let Some(mut child) = self.child.take() {
            let status = guarded(child.wait()).await.unwrap();
            assert!(status.success(), "the server left with {status}");
        }
        rest
    }
}

/// Checks that a message is an error reply.
#[track_caller]
pub(crate) fn assert_refused(answer: &Value, id: &Value, code: i64, words: &[&str], shown: &str) {
    assert_eq!(answer["jsonrpc"], json!("2.0"), "{shown}");
    assert!(answer.get("id").is_some(), "an error reply has an id, if only `null`: {answer}");
    assert_eq!((&answer["id"], &answer["error"]["code"]), (id, &json!(code)), "{shown}: {answer}");
    let message = answer["error"]["message"].as_str().expect("an error has a message");
    for word in words {
        assert!(message.contains(word), "{shown}: {message:?} does not contain {word:?}");
    }
}

/// A request as a line; `null` leaves the params out.
pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    let mut message = json!({"jsonrpc": "2.0", "id": id.into(), "method": method});
    if !params.is_null() {
        message["params"] = params;
    }
    message.to_string()
}

/// A notification as a line; `null` leaves the params out.
pub(crate) fn notification(method: &str, params: Value) -> String {
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    if !params.is_null() {
        message["params"] = params;
    }
    message.to_string()
}

/// An `initialize` of a client that has a model.
pub(crate) fn initialize(id: impl Into<Value>) -> String {
    let params = json!({
        "protocolVersion": "2025-03-26",
        "capabilities": {"sampling": {}},
        "clientInfo": {"name": "raw", "version": "1.0.0"},
    });
    request(id, "initialize", params)
}

/// A call of the tool that says it again.
pub(crate) fn echo(id: impl Into<Value>, message: &str) -> String {
    request(id, "tools/call", json!({"name": "echo", "arguments": {"message": message}}))
}

async fn guarded<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(GUARD, work).await.expect("the test hangs")
}
