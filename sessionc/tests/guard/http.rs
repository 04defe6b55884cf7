//! A guard over HTTP.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};

use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

use super::Test;
use super::client::{CALL, INITIALIZE, INITIALIZED, call_alone, guard, record, recorded, round, traced};
use super::http_server::Server;

pub(crate) const TESTS: [Test; 27] = [
    ("a_session_over_http_passes_as_it_is", || run(a_session_over_http_passes_as_it_is())),
    ("events_pass_as_they_come", || run(events_pass_as_they_come())),
    ("a_tool_call_without_a_session_is_stopped", || run(a_tool_call_without_a_session_is_stopped())),
    ("notifications_over_http_are_stopped", || run(notifications_over_http_are_stopped())),
    ("what_a_server_sends_over_http_is_stopped", || run(what_a_server_sends_over_http_is_stopped())),
    ("sixty_four_sessions_run_at_once", || run(sixty_four_sessions_run_at_once())),
    ("requests_over_http_stand_for_themselves", || run(requests_over_http_stand_for_themselves())),
    ("rounds_over_http_are_what_was_asked_for", || run(rounds_over_http_are_what_was_asked_for())),
    ("a_server_may_have_no_sessions", || run(a_server_may_have_no_sessions())),
    ("what_requests_without_a_session_have_in_common_is_said_once", || {
        run(what_requests_without_a_session_have_in_common_is_said_once())
    }),
    ("a_server_may_be_gone", || run(a_server_may_be_gone())),
    ("a_client_that_gives_up_is_reported_with_what_it_waited_for", || {
        run(a_client_that_gives_up_is_reported_with_what_it_waited_for())
    }),
    ("what_keeps_messages_from_arriving_is_reported_once", || {
        run(what_keeps_messages_from_arriving_is_reported_once())
    }),
    ("of_many_failures_the_first_are_reported_and_all_are_counted", || {
        run(of_many_failures_the_first_are_reported_and_all_are_counted())
    }),
    ("a_long_answer_that_is_not_a_reply_is_named", || run(a_long_answer_that_is_not_a_reply_is_named())),
    ("a_stream_that_cannot_be_opened_is_reported", || run(a_stream_that_cannot_be_opened_is_reported())),
    ("what_a_status_rejects_can_be_sent_again", || run(what_a_status_rejects_can_be_sent_again())),
    ("a_server_may_close_the_connection", || {
        run(a_server_may_close_the_connection());
    }),
    ("a_session_may_be_unknown", || run(a_session_may_be_unknown())),
    ("events_that_are_sent_again_are_judged_once", || run(events_that_are_sent_again_are_judged_once())),
    (
        "what_is_permitted_of_a_batch_over_http_passes",
        || run(what_is_permitted_of_a_batch_over_http_passes()),
    ),
    ("an_answer_that_is_not_a_reply_is_named", || run(an_answer_that_is_not_a_reply_is_named())),
    ("a_cancelled_request_may_stay_without_a_reply", || {
        run(a_cancelled_request_may_stay_without_a_reply());
    }),
    ("a_client_that_names_no_session_is_named", || run(a_client_that_names_no_session_is_named())),
    ("what_is_not_a_message_passes", || run(what_is_not_a_message_passes())),
    ("a_stream_that_is_resumed_goes_on", || run(a_stream_that_is_resumed_goes_on())),
    ("progress_in_one_stream_increases", || run(progress_in_one_stream_increases())),
];

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(test);
}

/// A guard that listens.
pub(crate) struct Guard {
    child: Child,
    reports: BufReader<std::process::ChildStderr>,
    pub(crate) url: String,
    client: Client,
}

impl Guard {
    pub(crate) fn start(to: &str, more: &[&str]) -> Guard {
        let arguments = [&["--protocol", "mcp", "--listen", "127.0.0.1:0", "--to", to], more].concat();
        Guard::run(guard(&arguments))
    }

