//! Servers that have lost a session, and make reconnecting difficult.

use std::sync::Mutex;
use std::time::Duration;

use mcp_protocols::mcp_2025_03_26::McpError;
use mcp_runtime::error::ReconnectError;
use mcp_runtime::transport::http::{ClientOptions, HttpClient, HttpError};
use mcp_runtime::{DisconnectReason, Error};
use serde_json::json;

use super::fake::{self, Fake, until};
use super::test_server::guarded;
use super::{call, ready, said, tools, transport};

#[tokio::test]
async fn one_that_does_not_answer_ends_the_session_for_all_tasks() {
    guarded(async {
        let (server, mut seen) = Fake::holding(|asked, before| match asked.what() {
            "initialize" if before == 0 => Some(fake::hello(asked, "2025-03-26", tools(), "s0")),
            "initialize" => None,
            "notifications/initialized" => Some(fake::status(202)),
            "GET" | "DELETE" => Some(fake::status(405)),
            _ => Some(fake::status(404)),
        })
        .await;
        let options = ClientOptions::default().reconnect_within(Duration::from_millis(100));
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, _) = ready(client).await.unwrap();
        let calls = (0..5).map(|_| {
            let handle = session.handle();
            test_support::spawn(async move { handle.call_tool(call("echo")).await })
        });
        for call in calls.collect::<Vec<_>>() {
            let error: McpError = call.await.unwrap().unwrap_err();
            let Error::Disconnected { reason: DisconnectReason::SessionInvalid(renewal) } = error else {
                panic!("{error:?}")
            };
            let ReconnectError::NotDelivered(error) = renewal else { panic!("{renewal:?}") };
            assert!(matches!(error.downcast_ref(), Some(HttpError::Late)), "{error:?}");
        }
        until(&mut seen, "DELETE").await;
    })
    .await;
}

/// A server that is stopping, and that has no sessions any more.
fn stopping(asked: &fake::Asked) -> axum::response::Response {
    let error = json!({ "code": -32000, "message": "the server is shutting down" });
    let body = json!({ "jsonrpc": "2.0", "id": asked.body["id"], "error": error });
    let mut response = fake::text(503, "application/json", body.to_string());
    response.headers_mut().insert("retry-after", "0".parse().unwrap());
    response
}

/// A server of two sessions, as the requests that open them are answered: that of `s0` is lost, and `s1` goes on.
fn of_the_next_session(
    asked: &fake::Asked,
    opened: impl FnOnce() -> axum::response::Response,
) -> axum::response::Response {
    match asked.what() {
        "initialize" => opened(),
        "notifications/initialized" => fake::status(202),
        "tools/call" if asked.header("mcp-session-id") == "s1" => {
            fake::result(asked, json!({ "content": [{ "type": "text", "text": "fine" }] }))
        }
        "GET" | "DELETE" => fake::status(405),
        _ => fake::status(404),
    }
}

