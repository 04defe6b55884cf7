//! Servers that have their client come back for an answer, as often as they like and when they like.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::transport::http::{ClientOptions, HttpClient};
use serde_json::json;
use tokio::time::Instant;

use super::desk::guarded;
use super::fake::{self, Fake};
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
        let client = HttpClient::new(&server.url()).unwrap().options(options);
        let (session, _) = ready(client).await.unwrap();
        session.call_tool(call("x")).await.unwrap();
        session.close().await.unwrap();
        let came = came.lock().unwrap();
        assert_eq!(came.len(), POLLS + 2);
        for pair in came.windows(2) {
            assert_eq!((pair[1] - pair[0]).as_secs(), 20, "neither sooner nor, for it was no failure, later");
        }
    })
    .await;
}