    /// Starts a command, and waits until it listens.
    pub(crate) fn run(mut command: Command) -> Guard {
        let mut child = command.spawn().unwrap();
        let mut reports = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        reports.read_line(&mut line).unwrap();
        let own = line.split("http://").nth(1).unwrap().split(',').next().unwrap();
        let url = format!("http://{own}/mcp");
        Guard { child, reports, url, client: Client::builder().no_proxy().build().unwrap() }
    }

    fn post(&self, session: Option<&str>, message: &str) -> RequestBuilder {
        post(&self.client, &self.url, session, message)
    }

    /// Sends a message, and returns the status and the message that answers it.
    async fn ask(&self, session: Option<&str>, message: &str) -> (u16, Value) {
        let response = self.post(session, message).send().await.unwrap();
        (response.status().as_u16(), message_of(&response.text().await.unwrap()))
    }

    /// Goes through the handshake. Returns the session's id.
    async fn initialize(&self) -> String {
        let response = self.post(None, INITIALIZE).send().await.unwrap();
        let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        assert_eq!(self.ask(Some(&id), INITIALIZED).await.0, 202);
        id
    }

    /// Stops the guard, and returns its reports.
    pub(crate) fn stop(mut self) -> String {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
        let mut reports = String::new();
        self.reports.read_to_string(&mut reports).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        reports
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A test that fails leaves no process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn post(client: &Client, url: &str, session: Option<&str>, message: &str) -> RequestBuilder {
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(message.to_owned());
    match session {
        Some(id) => request.header("mcp-session-id", id),
        None => request,
    }
}

/// The last message of a body.
fn message_of(body: &str) -> Value {
    let line = body
        .lines()
        .map(|line| line.strip_prefix("data: ").unwrap_or(line))
        .rfind(|line| line.trim().starts_with('{'));
    line.map_or(Value::Null, |line| serde_json::from_str(line).unwrap())
}

async fn parts(response: Response) -> (u16, Vec<String>, Vec<u8>) {
    let status = response.status().as_u16();
    let headers = response.headers().iter().filter(|(name, _)| *name != "date");
    let mut headers: Vec<String> =
        headers.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    headers.sort();
    (status, headers, response.bytes().await.unwrap().to_vec())
}

async fn a_session_over_http_passes_as_it_is() {
    let path = record("http");
    let (direct, guarded) = (Server::start("correct").await, Server::start("correct").await);
    let guard = Guard::start(&guarded.url, &["--enforce", "should", "--record", path.to_str().unwrap()]);
    let mut session = None;
    for message in [INITIALIZE, INITIALIZED, CALL, r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#] {
        let own = parts(guard.post(session.as_deref(), message).send().await.unwrap()).await;
        let mut other =
            parts(post(&guard.client, &direct.url, session.as_deref(), message).send().await.unwrap()).await;
        // The servers say by what name they were called: each by its own.
        let host = |url: &str| url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        for header in &mut other.1 {
            *header = header.replace(&host(&direct.url), &host(&guarded.url));
        }
        assert_eq!(own, other, "{message}");
        session = Some("session 1".to_owned());
    }
    let deleted = guard.client.delete(&guard.url).header("mcp-session-id", "session 1").send().await.unwrap();
    assert_eq!(deleted.status().as_u16(), 204);
    assert_eq!(guard.stop(), "");
    assert_eq!(guarded.seen(), direct.seen());
    assert_eq!(recorded(&path).len(), 7);
    let text = std::fs::read_to_string(&path).unwrap();
    // And that it begins.
    assert_eq!(text.matches("\"session\": 1}").count(), 8, "{text}");
}

async fn events_pass_as_they_come() {
    let server = Server::start("slow").await;
    let guard = Guard::start(&server.url, &["--enforce"]);
    let session = guard.initialize().await;
    let call = CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}");
    let mut response = guard.post(Some(&session), &call).send().await.unwrap();
    let first = response.chunk().await.unwrap().unwrap();
    assert!(first.ends_with(b"}\r\n\r\n"), "{first:?}");
    // Only now the server may go on.
    server.go();
    let rest = response.text().await.unwrap();
    assert!(rest.contains("called"), "{rest}");
    assert_eq!(guard.stop(), "");
}

async fn a_tool_call_without_a_session_is_stopped() {
    let server = Server::start("correct").await;
    let guard = Guard::start(&server.url, &["--enforce", "should"]);
    let (status, refused) = guard.ask(None, CALL).await;
    assert_eq!((status, &refused["id"], &refused["error"]["code"]), (200, &json!(2), &json!(-32600)));
    assert_eq!(guard.ask(None, "not JSON").await.0, 400);
    assert!(server.seen().is_empty(), "nothing was passed on");
    let session = guard.initialize().await;
    assert_eq!(guard.ask(Some(&session), CALL).await.1["result"]["content"][0]["text"], "called");
    let reports = guard.stop();
    assert!(
        reports.starts_with("guard: session 1: client: refused: `tools/call` is not permitted"),
        "{reports}"
    );
    assert_eq!(reports.lines().count(), 2, "{reports}");
}

async fn notifications_over_http_are_stopped() {
    let server = Server::start("correct").await;
    let guard = Guard::start(&server.url, &["--enforce"]);
    let session = guard.initialize().await;
    let (status, refused) =
        guard.ask(Some(&session), r#"{"jsonrpc":"2.0","method":"notifications/message"}"#).await;
    assert_eq!((status, &refused["id"]), (400, &Value::Null));
    assert_eq!(server.seen().len(), 2);
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\",\"params\":{{\"x\":\"{}\"}}}}",
        "x".repeat(70_000)
    );
    assert_eq!(guard.ask(Some(&session), &long).await.1["result"], json!({}));
    guard.stop();

    let guard = Guard::start(&server.url, &["--enforce", "--max-message", "5000"]);
    let session = guard.initialize().await;
    let (status, refused) = guard.ask(Some(&session), &long).await;
    assert_eq!((status, &refused["id"]), (413, &json!(9)));
    guard.stop();

    let guard = Guard::start(&server.url, &["--max-message", "5000"]);
    let session = guard.initialize().await;
    assert_eq!(guard.ask(Some(&session), &long).await.1["result"], json!({}));
    assert!(guard.stop().contains("a message is longer than 5000 bytes"));
}

async fn what_a_server_sends_over_http_is_stopped() {
    let server = Server::start("notifies").await;
    let guard = Guard::start(&server.url, &["--enforce"]);
    let session = guard.initialize().await;
    let answer = guard.post(Some(&session), CALL).send().await.unwrap().text().await.unwrap();
    assert_eq!(answer.matches("data: ").count(), 1, "{answer}");
    assert_eq!(message_of(&answer)["id"], 2);
    assert!(guard.stop().starts_with("guard: session 1: server: dropped: "));

    let server = Server::start("strays").await;
    let guard = Guard::start(&server.url, &["--enforce"]);
    let session = guard.initialize().await;
    let (status, error) = guard.ask(Some(&session), CALL).await;
    assert_eq!((status, &error["id"], &error["error"]["code"]), (502, &json!(2), &json!(-32603)));
    guard.stop();

    // The request of the server is answered in the name of the client.
    let server = Server::start("asks").await;
    let guard = Guard::start(&server.url, &["--enforce"]);
    let session = guard.initialize().await;
    let answer = guard.post(Some(&session), CALL).send().await.unwrap().text().await.unwrap();
    assert_eq!(answer, "");
    while server.seen().len() < 4 {
        tokio::task::yield_now().await;
    }
    let answered = server.seen().pop().unwrap();
    assert_eq!((&answered["id"], &answered["error"]["code"]), (&json!("from the server"), &json!(-32600)));
    guard.stop();
}

async fn sixty_four_sessions_run_at_once() {
    let path = record("many");
    let server = Server::start("correct").await;
    let guard = std::sync::Arc::new(Guard::start(
        &server.url,
        &["--enforce", "should", "--record", path.to_str().unwrap()],
    ));
    let begun = std::sync::Arc::new(tokio::sync::Barrier::new(64));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (guard, begun) = (guard.clone(), begun.clone());
        clients.spawn(async move {
            let session = guard.initialize().await;
            // All sessions are open, with the same ids in each.
            begun.wait().await;
            for id in 2..12 {
                let call = CALL.replace("\"id\":2", &format!("\"id\":{id}"));
                let answer = guard.ask(Some(&session), &call).await.1;
                assert_eq!(
                    (&answer["id"], &answer["result"]["content"][0]["text"]),
                    (&json!(id), &json!("called"))
                );
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    let guard = std::sync::Arc::into_inner(guard).unwrap();
    assert_eq!(guard.stop(), "");
    let text = std::fs::read_to_string(&path).unwrap();
    for session in 1..=64 {
        assert_eq!(text.matches(&format!("\"session\": {session}}}")).count(), 24, "{session}");
    }
    // A record is a log that keeps the sessions apart.
    let mut trace = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    let judged = trace.args(["trace", "--protocol", "mcp"]).arg(&path).output().unwrap();
    let said = String::from_utf8(judged.stdout).unwrap();
    assert!(judged.status.success() && said.contains("64 sessions"), "{said}");
}

async fn requests_over_http_stand_for_themselves() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let request =
        |method: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{meta}}}}}"#);
    let server = Server::start("correct").await;
    let guard = Guard::start(&server.url, &["--enforce", "should"]);
    for _ in 0..3 {
        // The same id, because each stands for itself.
        assert_eq!(guard.ask(None, &request("tools/list")).await.1["result"]["tools"], json!([]));
    }
    let (status, refused) = guard.ask(None, &request("resources/subscribe")).await;
    assert_eq!((status, &refused["error"]["code"]), (404, &json!(-32601)));
    assert_eq!(server.seen().len(), 3);
    assert_eq!(guard.stop().lines().count(), 1);
}

