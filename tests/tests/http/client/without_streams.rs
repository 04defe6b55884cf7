//! Servers without a GET stream, and servers without sessions.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_protocols::mcp_2025_03_26::{Active, McpClient};
use mcp_runtime::transport::http::{HttpError, SessionProvider};
use mcp_runtime::{Error, Resumed};
use serde_json::json;

use super::fake::{self, Asked, Fake, until};
use super::test_server::guarded;
use super::{Reports, call, ready, said, tools, transport, watched};

/// How often a server was asked that.
fn count(server: &Fake, what: &str) -> usize {
    server.seen.lock().unwrap().iter().filter(|asked| asked.what() == what).count()
}

fn fine(asked: &Asked) -> axum::response::Response {
    let result = json!({ "content": [{ "type": "text", "text": "fine" }] });
    let reply = json!({ "jsonrpc": "2.0", "id": asked.body["id"], "result": result });
    fake::text(200, "text/event-stream", format!("data: {reply}\n\n"))
}

#[tokio::test]
async fn a_server_that_knows_nothing_of_get_has_not_lost_the_session() {
    guarded(async {
        // `app.post("/mcp", …)` and no other route.
        let server = Fake::start(|asked, _| match asked.what() {
            "initialize" => fake::hello(asked, "2025-03-26", tools(), "s0"),
            "notifications/initialized" => fake::status(202),
            "GET" | "DELETE" => fake::status(404),
            _ => fine(asked),
        })
        .await;
        let (session, reports) = ready(transport(&server.url())).await.unwrap();
        for _ in 0..20 {
            assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "fine");
        }
        session.close().await.unwrap();
        assert_eq!((count(&server, "GET"), count(&server, "initialize")), (1, 1));
        assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn the_loss_of_a_stream_reconnects_once() {
    guarded(async {
        let (server, mut seen) = Fake::holding(|asked, before| {
            Some(match asked.what() {
                "initialize" => fake::hello(asked, "2025-03-26", tools(), &format!("s{before}")),
                "notifications/initialized" => fake::status(202),
                "GET" if before == 0 => fake::text(200, "text/event-stream", "retry: 1\n\n"),
                "GET" | "DELETE" => fake::status(404),
                _ => fine(asked),
            })
        })
        .await;
        let (session, reports) = ready(transport(&server.url())).await.unwrap();
        for session in ["s0", "s0", "s1"] {
            until(&mut seen, "GET").await;
            let seen = server.seen.lock().unwrap();
            assert_eq!(
                seen.iter().rfind(|asked| asked.what() == "GET").unwrap().header("mcp-session-id"),
                session
            );
        }
        for _ in 0..20 {
            assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "fine");
        }
        session.close().await.unwrap();
        assert_eq!((count(&server, "GET"), count(&server, "initialize")), (3, 2));
        assert_eq!(reports.lock().unwrap().iter().filter(|report| report.contains("reconnected")).count(), 1);
    })
    .await;
}

#[tokio::test]
async fn the_next_session_may_have_streams() {
    guarded(async {
        let (server, _) = Fake::holding(|asked, before| {
            let lost = asked.header("mcp-session-id") == "s0";
            Some(match asked.what() {
                "initialize" => {
                    let tools = json!({ "tools": { "listChanged": true } });
                    fake::hello(asked, "2025-03-26", tools, &format!("s{before}"))
                }
                "notifications/initialized" => fake::status(202),
                "GET" | "tools/call" if lost => fake::status(404),
                "GET" => {
                    let told = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
                    fake::text(200, "text/event-stream", format!("data: {told}\n\n"))
                }
                "DELETE" => fake::status(405),
                _ => fine(asked),
            })
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "fine");
        let heard = session.incoming().next().await.unwrap();
        assert!(format!("{heard:?}").contains("ToolsListChanged"), "{heard:?}");
        session.abort();
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_does_not_begin_is_left_with_its_session() {
    guarded(async {
        let (server, mut seen) = Fake::holding(|asked, before| {
            let lost = asked.header("mcp-session-id") == "s0";
            Some(match asked.what() {
                "initialize" => {
                    let tools = json!({ "tools": { "listChanged": true } });
                    fake::hello(asked, "2025-03-26", tools, &format!("s{before}"))
                }
                "notifications/initialized" => fake::status(202),
                // Some servers say nothing, not even the head, before there is an event.
                "GET" if lost => return None,
                "GET" => {
                    let told = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
                    fake::text(200, "text/event-stream", format!("data: {told}\n\n"))
                }
                "tools/call" if lost => fake::status(404),
                "DELETE" => fake::status(405),
                _ => fine(asked),
            })
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        until(&mut seen, "GET").await;
        assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "fine");
        let heard = session.incoming().next().await.unwrap();
        assert!(format!("{heard:?}").contains("ToolsListChanged"), "{heard:?}");
        session.abort();
    })
    .await;
}

/// Names one session, and counts how often it is asked.
#[derive(Clone, Default)]
struct Name(Arc<AtomicUsize>);

impl SessionProvider for Name {
    type Error = std::convert::Infallible;

    async fn session_id(&self) -> Result<String, Self::Error> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok("theirs".to_owned())
    }
}

#[tokio::test]
async fn the_stream_of_a_provided_session_is_opened_after_an_accepted_call() {
    guarded(async {
        let gone = Arc::new(Mutex::new(false));
        let rejects = Arc::clone(&gone);
        let (server, mut seen) = Fake::holding(move |asked, before| {
            Some(match asked.what() {
                "GET" if before == 0 => fake::text(200, "text/event-stream", "retry: 1\n\n"),
                "GET" => fake::status(404),
                _ if *rejects.lock().unwrap() => fake::status(404),
                _ => fine(asked),
            })
        })
        .await;
        let reports = Reports::default();
        let name = Name::default();
        let client = transport(&server.url()).sessions_from(name.clone());
        let session = McpClient::<Active>::resume(client, Resumed::unknown().options(watched(&reports)));
        // It was there, and then it was not.
        until(&mut seen, "GET").await;
        until(&mut seen, "GET").await;
        *gone.lock().unwrap() = true;
        for _ in 0..20 {
            let error = session.call_tool(call("echo")).await.unwrap_err();
            assert!(matches!(error, Error::SessionInvalid), "{error:?}");
        }
        assert_eq!(
            (count(&server, "GET"), name.0.load(Ordering::SeqCst)),
            (2, 22),
            "only the calls send requests"
        );
        *gone.lock().unwrap() = false;
        // Each call that goes through has it asked for once more, until that is known to be of no use.
        for gets in [3, 4] {
            while count(&server, "GET") < gets {
                session.call_tool(call("echo")).await.unwrap();
            }
        }
        for _ in 0..20 {
            session.call_tool(call("echo")).await.unwrap();
        }
        session.close().await.unwrap();
        assert_eq!(count(&server, "GET"), 4);
        let reports = reports.lock().unwrap();
        assert_eq!(reports.len(), 1, "{reports:?}");
    })
    .await;
}

#[tokio::test]
async fn a_server_without_sessions() {
    guarded(async {
        let server = Fake::start(|asked, _| match asked.what() {
            "initialize" => fake::hello(asked, "2025-03-26", tools(), ""),
            "notifications/initialized" => fake::status(202),
            "GET" | "DELETE" => fake::status(405),
            "tools/call" if asked.body["params"]["name"] == "nowhere" => fake::status(404),
            _ => fine(asked),
        })
        .await;
        let (session, reports) = ready(transport(&server.url())).await.unwrap();
        assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "fine");
        // The server has no session that could be lost.
        match session.call_tool(call("nowhere")).await.unwrap_err() {
            Error::NotDelivered(error) => {
                let error = error.downcast_ref().unwrap();
                assert!(matches!(error, HttpError::Status { status: 404, .. }), "{error:?}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "fine");
        session.close().await.unwrap();
        assert_eq!((count(&server, "initialize"), count(&server, "DELETE")), (1, 0), "and none to delete");
        let seen = server.seen.lock().unwrap();
        assert!(seen.iter().all(|asked| asked.header("mcp-session-id").is_empty()));
        assert!(seen.iter().skip(1).all(|asked| asked.header("mcp-protocol-version") == "2025-03-26"));
        assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
    })
    .await;
}
