//! Checks of the head of a request, and of the form of its body.

use mcp_runtime::transport::http::ServerOptions;
use serde_json::json;

use super::recorder::Recorder;
use super::test_server::{TestServer, guarded, initialize, initialized, list};
use super::wire::Ask;

/// The status of a request over a connection of its own.
async fn status(host: &TestServer, ask: Ask) -> u16 {
    host.ask(&ask).await.head.status
}

#[tokio::test(start_paused = true)]
async fn each_fault_has_its_status() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let good = Ask::post(list(1)).session(&id);
        let cases = [
            (200, good.clone()),
            (200, good.clone().with("accept", "*/*")),
            (200, good.clone().with("content-type", "application/json; charset=utf-8")),
            (
                202,
                Ask::post(
                    json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}),
                )
                .session(&id),
            ),
            (
                202,
                Ask::post(json!({"jsonrpc":"2.0","id":99,"result":{}}))
                    .session(&id)
                    .with("origin", "http://localhost:3000"),
            ),
            (400, Ask::post(list(1))),
            (400, Ask::post(initialized())),
            (400, Ask::post("{").session(&id)),
            (400, Ask::post("").session(&id).with("content-length", "0")),
            (400, Ask::post("not json")),
            (400, Ask::post(json!({"jsonrpc":"2.0","method":7})).session(&id)),
            (400, Ask::post(initialized()).session(&id)),
            (400, good.clone().with("mcp-protocol-version", "1999-01-01")),
            (400, Ask::get()),
            (400, Ask::get().session(&id).with("last-event-id", "nonsense")),
            (400, Ask::get().session(&id).with("last-event-id", "p999-1")),
            (400, Ask::method("DELETE")),
            (403, good.clone().with("origin", "http://evil.example")),
            (403, good.clone().with("origin", "null")),
            (403, good.clone().with("host", "evil.example")),
            (403, Ask::get().session(&id).with("host", "localhost.evil.example:80")),
            (403, Ask::method("DELETE").session(&id).with("origin", "https://evil.example")),
            (404, Ask::post(list(1)).session("00000000000000000000000000000000")),
            (404, Ask::post(initialize(1)).session("no-such-session")),
            (404, Ask::get().session("no-such-session")),
            (404, Ask::method("DELETE").session("no-such-session")),
            (405, Ask::method("PUT").session(&id)),
            (405, Ask::method("OPTIONS")),
            (405, Ask::method("PATCH")),
            (406, good.clone().with("accept", "application/json")),
            (406, good.clone().with("accept", "text/event-stream")),
            (406, good.clone().with("accept", "text/html")),
            (406, Ask::get().session(&id).with("accept", "application/json")),
            (415, good.clone().with("content-type", "text/plain")),
            (415, good.clone().without("content-type")),
            (415, good.clone().with("content-type", "")),
            (415, good.clone().with("content-type", "application/x-www-form-urlencoded")),
            (415, good.clone().with("content-encoding", "gzip")),
            (200, good.clone().with("content-encoding", "identity")),
            // A proxy may have looked at the other one.
            (400, good.clone().and("host", "127.0.0.1")),
            (400, good.clone().and("host", "evil.example")),
            (400, good.clone().and("mcp-session-id", &id)),
            (400, good.clone().and("mcp-session-id", "no-such-session")),
            (400, good.clone().and("content-type", "text/plain")),
            (
                400,
                good.clone()
                    .and("mcp-protocol-version", "2025-03-26")
                    .and("mcp-protocol-version", "2025-06-18"),
            ),
            (400, Ask::get().session(&id).and("last-event-id", "g1-0").and("last-event-id", "g1-1")),
            (403, good.clone().and("origin", "http://localhost").and("origin", "http://evil.example")),
            // Names that are this machine's in some programs' eyes only.
            (403, good.clone().with("host", "localhost.")),
            (403, good.clone().with("host", "user@localhost")),
            (403, good.clone().with("host", "127.0.0.1@evil.example")),
            (403, good.clone().with("host", "[::1")),
            (403, good.clone().with("host", "")),
            (403, good.clone().with("host", "lócalhost")),
            (403, good.clone().with("origin", "http://localhost:80@evil.example")),
            (403, good.clone().with("origin", "http://lócalhost")),
            (200, good.clone().with("host", "LocalHost:1")),
            (200, good.clone().with("host", "[::1]:8080").with("origin", "http://[::1]:8080")),
            // The address of the request counts as much as the header.
            (200, good.clone().target("http://127.0.0.1:8080/mcp")),
            (403, good.clone().target("http://evil.example/mcp")),
            (403, good.clone().target("http://user@127.0.0.1/mcp")),
            // A page of another origin has to ask first, and is not told that it may.
            (
                405,
                Ask::method("OPTIONS")
                    .with("origin", "http://localhost:3000")
                    .with("access-control-request-method", "POST")
                    .with("access-control-request-headers", "content-type,mcp-session-id"),
            ),
            (404, good.clone().session("")),
            (404, good.clone().session("séance")),
            (404, good.clone().session(&"0".repeat(100_000))),
            (400, good.clone().with("mcp-protocol-version", "")),
            (400, good.clone().with("mcp-protocol-version", "2025-03-26, 2025-06-18")),
            (400, good.clone().with("mcp-protocol-version", "é")),
            (400, Ask::get().session(&id).with("last-event-id", "")),
        ];
        for (expected, ask) in cases {
            let text = ask.text();
            let answer = host.ask(&ask).await;
            assert_eq!(answer.head.status, expected, "{text}\n{answer:?}");
            assert_eq!(answer.head.get("access-control-allow-origin"), None, "{text}");
            if expected >= 400 {
                // Whose message was not read, or was none, has no id to be told.
                let (id, error) = (&answer.json()["id"], &answer.json()["error"]);
                assert!(id.is_null() || (expected == 400 && *id == 1), "{text}");
                assert!(error["message"].is_string(), "{text}");
            }
        }
        assert_eq!(host.ask(&Ask::method("PUT")).await.head.get("allow"), Some("GET, POST, DELETE"));
        // Such an answer does not have a body.
        let mut wire = host.wire().await;
        wire.send(&Ask::method("HEAD").session(&id).text()).await;
        assert_eq!(wire.head().await.unwrap().status, 405);
        assert_eq!(wire.ask(&good).await.head.status, 200);
        // Nothing of all that has hurt the session, and nothing has begun another.
        assert_eq!(status(&host, good).await, 200);
        assert_eq!(host.server.session_count(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_is_answered_by_its_id() {
    guarded(async {
        let host = TestServer::start();
        // Some clients ask this before anything else, and wait for the answer by its id.
        for id in [json!(0), json!("first")] {
            let discover = json!({ "jsonrpc": "2.0", "id": id, "method": "server/discover", "params": {} });
            let answer = host.ask(&Ask::post(&discover)).await;
            assert_eq!((answer.head.status, &answer.json()["id"]), (400, &id));
            assert_eq!(
                answer.json()["error"]["message"],
                "a session begins with `initialize`, and every later request names it in `mcp-session-id`"
            );
        }
        // What is wrong with a message leaves its id readable; a reply is the answer of nothing.
        let garbled = r#"{"jsonrpc":"2.0","id":7,"method":8}"#;
        assert_eq!(host.ask(&Ask::post(garbled)).await.json()["id"], 7);
        let reply = json!({ "jsonrpc": "2.0", "id": 7, "result": {} });
        assert_eq!(host.ask(&Ask::post(&reply)).await.json()["id"], json!(null));
        assert_eq!(host.server.session_count(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_known_version_is_accepted_in_the_head() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
            let ask = Ask::post(list(1)).session(&id).with("mcp-protocol-version", version);
            assert_eq!(status(&host, ask).await, 200, "{version}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn bodies_have_a_limit() {
    guarded(async {
        let options = ServerOptions::default().max_body_bytes(1000);
        let host = TestServer::with(options);
        let id = host.ready().await;
        let long = json!({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x".repeat(2000)}});
        assert_eq!(status(&host, Ask::post(&long).session(&id)).await, 413);
        // Of one that says that it is too long nothing is waited for.
        let mut wire = host.wire().await;
        wire.send(&Ask::post("").session(&id).with("content-length", "1001").head()).await;
        assert_eq!(wire.head().await.unwrap().status, 413);
        // This one does not announce its length.
        let mut wire = host.wire().await;
        wire.send(&Ask::post("").session(&id).pieces().head()).await;
        for _ in 0..20 {
            wire.send(&format!("64\r\n{}\r\n", "x".repeat(100))).await;
        }
        assert_eq!(wire.head().await.unwrap().status, 413);
        assert_eq!(status(&host, Ask::post(list(2)).session(&id)).await, 200);
    })
    .await;
}

#[tokio::test]
async fn heads_have_a_limit() {
    guarded(async {
        let host = TestServer::listening().await;
        let ask = |bytes| Ask::get().with("x-long", &"x".repeat(bytes));
        assert_eq!(host.ask(&ask(30 * 1024)).await.head.status, 400, "it names no session");
        assert_eq!(host.ask(&ask(100 * 1024)).await.head.status, 431);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_setting_refuses_is_warned_of_without_what_was_said() {
    guarded(async {
        let recorder = Recorder::here();
        let host = TestServer::with(ServerOptions::default().max_body_bytes(1000));
        let id = host.ready().await;
        let good = Ask::post(list(1)).session(&id);
        let long = json!({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x".repeat(2000)}});
        assert_eq!(status(&host, good.clone().with("host", "evil.example")).await, 403);
        assert_eq!(status(&host, good.clone().with("origin", "http://evil.example")).await, 403);
        assert_eq!(status(&host, Ask::post(&long).session(&id)).await, 413);
        assert_eq!(status(&host, Ask::post(list(1))).await, 400, "what is the client's fault is not");
        let warnings: Vec<_> =
            recorder.events().into_iter().filter(|told| told.level == "WARN").map(|told| told.text).collect();
        assert_eq!(
            warnings,
            [
                "a request was refused: the host `evil.example` is not among those of `ServerOptions::hosts` status=403",
                "a request was refused: the origin `http://evil.example` is not among those of \
                 `ServerOptions::origins` status=403",
                "a request was refused: the body is longer than the limit of 1000 bytes: see \
                 `ServerOptions::max_body_bytes` status=413",
            ]
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_version_that_was_agreed_on_is_accepted_however_it_was_said() {
    guarded(async {
        // The answer to `initialize` takes its time, so it is a stream, and the settings know of no version.
        let host = TestServer::with(ServerOptions::default().versions([""; 0]));
        host.gates.greet.forget_permits(usize::MAX);
        let mut opening = host.wire().await.stream(&Ask::post(initialize(0))).await;
        host.gates.greet.add_permits(1);
        assert_eq!(opening.message().await.unwrap().json()["result"]["protocolVersion"], "2025-03-26");
        let id = opening.head.get("mcp-session-id").unwrap();
        let told = |version| Ask::post(initialized()).session(id).with("mcp-protocol-version", version);
        assert_eq!(status(&host, told("2025-06-18")).await, 400);
        assert_eq!(status(&host, told("2025-03-26")).await, 202);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn older_forms_of_http_and_requests_without_a_host() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let body = list(1).to_string();
        let asked = |version: &str, head: &str| {
            let rest = "accept: */*\r\ncontent-type: application/json\r\n";
            format!(
                "POST /mcp {version}\r\n{head}{rest}mcp-session-id: {id}\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        let cases = [
            (200, asked("HTTP/1.0", "host: localhost\r\n")),
            (403, asked("HTTP/1.0", "")),
            (403, asked("HTTP/1.1", "")),
            (403, asked("HTTP/1.0", "host: evil.example\r\n")),
            // Two ways to say how long the body is, of which somebody else may have believed the other.
            (400, asked("HTTP/1.1", "host: localhost\r\ncontent-length: 5\r\n")),
            (400, asked("HTTP/1.1", "host: localhost\r\nx-folded: a\r\n b: c\r\n")),
        ];
        for (expected, text) in cases {
            let mut wire = host.wire().await;
            wire.send(&text).await;
            assert_eq!(wire.head().await.unwrap().status, expected, "{text}");
        }
        // There is room for so much of a head, and for so many headers.
        for head in ["x: y\r\n".repeat(1000), format!("x: {}\r\n", "y".repeat(1_000_000))] {
            let mut wire = host.wire().await;
            let text = asked("HTTP/1.1", &format!("host: localhost\r\n{head}"));
            // The server may close the connection before it has all of it.
            let _ = tokio::io::AsyncWriteExt::write_all(&mut wire.stream, text.as_bytes()).await;
            assert_eq!(wire.head().await.unwrap().status, 431);
        }
        assert_eq!(host.server.session_count(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_nested_too_deep_is_refused() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let inside = |depth| {
            let params = format!(r#"{{"cursor":{}}}"#, deep(depth));
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#)
        };
        // A list is a batch, and what is in it is answered one by one.
        let list_of_one = host.ask(&Ask::post(deep(100_000)).session(&id)).await;
        assert_eq!(list_of_one.json()[0]["error"]["code"], -32600, "{list_of_one:?}");
        assert_eq!(status(&host, Ask::post(deep(100_000))).await, 400);
        for body in [format!(r#"{{"a":{}}}"#, deep(100_000)), "[".repeat(100_000)] {
            assert_eq!(status(&host, Ask::post(&body).session(&id)).await, 400);
            assert_eq!(status(&host, Ask::post(&body)).await, 400);
        }
        let refused = host.ask(&Ask::post(inside(100_000)).session(&id)).await;
        assert!(refused.json()["error"].is_object(), "{refused:?}");
        assert_eq!(status(&host, Ask::post(list(2)).session(&id)).await, 200);
        assert_eq!(host.server.session_count(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn hosts_and_origins_can_be_listed() {
    guarded(async {
        let options = ServerOptions::default().hosts(["mcp.example"]).origins(["https://app.example"]);
        let host = TestServer::with(options);
        let ask = Ask::post(initialize(0)).with("host", "mcp.example:8080");
        assert_eq!(status(&host, ask.clone()).await, 200);
        assert_eq!(status(&host, ask.clone().with("origin", "https://app.example")).await, 200);
        assert_eq!(status(&host, ask.clone().with("origin", "http://app.example")).await, 403);
        assert_eq!(status(&host, ask.clone().with("origin", "http://localhost")).await, 403);
        assert_eq!(status(&host, ask.with("host", "127.0.0.1")).await, 403);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn either_of_them_may_be_any() {
    guarded(async {
        let good = Ask::post(initialize(0));
        let foreign = good.clone().with("host", "evil.example");
        let none = good.clone().without("host");
        let addressed = good.clone().target("http://evil.example/mcp");
        let origin = good.clone().with("origin", "http://evil.example");
        let null = good.clone().with("origin", "null");
        let host = TestServer::with(ServerOptions::default().any_host());
        for (expected, ask) in
            [(200, &foreign), (200, &none), (200, &addressed), (403, &origin), (403, &null), (200, &good)]
        {
            assert_eq!(status(&host, ask.clone()).await, expected, "{}", ask.text());
        }
        let host = TestServer::with(ServerOptions::default().any_origin());
        for (expected, ask) in
            [(403, &foreign), (403, &none), (403, &addressed), (200, &origin), (200, &null), (200, &good)]
        {
            assert_eq!(status(&host, ask.clone()).await, expected, "{}", ask.text());
        }
        // That any may ask does not say that there may be several for one request.
        assert_eq!(status(&host, good.and("host", "127.0.0.1")).await, 400);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn there_is_room_for_so_many_sessions_only() {
    guarded(async {
        let host = TestServer::with(ServerOptions::default().max_sessions(2));
        let first = host.open().await;
        host.open().await;
        let refused = host.ask(&Ask::post(initialize(0))).await;
        assert_eq!(refused.head.status, 503);
        assert_eq!(refused.head.get("retry-after"), Some("1"));
        assert_eq!(status(&host, Ask::method("DELETE").session(&first)).await, 204);
        host.open().await;
    })
    .await;
}