async fn rounds_over_http_are_what_was_asked_for() {
    let server = Server::start("rounds").await;
    let guard = Guard::start(&server.url, &["--enforce"]);
    let ask = async |id, more: Value| guard.ask(None, &call_alone(id, &more).to_string()).await.1;
    // What others may have asked for is not judged.
    assert_eq!(ask(9, round("s0", "why")).await["result"]["content"][0]["text"], "Hello ");
    assert_eq!(ask(1, json!({})).await["result"]["requestState"], "s1");
    let mut no_state = round("s1", "who");
    no_state.as_object_mut().unwrap().remove("requestState");
    for (id, more, says) in [
        (2, round("s2", "who"), "carries another `requestState`"),
        (2, no_state, "carries no `requestState`, but the server has given one"),
        (2, round("s1", "why"), "has no `who` in `inputResponses`"),
        (1, round("s1", "who"), "that it repeats"),
    ] {
        let refused = ask(id, more).await;
        assert!(refused["error"]["message"].as_str().unwrap().contains(says), "{refused}");
    }
    assert_eq!(ask(4, round("s1", "who")).await["result"]["content"][0]["text"], "Hello Ada");
    // Another guard, or one before this one, may have passed on what has asked for this.
    assert_eq!(ask(5, round("s0", "why")).await["result"]["content"][0]["text"], "Hello ");
    assert_eq!(server.seen().len(), 4);
    assert_eq!(guard.stop().lines().count(), 4);
}

