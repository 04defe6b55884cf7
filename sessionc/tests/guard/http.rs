//! Sessions over HTTP, with an id and without one.

use std::process::Command;

use serde_json::{Value, json};

use super::Test;
use super::client::{CALL, INITIALIZE, INITIALIZED, call_alone, record, recorded, round};
use super::http_guard::{Guard, message_of, parts, post, run};
use super::http_server::Server;

pub(crate) const TESTS: [Test; 14] = [
    ("a_session_over_http_passes_as_it_is", || run(a_session_over_http_passes_as_it_is())),
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
    ("a_session_that_has_ended_is_not_reported", || run(a_session_that_has_ended_is_not_reported())),
    ("a_session_may_be_unknown", || run(a_session_may_be_unknown())),
    (
        "what_is_permitted_of_a_batch_over_http_passes",
        || run(what_is_permitted_of_a_batch_over_http_passes()),
    ),
    ("a_client_that_names_no_session_is_named", || run(a_client_that_names_no_session_is_named())),
    ("what_is_not_a_message_passes", || run(what_is_not_a_message_passes())),
];

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

/// A client may open its stream again because the server has ended it with the session.
async fn a_session_that_has_ended_is_not_reported() {
    for words in [&["--enforce", "should"][..], &[]] {
        let server = Server::start("correct").await;
        let guard = Guard::start(&server.url, words);
        let session = guard.initialize().await;
        let delete = || guard.client.delete(&guard.url).header("mcp-session-id", &session).send();
        assert_eq!(delete().await.unwrap().status(), 204);
        let opened = guard.client.get(&guard.url).header("mcp-session-id", &session).send().await.unwrap();
        // This server opens a stream for everyone.
        assert_eq!(opened.status(), if words.is_empty() { 200 } else { 404 });
        assert_eq!(guard.ask(Some(&session), CALL).await.0, 404);
        // Those of others are not known, with their end and without it.
        let other = guard.client.delete(&guard.url).header("mcp-session-id", "another").send().await.unwrap();
        assert_eq!(other.status(), 404);
        assert_eq!(guard.ask(Some("another"), CALL).await.0, 404);
        let report = "guard: a session is not judged, because it began before the guard or was forgotten\n";
        assert_eq!(guard.stop(), report);
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
