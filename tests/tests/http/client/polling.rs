//! Servers that end the stream of an answer and let the client poll for it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::transport::http::{ClientOptions, HttpClient, HttpError};
use serde_json::json;
use tokio::time::Instant;

use super::fake::{self, Fake};
use super::test_server::guarded;
use super::{call, ready, tools};

/// How often the client has to come back; more often than a stream may fail in a row.
const POLLS: usize = 12;

#[tokio::test(start_paused = true)]
async fn an_answer_is_come_back_for_when_the_server_says_so() {
    guarded(async {
        let came: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let stamps = Arc::clone(&came);
        let server = Fake::start(move |asked, before| match asked.what() {
            "initialize" => fake::hello(asked, "2025-03-26", tools(), "s1"),
            "notifications/initialized" => fake::status(202),
            "tools/call" => {
                stamps.lock().unwrap().push(Instant::now());
                fake::text(200, "text/event-stream", "id: p\nretry: 20000\ndata:\n\n")
            }
            "GET" => {
                stamps.lock().unwrap().push(Instant::now());
                let last = asked.header("last-event-id");
                assert_eq!(last, if before < 2 { "p".to_owned() } else { format!("p{}", before & !1) });
                fake::text(
                    200,
                    "text/event-stream",
                    match before {
                        POLLS => {
                            let reply = json!({"jsonrpc":"2.0","id":1,"result":{"content":[]}});
                            format!("id: end\ndata: {reply}\n\n")
                        }
                        // It may say that it is there, or nothing at all.
                        _ if before % 2 == 1 => format!("id: p{}\ndata:\n\n", before + 1),
                        _ => String::new(),
                    },
                )
            }
            _ => fake::status(405),
        })
        .await;
        let options = ClientOptions::default().listen(false).retry(Duration::from_secs(1));
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, _) = ready(client).await.unwrap();
        session.call_tool(call("x")).await.unwrap();
        session.close().await.unwrap();
        let came = came.lock().unwrap();
        assert_eq!(came.len(), POLLS + 2);
        for pair in came.windows(2) {
            assert_eq!(
                (pair[1] - pair[0]).as_secs(),
                20,
                "neither sooner nor later, because it was not a failure"
            );
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_busy_for_a_while_is_asked_again() {
    guarded(async {
        let server = Fake::start(|asked, before| match (asked.what(), before) {
            ("initialize", _) => fake::hello(asked, "2025-03-26", tools(), "s1"),
            ("notifications/initialized", _) => fake::status(202),
            ("tools/call", _) => fake::text(200, "text/event-stream", "id: p\ndata:\n\n"),
            ("GET", 0) => fake::status(503),
            ("GET", 1) => fake::status(429),
            ("GET", 2) => fake::status(408),
            ("GET", 3) => {
                let reply = json!({"jsonrpc":"2.0","id":1,"result":{"content":[]}});
                fake::text(200, "text/event-stream", format!("data: {reply}\n\n"))
            }
            // The second call.
            ("GET", _) => fake::status(503),
            _ => fake::status(405),
        })
        .await;
        let options = ClientOptions::default().listen(false).resume_attempts(4);
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, _) = ready(client).await.unwrap();
        session.call_tool(call("x")).await.unwrap();
        let error = session.call_tool(call("x")).await.unwrap_err();
        assert!(matches!(error.http(), Some(HttpError::Status { status: 503, .. })), "{error:?}");
        session.close().await.unwrap();
        let seen = server.seen.lock().unwrap();
        assert_eq!(seen.iter().filter(|asked| asked.what() == "GET").count(), 8);
    })
    .await;
}

#[tokio::test]
async fn a_session_lost_while_an_answer_is_resumed_is_reconnected() {
    guarded(async {
        let server = Fake::start(|asked, before| match asked.what() {
            "initialize" => fake::hello(asked, "2025-03-26", tools(), &format!("s{before}")),
            "notifications/initialized" => fake::status(202),
            "tools/call" if before == 0 => fake::text(200, "text/event-stream", "id: p\ndata:\n\n"),
            "tools/call" => fake::result(asked, json!({ "content": [] })),
            "GET" => fake::status(404),
            _ => fake::status(405),
        })
        .await;
        let options = ClientOptions::default().listen(false).retry(Duration::from_millis(5));
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, reports) = ready(client).await.unwrap();
        let error = session.call_tool(call("x")).await.unwrap_err();
        assert!(matches!(error.http(), Some(HttpError::SessionReplaced)), "{error:?}");
        assert!(reports.lock().unwrap().iter().any(|report| report.contains("reconnected")));
        session.call_tool(call("x")).await.unwrap();
        session.close().await.unwrap();
        let begin = ["initialize", "notifications/initialized", "tools/call"];
        assert_eq!(server.posted(), [begin, begin].concat());
    })
    .await;
}