async fn a_server_may_have_no_sessions() {
    let server = Server::start("sessionless").await;
    let guard = Guard::start(&server.url, &["--enforce", "should"]);
    assert_eq!(guard.ask(None, CALL).await.1["error"]["code"], -32600);
    for _ in 0..2 {
        assert_eq!(guard.ask(None, INITIALIZE).await.1["id"], 1);
        assert_eq!(guard.ask(None, INITIALIZED).await.0, 202);
        assert_eq!(guard.ask(None, CALL).await.1["result"]["content"][0]["text"], "called");
        assert_eq!(
            guard.ask(None, &CALL.replace("tools/call", "prompts/list")).await.1["error"]["code"],
            -32601
        );
    }
    let reports = guard.stop();
    assert_eq!(reports.lines().count(), 3, "{reports}");
}

/// Each of them is judged by itself, and their mistake is one all the same.
async fn what_requests_without_a_session_have_in_common_is_said_once() {
    let server = Server::start("sessionless").await;
    for request in [CALL.to_owned(), call_alone(2, &json!({})).to_string()] {
        let request = request.replace("tools/call", "tools/unheard-of");
        let guard = Guard::start(&server.url, &[]);
        for opening in [INITIALIZE, INITIALIZED] {
            guard.ask(None, opening).await;
        }
        for _ in 0..12 {
            guard.ask(None, &request).await;
        }
        let reports = guard.stop();
        let said: Vec<&str> = reports.lines().filter(|line| line.contains("`tools/unheard-of`")).collect();
        let [first, so_far, in_all] = said[..] else { panic!("{request}: {reports}") };
        assert!(first.starts_with("guard: session 3: client: "), "{first}");
        let what = first.strip_prefix("guard: session 3: ").unwrap();
        assert_eq!(so_far, format!("guard: 9 more like this so far: {what}"));
        assert_eq!(in_all, format!("guard: 11 more like this in all: {what}"));
    }
}

