//! Calls over HTTP and their outcomes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::transport::http::{ClientOptions, HttpClient, HttpError, ListenOptions, ServerOptions};
use mcp_runtime::{DisconnectReason, Error};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::fake::{self, Fake};
use super::proxy::Proxy;
use super::test_server::{TestServer, guarded};
use super::{Roots, call, initialize, ready, said, start, tools, transport};

#[tokio::test]
async fn a_whole_session() {
    guarded(async {
        let mut host = TestServer::listening().await;
        let (session, reports) = ready(transport(&host.url())).await.unwrap();
        let incoming = session.incoming();
        let serving = test_support::spawn(incoming.serve(Roots));
        assert_eq!(session.list_tools(None).await.unwrap().tools[0].name, "echo");
        // Any number at once; and what the server asks in the course of a call is answered.
        let (echo, ask, list) = tokio::join!(
            session.call_tool(call("echo")),
            session.call_tool(call("ask")),
            session.list_tools(None)
        );
        assert_eq!(said(&echo.unwrap()), "hello");
        assert_eq!(said(&ask.unwrap()), "2 roots");
        assert!(list.is_ok());
        // Reports on a call come on the stream of the call.
        host.gates.hold.add_permits(2);
        let (told, mut heard) = mpsc::unbounded_channel();
        let talk = session.call_tool(call("talk")).on_progress(move |progress| {
            let progress: mcp_protocols::types::ProgressParams = progress;
            told.send(progress.progress.as_f64()).unwrap();
        });
        assert_eq!(said(&talk.await.unwrap()), "talked");
        assert_eq!((heard.recv().await, heard.recv().await), (Some(1.0), Some(2.0)));
        // An error is an error.
        match session.call_tool(call("nothing")).await.unwrap_err() {
            Error::Refused(error) => assert_eq!(error.code, -32602),
            other => panic!("{other}"),
        }
        session.close().await.unwrap();
        serving.await.unwrap();
        host.next_end().await.unwrap();
        assert_eq!(host.server.session_count(), 0, "the client has deleted its session");
        assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn what_the_server_says_unasked_is_heard() {
    guarded(async {
        let host = TestServer::listening().await;
        let (session, _) = ready(transport(&host.url())).await.unwrap();
        host.gates.announce.add_permits(1);
        let incoming = session.incoming();
        let heard = incoming.next().await.unwrap();
        assert!(format!("{heard:?}").contains("ToolsListChanged"), "{heard:?}");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn connections_are_kept() {
    guarded(async {
        let host = TestServer::listening().await;
        let proxy = Proxy::to(host.address()).await;
        let (session, _) = ready(transport(&proxy.url())).await.unwrap();
        for _ in 0..50 {
            session.call_tool(call("echo")).await.unwrap();
        }
        let connections = proxy.connections.load(Ordering::SeqCst);
        assert!(
            connections <= 3,
            "one for calls, one for the stream, and one that they may begin with: {connections}"
        );
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_is_cut_is_taken_up_where_it_was() {
    guarded(async {
        let options = ServerOptions::default().retry(Duration::from_millis(5));
        let host = TestServer::listening_with(options, ListenOptions::default()).await;
        let proxy = Proxy::to(host.address()).await;
        let (session, _) = ready(transport(&proxy.url())).await.unwrap();
        let (told, mut heard) = mpsc::unbounded_channel();
        let talk = session.call_tool(call("talk")).on_progress(move |progress| {
            let progress: mcp_protocols::types::ProgressParams = progress;
            told.send(progress.progress.as_f64()).unwrap();
        });
        let cutting = async {
            assert_eq!(heard.recv().await, Some(1.0));
            proxy.cut();
            host.gates.hold.add_permits(1);
            assert_eq!(heard.recv().await, Some(2.0));
            proxy.cut();
            host.gates.hold.add_permits(1);
        };
        let (result, ()) = tokio::join!(talk, cutting);
        assert_eq!(said(&result.unwrap()), "talked");
        // The stream for what is said unasked is there again, too.
        host.gates.announce.add_permits(1);
        drop(session.incoming().next().await.unwrap());
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    guarded(async {
        let (session, _) = start(transport("http://127.0.0.1:1/mcp"));
        match session.initialize(initialize()).await.map(drop).unwrap_err().into_parts().1 {
            error @ Error::Disconnected { reason: DisconnectReason::NotDelivered(_) } => {
                assert!(matches!(error.http(), Some(HttpError::Request(_))), "{error:?}");
            }
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test]
async fn addresses_and_headers_are_looked_at_first() {
    for address in ["", "127.0.0.1:80", "ftp://127.0.0.1", "/mcp"] {
        assert!(
            HttpClient::new(address).unwrap_err().to_string().contains("is not the address of a server"),
            "{address}"
        );
    }
    let client = HttpClient::new("http://127.0.0.1:1").unwrap();
    assert!(client.header("no name", "x").is_err());
}

/// A server whose tools are answered by a function.
async fn serving(answer: impl Fn(&fake::Asked) -> axum::response::Response + Send + Sync + 'static) -> Fake {
    Fake::start(move |asked, _| match asked.what() {
        "initialize" => fake::hello(asked, "2025-03-26", tools(), "s1"),
        "notifications/initialized" => fake::status(202),
        "GET" => fake::status(405),
        "DELETE" => fake::status(405),
        _ => answer(asked),
    })
    .await
}

pub fn cause(error: &Error) -> &HttpError {
    assert!(matches!(error, Error::NotDelivered(_)), "{error:?}");
    error.http().unwrap()
}

#[tokio::test]
async fn a_call_that_comes_to_nothing_fails_alone() {
    guarded(async {
        type Reply = fn(&Value) -> axum::response::Response;
        type Check = fn(&HttpError) -> bool;
        let cases: [(Reply, Check); 10] = [
            (
                |_| fake::text(500, "text/plain", "oh no"),
                |error| matches!(error, HttpError::Status { status: 500, body, .. } if body == "oh no"),
            ),
            // Of what is said with a failure the beginning is kept, however long it is.
            (
                |_| fake::text(502, "text/plain", "o".repeat(5000)),
                |error| matches!(error, HttpError::Status { status: 502, body, .. } if *body == "o".repeat(1024)),
            ),
            (
                |_| fake::text(400, "application/json", "[".repeat(5000)),
                |error| matches!(error, HttpError::Status { status: 400, body, .. } if *body == "[".repeat(1024)),
            ),
            (
                |_| fake::text(200, "text/html", "<html>"),
                |error| matches!(error, HttpError::Form(form) if form == "text/html"),
            ),
            (|_| fake::status(202), |error| matches!(error, HttpError::NoReply)),
            (|_| fake::text(200, "application/json", "{"), |error| matches!(error, HttpError::NoReply)),
            (
                |_| fake::text(200, "application/json", r#"{"jsonrpc":"2.0","id":99,"result":{}}"#),
                |error| matches!(error, HttpError::NoReply),
            ),
            (
                |_| fake::text(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"me"),
                |error| matches!(error, HttpError::NoReply),
            ),
            (
                |_| fake::text(200, "text/event-stream", "x".repeat(3000)),
                |error| matches!(error, HttpError::TooLong(2000)),
            ),
            (
                |_| fake::text(200, "application/json", " ".repeat(3000)),
                |error| matches!(error, HttpError::TooLong(2000)),
            ),
        ];
        for (place, (answer, check)) in cases.into_iter().enumerate() {
            let server = serving(move |asked| match asked.body["params"]["name"].as_str() {
                Some("broken") => answer(&asked.body),
                _ => fake::result(asked, json!({ "content": [{ "type": "text", "text": "fine" }] })),
            })
            .await;
            let options = ClientOptions::default().max_message_bytes(2000).retry(Duration::from_millis(1));
            let client = HttpClient::new(server.url()).unwrap().options(options);
            let (session, _) = ready(client).await.unwrap();
            let error = session.call_tool(call("broken")).await.unwrap_err();
            assert!(check(cause(&error)), "case {place}: {error:?}");
            assert_eq!(said(&session.call_tool(call("fine")).await.unwrap()), "fine");
            session.close().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn an_error_with_another_status_is_still_the_answer() {
    guarded(async {
        let server = serving(|asked| {
            let error = json!({"jsonrpc":"2.0","id":asked.body["id"],"error":{"code":-32602,"message":"no such tool"}});
            fake::text(400, "application/json", error.to_string())
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        match session.call_tool(call("x")).await.unwrap_err() {
            Error::Refused(error) => assert_eq!(error.message, "no such tool"),
            other => panic!("{other:?}"),
        }
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn every_request_names_the_session_and_the_version() {
    guarded(async {
        let server = serving(|asked| fake::result(asked, json!({ "content": [] }))).await;
        let client = transport(&server.url()).header("authorization", "Bearer secret").unwrap();
        let (session, _) = ready(client).await.unwrap();
        session.call_tool(call("x")).await.unwrap();
        session.close().await.unwrap();
        let seen = server.seen.lock().unwrap();
        for asked in seen.iter() {
            let first = asked.what() == "initialize";
            assert_eq!(asked.header("mcp-session-id"), if first { "" } else { "s1" }, "{asked:?}");
            assert_eq!(
                asked.header("mcp-protocol-version"),
                if first { "" } else { "2025-03-26" },
                "{asked:?}"
            );
            assert_eq!(asked.header("authorization"), "Bearer secret");
            let accept = if asked.what() == "GET" {
                "text/event-stream"
            } else {
                "application/json, text/event-stream"
            };
            assert_eq!(asked.header("accept"), accept);
        }
        assert!(seen.iter().any(|asked| asked.what() == "DELETE"));
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_says_why() {
    guarded(async {
        let server = Fake::start(|asked, _| match asked.what() {
            "initialize" => fake::hello(asked, "2025-03-26", tools(), "s1"),
            "notifications/initialized" => fake::status(202),
            // It ends before it has begun, and what was on it is gone.
            "tools/call" => fake::text(200, "text/event-stream", "retry: 1\nid: 7\ndata:\n\n"),
            "GET" if asked.header("last-event-id") == "7" => fake::text(400, "text/plain", "g".repeat(5000)),
            _ => fake::status(405),
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let error = session.call_tool(call("x")).await.unwrap_err();
        let HttpError::Status { status: 400, body, .. } = cause(&error) else { panic!("{error:?}") };
        assert_eq!(*body, "g".repeat(1024));
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_event_id_that_no_request_can_carry_does_not_end_the_stream() {
    guarded(async {
        let server = Fake::start(|asked, before| match asked.what() {
            "initialize" => {
                fake::hello(asked, "2025-03-26", json!({ "tools": { "listChanged": true } }), "s1")
            }
            "notifications/initialized" => fake::status(202),
            "GET" if before == 0 => fake::text(200, "text/event-stream", "retry: 1\nid: \u{1}\ndata:\n\n"),
            "GET" if before == 1 => {
                let told = json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"});
                fake::text(200, "text/event-stream", format!("data: {told}\n\n"))
            }
            _ => fake::status(405),
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let heard = session.incoming().next().await.unwrap();
        assert!(format!("{heard:?}").contains("ToolsListChanged"), "{heard:?}");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_last_notification_before_the_end_is_delivered() {
    guarded(async {
        // The call is never answered, so letting go of it says so to the server.
        let (server, mut seen) = Fake::holding(|asked, _| match asked.what() {
            "initialize" => Some(fake::hello(asked, "2025-03-26", tools(), "s1")),
            "notifications/initialized" | "notifications/cancelled" => Some(fake::status(202)),
            "tools/call" => None,
            _ => Some(fake::status(405)),
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let handle = session.handle();
        let running = test_support::spawn(async move { handle.call_tool(call("x")).await.map(drop) });
        fake::until(&mut seen, "tools/call").await;
        running.abort();
        let _ = running.await;
        session.close().await.unwrap();
        fake::until(&mut seen, "DELETE").await;
        let seen = server.seen.lock().unwrap();
        let last: Vec<&str> =
            seen.iter().rev().map(|asked| asked.what()).filter(|what| *what != "GET").collect();
        assert_eq!(last[..3], ["DELETE", "notifications/cancelled", "tools/call"]);
    })
    .await;
}

#[tokio::test]
async fn a_session_that_is_let_go_of_is_deleted() {
    guarded(async {
        let (server, mut seen) = Fake::holding(|asked, _| match asked.what() {
            "initialize" => Some(fake::hello(asked, "2025-03-26", tools(), "s1")),
            "notifications/initialized" => Some(fake::status(202)),
            "tools/call" => None,
            _ => Some(fake::status(405)),
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let handle = session.handle();
        let running = test_support::spawn(async move { handle.call_tool(call("x")).await.map(drop) });
        fake::until(&mut seen, "tools/call").await;
        session.abort();
        fake::until(&mut seen, "DELETE").await;
        // What was running hears of it.
        running.await.unwrap().unwrap_err();
    })
    .await;
}

/// Reads one request with its body; gives the body.
async fn one(stream: &mut tokio::net::TcpStream) -> Value {
    let mut bytes = Vec::new();
    loop {
        tokio::io::AsyncReadExt::read_buf(stream, &mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let body = text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok());
        if let Some(body) = body {
            return body;
        }
    }
}

#[tokio::test]
async fn a_server_may_ask_before_it_answers_the_first_message() {
    guarded(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (session, _) = start(transport(&url));
        let serving = async {
            let (mut first, _) = listener.accept().await.unwrap();
            let asked = one(&mut first).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nmcp-session-id: s1\r\n\r\n";
            let ping = json!({"jsonrpc":"2.0","id":0,"method":"ping"});
            let text = format!("{head}data: {ping}\n\n");
            tokio::io::AsyncWriteExt::write_all(&mut first, text.as_bytes()).await.unwrap();
            // The answer to the ping comes while the first message waits for its own.
            let (mut second, _) = listener.accept().await.unwrap();
            assert_eq!(one(&mut second).await, json!({"jsonrpc":"2.0","id":0,"result":{}}));
            let accepted = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
            tokio::io::AsyncWriteExt::write_all(&mut second, accepted.as_bytes()).await.unwrap();
            let result = json!({ "protocolVersion": "2025-03-26", "capabilities": {},
                "serverInfo": { "name": "asks first", "version": "1" } });
            let text = format!("data: {}\n\n", json!({"jsonrpc":"2.0","id":asked["id"],"result":result}));
            tokio::io::AsyncWriteExt::write_all(&mut first, text.as_bytes()).await.unwrap();
            second
        };
        let (shaken, _second) = tokio::join!(session.initialize(initialize()), serving);
        assert_eq!(shaken.unwrap().0.server_info.name, "asks first");
    })
    .await;
}
