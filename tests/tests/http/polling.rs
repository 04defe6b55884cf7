//! Servers that have their client come back for an answer, as often as they like and when they like.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::Error;
use mcp_runtime::transport::http::{ClientOptions, HttpClient, HttpError, ListenOptions, ServerOptions};
use serde_json::json;
use tokio::time::Instant;

use super::desk::{Desk, guarded};
use super::fake::{self, Fake};
use super::proxy::Proxy;
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

#[tokio::test]
async fn a_server_that_is_gone_is_not_waited_for_without_end() {
    guarded(async {
        let options = ServerOptions::default().stream_after(Duration::ZERO).retry(Duration::from_millis(1));
        let desk = Desk::listening_with(options, ListenOptions::default()).await;
        let proxy = Proxy::to(desk.address()).await;
        let options = ClientOptions::default().resume_attempts(3);
        let client = HttpClient::new(&proxy.url()).unwrap().options(options);
        let (session, _) = ready(client).await.unwrap();
        let handle = session.handle();
        let running = tokio::spawn(async move { handle.call_tool(call("hold")).await });
        while desk.gates.holding.load(std::sync::atomic::Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        drop(proxy);
        match running.await.unwrap().unwrap_err() {
            Error::NotDelivered(error) => assert!(error.downcast_ref::<HttpError>().is_some(), "{error}"),
            other => panic!("{other:?}"),
        }
        session.abort();
    })
    .await;
}