async fn a_server_may_be_gone() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", gone.local_addr().unwrap());
    drop(gone);
    let guard = Guard::start(&url, &[]);
    let (status, error) = guard.ask(None, INITIALIZE).await;
    assert_eq!((status, &error["id"], &error["error"]["code"]), (502, &json!(1), &json!(-32603)));
    let message = error["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("cannot be reached") && message.ends_with("start it, or correct `--to`"),
        "{message}"
    );
    guard.stop();

    let server = Server::start("breaks").await;
    let guard = Guard::start(&server.url, &[]);
    let session = guard.initialize().await;
    let mut response = guard
        .post(Some(&session), &CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}"))
        .send()
        .await
        .unwrap();
    assert!(response.chunk().await.unwrap().is_some());
    server.go();
    assert!(response.bytes().await.is_err(), "the stream breaks as it would without a guard");
    // The session is as it was.
    assert_eq!(guard.ask(Some(&session), r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#).await.1["id"], 3);
    guard.stop();
}

async fn what_a_status_rejects_can_be_sent_again() {
    let path = record("rejected");
    let server = Server::start("rejects").await;
    let guard = Guard::start(&server.url, &["--enforce", "should", "--record", path.to_str().unwrap()]);
    assert_eq!(guard.post(None, INITIALIZE).send().await.unwrap().status(), 401);
    let begun = guard.post(None, INITIALIZE).send().await.unwrap();
    let id = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let session = Some(id.as_str());
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    let list = CALL.replace("tools/call", "tools/list").replace("\"id\":2", "\"id\":3");
    for (message, rejected) in [(INITIALIZED, 401), (CALL, 401), (&list, 503), (ping, 403)] {
        assert_eq!(guard.ask(session, message).await.0, rejected, "{message}");
        let (status, answer) = guard.ask(session, message).await;
        assert!(status < 300 && answer["error"].is_null(), "{message}: {status} {answer}");
    }
    // The server's request is answered twice, too.
    let listen = guard.client.get(&guard.url).header("accept", "text/event-stream");
    let asked = listen.header("mcp-session-id", &id).send().await.unwrap().text().await.unwrap();
    assert!(asked.contains("\"ping\""), "{asked}");
    let pong = r#"{"jsonrpc":"2.0","id":"s","result":{}}"#;
    assert_eq!(guard.ask(session, pong).await.0, 401);
    assert_eq!(guard.ask(session, pong).await.0, 202);
    // What was accepted has used its id.
    assert_eq!(guard.ask(session, CALL).await.1["error"]["code"], -32600);
    let reports = guard.stop();
    assert_eq!(reports.matches("which the client has used before").count(), 1, "{reports}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("-32603"), "no peer has sent it: {text}");
    let note = "not received: the server has answered with the status 401 Unauthorized";
    assert_eq!(text.matches(note).count(), 4, "{text}");
    // The record says enough to judge it once more.
    let expected = [("method", "server"), ("correlation", "client")];
    assert_eq!(traced(&path), expected.map(|(code, blame)| (code.to_owned(), blame.to_owned())), "{text}");
}

async fn a_server_may_close_the_connection() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            // It reads the request, and closes the connection.
            let mut request = [0; 1024];
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut request).await;
        }
    });
    let guard = Guard::start(&url, &["--enforce"]);
    let (status, error) = guard.ask(None, INITIALIZE).await;
    assert_eq!((status, &error["id"]), (502, &json!(1)));
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains(" has not answered the request: ") && !message.contains("--to"), "{message}");
    guard.stop();
}

