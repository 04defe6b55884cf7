//! What is decided by the head of a request, and by the form of its body.

use mcp_runtime::transport::http::ServerOptions;
use serde_json::json;

use super::desk::{Desk, guarded, initialize, initialized, list};
use super::wire::Ask;

/// The status of a request over a connection of its own.
async fn status(desk: &Desk, ask: Ask) -> u16 {
    desk.ask(&ask).await.head.status
}

#[tokio::test(start_paused = true)]
async fn each_fault_has_its_status() {
    guarded(async {
        let desk = Desk::start();
        let id = desk.ready().await;
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
        ];
        for (expected, ask) in cases {
            let text = ask.text();
            let answer = desk.ask(&ask).await;
            assert_eq!(answer.head.status, expected, "{text}\n{answer:?}");
            if expected >= 400 {
                assert_eq!(answer.json()["id"], json!(null), "{text}");
                assert!(answer.json()["error"]["message"].is_string(), "{text}");
            }
        }
        assert_eq!(desk.ask(&Ask::method("PUT")).await.head.get("allow"), Some("GET, POST, DELETE"));
        // Nothing of all that has hurt the session, and nothing has begun another.
        assert_eq!(status(&desk, good).await, 200);
        assert_eq!(desk.server.sessions(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_known_version_is_accepted_in_the_head() {
    guarded(async {
        let desk = Desk::start();
        let id = desk.ready().await;
        for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
            let ask = Ask::post(list(1)).session(&id).with("mcp-protocol-version", version);
            assert_eq!(status(&desk, ask).await, 200, "{version}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn bodies_have_a_limit() {
    guarded(async {
        let options = ServerOptions::default().max_body_bytes(1000);
        let desk = Desk::with(options);
        let id = desk.ready().await;
        let long = json!({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x".repeat(2000)}});
        assert_eq!(status(&desk, Ask::post(&long).session(&id)).await, 413);
        // Nobody has said how long this one is.
        let mut wire = desk.wire().await;
        wire.send(&Ask::post("").session(&id).pieces().head()).await;
        for _ in 0..20 {
            wire.send(&format!("64\r\n{}\r\n", "x".repeat(100))).await;
        }
        assert_eq!(wire.head().await.unwrap().status, 413);
        assert_eq!(status(&desk, Ask::post(list(2)).session(&id)).await, 200);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn hosts_and_origins_can_be_listed() {
    guarded(async {
        let options = ServerOptions::default().hosts(["mcp.example"]).origins(["https://app.example"]);
        let desk = Desk::with(options);
        let ask = Ask::post(initialize(0)).with("host", "mcp.example:8080");
        assert_eq!(status(&desk, ask.clone()).await, 200);
        assert_eq!(status(&desk, ask.clone().with("origin", "https://app.example")).await, 200);
        assert_eq!(status(&desk, ask.clone().with("origin", "http://app.example")).await, 403);
        assert_eq!(status(&desk, ask.clone().with("origin", "http://localhost")).await, 403);
        assert_eq!(status(&desk, ask.with("host", "127.0.0.1")).await, 403);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn there_is_room_for_so_many_sessions_only() {
    guarded(async {
        let desk = Desk::with(ServerOptions::default().max_sessions(2));
        let first = desk.open().await;
        desk.open().await;
        let refused = desk.ask(&Ask::post(initialize(0))).await;
        assert_eq!(refused.head.status, 503);
        assert_eq!(refused.head.get("retry-after"), Some("1"));
        assert_eq!(status(&desk, Ask::method("DELETE").session(&first)).await, 204);
        desk.open().await;
    })
    .await;
}