#[tokio::test]
async fn one_that_is_stopping_is_asked_until_another_takes_its_place() {
    guarded(async {
        let (server, _seen) = Fake::holding(|asked, before| {
            Some(of_the_next_session(asked, || match before {
                0 => fake::hello(asked, "2025-03-26", tools(), "s0"),
                1 => stopping(asked),
                // What stands in front of it knows no server.
                2 => fake::text(502, "text/html", "<h1>Bad Gateway</h1>"),
                _ => fake::hello(asked, "2025-03-26", tools(), "s1"),
            }))
        })
        .await;
        let (session, reports) = ready(transport(&server.url())).await.unwrap();
        let calls = (0..5).map(|_| {
            let handle = session.handle();
            test_support::spawn(async move { handle.call_tool(call("echo")).await })
        });
        for call in calls.collect::<Vec<_>>() {
            assert_eq!(said(&call.await.unwrap().unwrap()), "fine");
        }
        let posted = server.posted();
        assert_eq!(posted.iter().filter(|what| *what == "initialize").count(), 4, "{posted:?}");
        assert_eq!(reports.lock().unwrap().iter().filter(|report| report.contains("reconnected")).count(), 1);
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn one_that_goes_on_stopping_ends_the_session_with_what_it_said() {
    guarded(async {
        let (server, _seen) = Fake::holding(|asked, before| {
            Some(match asked.what() {
                "initialize" if before == 0 => fake::hello(asked, "2025-03-26", tools(), "s0"),
                "initialize" => stopping(asked),
                "notifications/initialized" => fake::status(202),
                "GET" | "DELETE" => fake::status(405),
                _ => fake::status(404),
            })
        })
        .await;
        let options = ClientOptions::default().reconnect_within(Duration::from_millis(200));
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, _) = ready(client).await.unwrap();
        let error: McpError = session.call_tool(call("echo")).await.unwrap_err();
        let Error::Disconnected { reason: DisconnectReason::SessionInvalid(renewal) } = error else {
            panic!("{error:?}")
        };
        let ReconnectError::Refused(error) = renewal else { panic!("{renewal:?}") };
        assert_eq!(error.message, "the server is shutting down");
    })
    .await;
}

#[tokio::test]
async fn the_owner_of_a_session_is_told_its_id_and_that_of_the_next_one() {
    guarded(async {
        let server = |asked: &fake::Asked, before: usize| {
            let id = if before == 0 { "s0" } else { "s1" };
            Some(of_the_next_session(asked, || fake::hello(asked, "2025-03-26", tools(), id)))
        };
        let (server, _seen) = Fake::holding(server).await;
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let client = HttpClient::new(server.url()).unwrap().on_session(move |id| {
            tell.send(id.to_owned()).unwrap();
            // The session does not mind.
            assert_eq!(id, "another");
        });
        let (session, _) = ready(client).await.unwrap();
        assert_eq!(told.try_recv().as_deref(), Ok("s0"));
        assert_eq!(session.call_tool(call("echo")).await.unwrap().first_text(), Some("fine"));
        assert_eq!(told.try_recv().as_deref(), Ok("s1"));
        session.close().await.unwrap();
        assert!(told.try_recv().is_err(), "each id is reported once");
    })
    .await;
}

#[tokio::test]
async fn one_that_asks_first_gets_its_answer() {
    guarded(async {
        let (say, mut stream) = fake::open("text/event-stream");
        stream.headers_mut().insert("mcp-session-id", "s1".parse().unwrap());
        let streams = Mutex::new(Some(stream));
        let (server, mut seen) = Fake::holding(move |asked, before| {
            Some(match asked.what() {
                "initialize" if before == 0 => fake::hello(asked, "2025-03-26", tools(), "s0"),
                "initialize" => streams.lock().unwrap().take().unwrap(),
                "GET" | "DELETE" => fake::status(405),
                "tools/call" if asked.header("mcp-session-id") == "s0" => fake::status(404),
                "tools/call" => {
                    fake::result(asked, json!({ "content": [{ "type": "text", "text": "fine" }] }))
                }
                _ => fake::status(202),
            })
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let handle = session.handle();
        let running = test_support::spawn(async move { handle.call_tool(call("echo")).await });
        until(&mut seen, "tools/call").await;
        let ask = |id: i64, method: &str| {
            let question = json!({ "jsonrpc": "2.0", "id": id, "method": method });
            say.send(format!("data: {question}\n\n")).unwrap();
        };
        ask(0, "ping");
        until(&mut seen, "POST").await;
        ask(1, "roots/list");
        until(&mut seen, "POST").await;
        let (answers, id) = {
            let seen = server.seen.lock().unwrap();
            let answers: Vec<_> = seen.iter().filter(|asked| asked.what() == "POST").cloned().collect();
            let begun = seen.iter().rfind(|asked| asked.what() == "initialize").unwrap();
            (answers, begun.body["id"].clone())
        };
        assert_eq!(answers[0].body, json!({ "jsonrpc": "2.0", "id": 0, "result": {} }));
        // This message is not part of the new session yet.
        assert_eq!((&answers[1].body["id"], answers[1].body["error"].is_object()), (&json!(1), true));
        assert!(answers.iter().all(|answer| answer.header("mcp-session-id") == "s1"));
        let hello = json!({ "jsonrpc": "2.0", "id": id, "result": {
            "protocolVersion": "2025-03-26",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "fake", "version": "1" },
        } });
        say.send(format!("data: {hello}\n\n")).unwrap();
        assert_eq!(said(&running.await.unwrap().unwrap()), "fine");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn one_that_does_not_answer_ends_the_session_also_where_it_is_a_notification_that_finds_it_lost() {
    guarded(async {
        let (server, mut seen) = Fake::holding(|asked, before| match asked.what() {
            "initialize" if before == 0 => Some(fake::hello(asked, "2025-03-26", tools(), "s0")),
            "initialize" => None,
            "notifications/initialized" => Some(fake::status(202)),
            "GET" | "DELETE" => Some(fake::status(405)),
            _ => Some(fake::status(404)),
        })
        .await;
        // The notification has no more time than the renewal, and would be given up first.
        let within = Duration::from_secs(2);
        let options = ClientOptions::default().post_within(within).reconnect_within(within);
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, reports) = ready(client).await.unwrap();
        session.send_roots_list_changed().await.unwrap();
        until(&mut seen, "notifications/roots/list_changed").await;
        // This waits for its turn.
        let error: McpError = session.call_tool(call("echo")).await.unwrap_err();
        let Error::Disconnected { reason: DisconnectReason::SessionInvalid(renewal) } = error else {
            panic!("{error:?}")
        };
        assert!(matches!(renewal, ReconnectError::NotDelivered(_)), "{renewal:?}");
        until(&mut seen, "DELETE").await;
        let begin = ["initialize", "notifications/initialized"];
        let posted = [&begin[..], &["notifications/roots/list_changed", "initialize"]].concat();
        assert_eq!(server.posted(), posted, "it is tried once");
        assert!(reports.lock().unwrap().iter().all(|report| !report.contains("in time")), "{reports:?}");
    })
    .await;
}