/// Starts a server that answers each request with this, which it gets the number of, and closes the connection.
async fn start_answering(answer: impl Fn(u64) -> String + Send + 'static) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for number in 1.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut request).await;
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer(number).as_bytes()).await;
        }
    });
    url
}

async fn of_many_failures_the_first_are_reported_and_all_are_counted() {
    let varied = |number| {
        let body = format!("no {number}");
        format!("HTTP/1.1 500 Oops\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let plain = |_| "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nup".to_owned();
    // So many that differ are reported in any case: a server has a few causes of failures.
    for (url, known) in [(start_answering(varied).await, 64), (start_answering(plain).await, 0)] {
        let guard = Guard::start(&url, &[]);
        for _ in 0..known + 120 {
            guard.post(None, INITIALIZE).send().await.unwrap();
        }
        let reports = guard.stop();
        let lines: Vec<&str> = reports.lines().collect();
        let [whole @ .., first, last] = &lines[..] else { panic!("{reports}") };
        assert_eq!((whole.len(), whole.iter().any(|line| line.contains("so far"))), (known + 100, false));
        let said = "failures of single exchanges over HTTP so far";
        assert!(
            first.contains(&format!(": 101 {said}")) && last.contains(&format!(": 120 {said}")),
            "{reports}"
        );
    }
}

async fn a_long_answer_that_is_not_a_reply_is_named() {
    let answer = |body: String| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    // A client may read the second all the same.
    for (beginning, status) in [("up", 200), (r#"{"jsonrpc":"2.0","id":1,"result":{"a":""#, 502)] {
        let body = format!("{beginning}{}", "x".repeat(300_000));
        let url = start_answering(move |_| answer(body.clone())).await;
        let guard = Guard::start(&url, &["--enforce", "--max-message", "4096"]);
        let response = guard.post(None, INITIALIZE).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        let reports = guard.stop();
        let said = "the answer to the request 1 has the content type `text/plain`: send `application/json`";
        assert!(reports.contains(said), "{reports}");
        assert_eq!(reports.contains("is longer than 4096 bytes"), status == 502, "{reports}");
    }
}

async fn a_stream_that_cannot_be_opened_is_reported() {
    let guard = Guard::start(&start_answering(|_| String::new()).await, &[]);
    for _ in 0..2 {
        let opened = guard.client.get(&guard.url).header("accept", "text/event-stream").send().await.unwrap();
        assert_eq!(opened.status().as_u16(), 502);
    }
    let reports = guard.stop();
    assert!(reports.contains(" has not answered the request: "), "{reports}");
    assert_eq!(reports.lines().count(), 2, "{reports}");
    assert!(reports.contains("guard: 1 more like this in all: "), "{reports}");
}

async fn what_keeps_messages_from_arriving_is_reported_once() {
    for (answer, status, said) in [
        (
            "HTTP/1.1 500 Oops\r\nContent-Length: 9\r\n\r\n<p>no</p>",
            500,
            "500 Internal Server Error, and says `<p>no</p>`",
        ),
        (
            "HTTP/1.1 307 Moved\r\nLocation: /mcp/\r\nContent-Length: 0\r\n\r\n",
            307,
            "which redirects it to `/mcp/`, where it is not judged: give that address with `--to`",
        ),
        ("HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n", 404, "correct the path of `--to`"),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
            502,
            "the server broke off its answer: ",
        ),
        ("", 502, " has not answered the request: "),
    ] {
        let guard = Guard::start(&start_answering(|_| answer.to_owned()).await, &[]);
        let client =
            Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        for _ in 0..2 {
            let response = post(&client, &guard.url, None, INITIALIZE).send().await.unwrap();
            assert_eq!(response.status().as_u16(), status, "{answer}");
        }
        let reports = guard.stop();
        let [first, second] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{answer}: {reports}") };
        assert!(first.contains(said), "{answer}: {reports}");
        assert_eq!(second, first.replacen("guard: ", "guard: 1 more like this in all: ", 1));
    }
}

async fn a_client_that_gives_up_is_reported_with_what_it_waited_for() {
    // The server keeps the request, or has begun to answer it.
    for begun in ["", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let guard = Guard::start(&url, &[]);
        let asked = tokio::spawn(guard.post(None, INITIALIZE).send());
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 1024]).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, begun.as_bytes()).await.unwrap();
        asked.abort();
        assert!(asked.await.is_err());
        // The guard closes its side when it has seen that.
        while tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
        let reports = guard.stop();
        let said = "guard: session 1: the server had not answered the request 1 when the connection of the client was closed\n";
        assert_eq!(reports, said, "{begun}");
    }
}

async fn a_session_may_be_unknown() {
    let server = Server::start("correct").await;
    let first = Guard::start(&server.url, &[]);
    let session = first.initialize().await;
    first.stop();
    let guard = Guard::start(&server.url, &[]);
    for _ in 0..2 {
        assert_eq!(guard.ask(Some(&session), CALL).await.1["id"], 2);
    }
    let reports = guard.stop();
    assert_eq!(reports.matches("a session is not judged").count(), 1, "{reports}");
    let guard = Guard::start(&server.url, &["--enforce"]);
    assert_eq!(guard.ask(Some(&session), CALL).await.0, 404);
    assert_eq!(
        guard.client.get(&guard.url).header("mcp-session-id", &session).send().await.unwrap().status(),
        404
    );
    guard.stop();
}

async fn events_that_are_sent_again_are_judged_once() {
    let server = Server::start("correct").await;
    let guard = Guard::start(&server.url, &[]);
    let session = guard.initialize().await;
    let listen = || {
        guard.client.get(&guard.url).header("accept", "text/event-stream").header("mcp-session-id", &session)
    };
    let first = listen().send().await.unwrap().text().await.unwrap();
    let again = listen().header("last-event-id", "0").send().await.unwrap().text().await.unwrap();
    assert_eq!(first, again);
    let reports = guard.stop();
    assert_eq!(reports.lines().count(), 1, "{reports}");
}

async fn what_is_permitted_of_a_batch_over_http_passes() {
    let server = Server::start("correct").await;
    let guard = Guard::start(&server.url, &["--enforce", "should"]);
    let begun = guard.post(None, &INITIALIZE.replace("2025-11-25", "2025-03-26")).send().await.unwrap();
    let session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    assert_eq!(guard.ask(Some(&session), INITIALIZED).await.0, 202);
    let (ping, list) =
        (json!({ "jsonrpc": "2.0", "id": 6, "method": "ping" }), CALL.replace("tools/call", "prompts/list"));
    // The server accepts batches and answers none.
    let (status, refused) = guard.ask(Some(&session), &format!("[{list},{ping}]")).await;
    assert_eq!((status, &refused["id"]), (200, &json!(2)));
    assert_eq!(server.seen().pop(), Some(json!([ping])));
    assert_eq!(guard.stop().lines().count(), 1);
}

async fn an_answer_that_is_not_a_reply_is_named() {
    for (manner, what) in [
        (
            "plain",
            "the answer to the request 2 has the content type `text/plain`: send `application/json` or",
        ),
        (
            "eventless",
            "the stream that answers the request 2 ends without the reply: write each message behind",
        ),
        ("empty", "the answer to the request 2 is empty: send the reply in it"),
    ] {
        let server = Server::start(manner).await;
        let path = record(manner);
        let guard = Guard::start(&server.url, &["--record", path.to_str().unwrap()]);
        assert_eq!(guard.ask(None, INITIALIZE).await.0, 200);
        assert_eq!(guard.ask(None, INITIALIZED).await.0, 202);
        assert_eq!(guard.ask(None, CALL).await.0, 200);
        let reports = guard.stop();
        let [only] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{manner}: {reports}") };
        assert!(only.contains(what), "{only}");
        assert!(traced(&path).contains(&("form".to_owned(), "server".to_owned())), "{:?}", traced(&path));
    }
}

async fn a_cancelled_request_may_stay_without_a_reply() {
    for is_cancelled in [true, false] {
        let server = Server::start("forgets").await;
        let guard = Guard::start(&server.url, &[]);
        let session = guard.initialize().await;
        let call = CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}");
        let answer = guard.post(Some(&session), &call).send().await.unwrap();
        if is_cancelled {
            let params = json!({ "requestId": 2 });
            let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            assert_eq!(guard.ask(Some(&session), &cancel.to_string()).await.0, 202);
        }
        server.go();
        answer.text().await.unwrap();
        let reports = guard.stop();
        assert_eq!(reports.contains("ends without the reply"), !is_cancelled, "{reports}");
    }
}

async fn a_client_that_names_no_session_is_named() {
    let server = Server::start("lenient").await;
    let guard = Guard::start(&server.url, &[]);
    assert_eq!(guard.ask(None, INITIALIZE).await.0, 200);
    assert_eq!(guard.ask(None, INITIALIZED).await.0, 202);
    for id in 2..5 {
        assert_eq!(guard.ask(None, &CALL.replace("2,", &format!("{id},"))).await.0, 200);
    }
    let reports = guard.stop();
    let [only] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{reports}") };
    assert!(only.contains("the client has to send the `Mcp-Session-Id` that came with the result"), "{only}");
}

async fn what_is_not_a_message_passes() {
    let server = Server::start("correct").await;
    let guard = Guard::start(&server.url, &["--enforce", "should"]);
    let other = guard.url.replace("/mcp", "/register");
    let response = guard.client.post(&other).body("{\"client_name\":\"x\"}").send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "something else at /register");
    // Another spelling of the endpoint is the endpoint.
    let other = guard.url.replace("/mcp", "//mcp/");
    assert_eq!(guard.client.post(&other).body("{}").send().await.unwrap().status(), 400);
    // A name that is not the guard's reaches the server, which can refuse it.
    let foreign = guard.post(None, INITIALIZE).header("host", "evil.example").send().await.unwrap();
    assert_eq!(foreign.headers()["x-host"], "evil.example");
    guard.stop();
}

async fn progress_in_one_stream_increases() {
    let call = CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}");
    let server = Server::start("stands still").await;
    let guard = Guard::start(&server.url, &[]);
    let session = guard.initialize().await;
    guard.ask(Some(&session), &call).await;
    let reports = guard.stop();
    let [stays, decreases] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{reports}") };
    let said = "server: the progress of the request 2";
    assert!(stays.contains(&format!("{said} does not increase: 5 follows 5: increase")), "{reports}");
    assert!(decreases.contains(&format!("{said} decreases: 4 follows 5: increase")), "{reports}");

    let server = Server::start("reports late").await;
    let guard = Guard::start(&server.url, &["--enforce"]);
    let session = guard.initialize().await;
    let (_, last) = guard.ask(Some(&session), &call).await;
    assert!(last["result"].is_object(), "{last}");
    let reports = guard.stop();
    assert!(reports.contains("dropped: `notifications/progress` carries the token 7"), "{reports}");
    assert_eq!(reports.lines().count(), 1, "{reports}");
}

/// What follows in the stream that resumes another one follows what came there. In a stream of its own it does not.
async fn a_stream_that_is_resumed_goes_on() {
    let call = CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}");
    for last in [Some("1"), None] {
        let server = Server::start("resumes").await;
        let guard = Guard::start(&server.url, &[]);
        let session = guard.initialize().await;
        guard.post(Some(&session), &call).send().await.unwrap().text().await.unwrap();
        let mut listen = guard.client.get(&guard.url).header("mcp-session-id", &session);
        listen = last.into_iter().fold(listen, |listen, last| listen.header("last-event-id", last));
        listen.send().await.unwrap().text().await.unwrap();
        let reports = guard.stop();
        let stays = reports.contains("the progress of the request 2 does not increase: 3 follows 3");
        assert_eq!(stays, last.is_some(), "{reports}");
        assert!(reports.contains("the progress of the request 2 decreases: 2 follows 3"), "{reports}");
    }
}
