//! Failures between a client and its server, at exact moments.

use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use http_body::Frame;
use mcp_protocols::mcp_2025_03_26::{Active, McpClient};
use mcp_runtime::error::ReconnectError;
use mcp_runtime::transport::http::{
    ClientOptions, HttpClient, HttpConnections, HttpError, ListenOptions, ServerOptions,
};
use mcp_runtime::{DisconnectReason, Error};
use serde_json::{Value, json};

use super::calling::cause;
use super::fake::{self, Asked, Fake, until};
use super::notes::Writer;
use super::test_server::{TestServer, guarded};
use super::wire::Ask;
use super::{call, initialize, ready, said, start, tools, transport};

/// What a server says first, whatever else it does.
fn greeting(asked: &Asked) -> Option<Response> {
    match asked.what() {
        "initialize" => Some(fake::hello(asked, "2025-03-26", tools(), "s1")),
        "notifications/initialized" => Some(fake::status(202)),
        "DELETE" => Some(fake::status(405)),
        _ => None,
    }
}

fn fine(asked: &Asked) -> Response {
    fake::result(asked, json!({ "content": [{ "type": "text", "text": "fine" }] }))
}

/// A stream that has one event and then never another one.
struct Silent(Option<&'static str>);

impl HttpBody for Silent {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.0.take() {
            Some(event) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(event.as_bytes()))))),
            None => Poll::Pending,
        }
    }
}

fn silent(event: &'static str) -> Response {
    let mut response = Response::new(Body::new(Silent(Some(event))));
    response.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
    response
}

/// A stream that is cut before there is anything on it.
struct Cut;

impl HttpBody for Cut {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(Some(Err(std::io::ErrorKind::ConnectionReset.into())))
    }
}

#[tokio::test]
async fn the_wait_before_a_stream_is_resumed_is_the_server_s_or_one_s_own() {
    guarded(async {
        let hour = Duration::from_secs(3600);
        for (event, own) in
            [("retry: 1\nid: 7\ndata:\n\n", hour), ("id: 7\ndata:\n\n", Duration::from_millis(1))]
        {
            let server = Fake::start(move |asked, _| match asked.what() {
                "tools/call" => fake::text(200, "text/event-stream", event),
                "GET" if asked.header("last-event-id") == "7" => {
                    // It is the second request, and the call was the first one that was not in the handshake.
                    let result = json!({ "content": [{ "type": "text", "text": "resumed" }] });
                    let reply = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
                    fake::text(200, "text/event-stream", format!("id: 8\ndata: {reply}\n\n"))
                }
                _ => greeting(asked).unwrap_or_else(|| fake::status(405)),
            })
            .await;
            let options = ClientOptions::default().retry(own);
            let client = HttpClient::new(server.url()).unwrap().options(options);
            let (session, _) = ready(client).await.unwrap();
            assert_eq!(said(&session.call_tool(call("x")).await.unwrap()), "resumed");
            session.close().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_stream_is_resumed_so_often_and_no_oftener() {
    guarded(async {
        let server = Fake::start(|asked, _| match asked.what() {
            "tools/call" => fake::text(200, "text/event-stream", "retry: 1\nid: 7\ndata:\n\n"),
            "GET" if asked.header("last-event-id") == "7" => {
                let mut response = fake::text(200, "text/event-stream", "");
                *response.body_mut() = Body::new(Cut);
                response
            }
            _ => greeting(asked).unwrap_or_else(|| fake::status(405)),
        })
        .await;
        let options = ClientOptions::default().resume_attempts(3);
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, _) = ready(client).await.unwrap();
        let error = session.call_tool(call("x")).await.unwrap_err();
        assert!(matches!(cause(&error), HttpError::Request(_)), "{error:?}");
        session.close().await.unwrap();
        let seen = server.seen.lock().unwrap();
        assert_eq!(seen.iter().filter(|asked| asked.header("last-event-id") == "7").count(), 3);
    })
    .await;
}

#[tokio::test]
async fn the_stream_for_what_is_said_unasked_is_taken_up_where_it_was() {
    guarded(async {
        let told = |id: &str| {
            let told = json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"});
            format!("retry: 1\nid: {id}\ndata: {told}\n\n")
        };
        let server = Fake::start(move |asked, before| match (asked.what(), before) {
            ("initialize", _) => {
                let can = json!({ "tools": { "listChanged": true } });
                fake::hello(asked, "2025-03-26", can, "s1")
            }
            ("GET", 0) => fake::text(200, "text/event-stream", told("five")),
            // The server does not know that event any more. The client asks without it, and stops after a while.
            ("GET", 1) => fake::status(400),
            ("GET", 2) => fake::text(200, "text/event-stream", told("six")),
            _ => greeting(asked).unwrap_or_else(|| fake::status(405)),
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let incoming = session.incoming();
        for _ in 0..2 {
            let heard = incoming.next().await.unwrap();
            assert!(format!("{heard:?}").contains("ToolsListChanged"), "{heard:?}");
        }
        session.close().await.unwrap();
        let seen = server.seen.lock().unwrap();
        let named: Vec<&str> = seen
            .iter()
            .filter(|asked| asked.what() == "GET")
            .map(|asked| asked.header("last-event-id"))
            .collect();
        assert_eq!(named[..3], ["", "five", ""]);
    })
    .await;
}

#[tokio::test]
async fn the_stream_is_opened_at_once_in_the_session_that_follows_a_lost_one() {
    guarded(async {
        let (_say, stream) = fake::open("text/event-stream");
        let stream = Mutex::new(Some(stream));
        let (server, mut seen) = Fake::holding(move |asked, before| {
            Some(match (asked.what(), before) {
                ("initialize", before) => {
                    fake::hello(asked, "2025-03-26", tools(), if before == 0 { "s0" } else { "s1" })
                }
                ("tools/call", _) if asked.header("mcp-session-id") == "s0" => fake::status(404),
                ("tools/call", _) => fine(asked),
                // The server is left in peace for an hour.
                ("GET", 0) => fake::text(200, "text/event-stream", "retry: 3600000\n\n"),
                ("GET", 1) => stream.lock().unwrap().take().unwrap(),
                _ => greeting(asked).unwrap_or_else(|| fake::status(405)),
            })
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        until(&mut seen, "GET").await;
        session.call_tool(call("x")).await.unwrap();
        until(&mut seen, "GET").await;
        let asked = server.seen.lock().unwrap();
        assert_eq!(asked.last().unwrap().header("mcp-session-id"), "s1");
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_cannot_be_opened_is_reported_once() {
    guarded(async {
        let (_say, last) = fake::open("text/event-stream");
        let last = Mutex::new(Some(last));
        let (server, mut seen) = Fake::holding(move |asked, before| {
            Some(match (asked.what(), before) {
                ("initialize", _) => fake::hello(asked, "2025-03-26", tools(), "s1"),
                ("GET", 0 | 1 | 2 | 4 | 5) => fake::status(503),
                ("GET", 3) => fake::text(200, "text/event-stream", "retry: 1\n\n"),
                ("GET", _) => last.lock().unwrap().take().unwrap(),
                _ => greeting(asked).unwrap_or_else(|| fake::status(405)),
            })
        })
        .await;
        let (_session, reports) = ready(transport(&server.url())).await.unwrap();
        for _ in 0..7 {
            until(&mut seen, "GET").await;
        }
        let expected = "what the server says unasked does not come, and is asked for again: the server answers with \
                        status 503 Service Unavailable";
        assert_eq!(*reports.lock().unwrap(), [expected, expected], "once for each time that it is down");
    })
    .await;
}

#[tokio::test]
async fn a_server_without_such_a_stream_is_asked_once() {
    guarded(async {
        let server = Fake::start(|asked, _| match asked.what() {
            "tools/call" => fine(asked),
            _ => greeting(asked).unwrap_or_else(|| fake::status(405)),
        })
        .await;
        let options = ClientOptions::default().retry(Duration::ZERO);
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, _) = ready(client).await.unwrap();
        for _ in 0..50 {
            session.call_tool(call("x")).await.unwrap();
        }
        session.close().await.unwrap();
        let seen = server.seen.lock().unwrap();
        assert_eq!(seen.iter().filter(|asked| asked.what() == "GET").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn the_stream_that_notices_the_loss_reconnects_and_forgets_its_events() {
    guarded(async {
        let (server, mut seen) = Fake::holding(|asked, before| match (asked.what(), before) {
            ("initialize", _) => {
                Some(fake::hello(asked, "2025-03-26", tools(), if before == 0 { "s0" } else { "s1" }))
            }
            ("GET", 0) => Some(fake::text(200, "text/event-stream", "retry: 1\nid: five\ndata:\n\n")),
            ("GET", _) if asked.header("mcp-session-id") == "s0" => Some(fake::status(404)),
            ("GET", _) => Some(silent(":\n\n")),
            _ => Some(greeting(asked).unwrap_or_else(|| fine(asked))),
        })
        .await;
        // No call runs; the GET stream shows that the session is lost.
        let (session, reports) = ready(transport(&server.url())).await.unwrap();
        loop {
            let asked = seen.recv().await.unwrap();
            if asked.what() == "GET" && asked.header("mcp-session-id") == "s1" {
                assert_eq!(asked.header("last-event-id"), "", "what another session has said is not there");
                break;
            }
        }
        assert_eq!(said(&session.call_tool(call("x")).await.unwrap()), "fine");
        assert!(reports.lock().unwrap().iter().any(|report| report.contains("reconnected")));
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_call_whose_stream_is_silent_hears_that_its_session_is_lost() {
    guarded(async {
        let (server, mut seen) = Fake::holding(|asked, before| match (asked.what(), before) {
            ("initialize", _) => Some(fake::hello(asked, "2025-03-26", tools(), &format!("s{before}"))),
            // This stream stays open, as behind a proxy that does not know better.
            ("tools/call", 0) => Some(silent("id: 1\ndata:\n\n")),
            ("tools/call", _) if asked.header("mcp-session-id") == "s0" => Some(fake::status(404)),
            ("tools/call", _) => Some(fine(asked)),
            _ => Some(greeting(asked).unwrap_or_else(|| fake::status(405))),
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let handle = session.handle();
        let running = test_support::spawn(async move { handle.call_tool(call("x")).await });
        fake::until(&mut seen, "tools/call").await;
        assert_eq!(said(&session.call_tool(call("y")).await.unwrap()), "fine");
        let error = running.await.unwrap().unwrap_err();
        assert!(matches!(cause(&error), HttpError::SessionReplaced), "{error:?}");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_session_that_is_lost_while_reconnecting_ends() {
    guarded(async {
        let server = Fake::start(|asked, before| match (asked.what(), before) {
            ("initialize", _) => fake::hello(asked, "2025-03-26", tools(), &format!("s{before}")),
            ("notifications/initialized", 0) => fake::status(202),
            ("GET" | "DELETE", _) => fake::status(405),
            _ => fake::status(404),
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        match session.call_tool(call("x")).await.unwrap_err() {
            Error::Disconnected { reason: DisconnectReason::SessionInvalid(ReconnectError::LostAgain) } => {}
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test]
async fn a_beginning_in_which_something_was_chosen_is_not_repeated() {
    guarded(async {
        let server = Fake::start(|asked, before| match (asked.what(), before) {
            ("open", _) => {
                let mut opened = fake::result(asked, json!({}));
                let name = format!("s{before}");
                opened.headers_mut().insert("mcp-session-id", name.parse().unwrap());
                opened
            }
            // The first session is lost before the client has chosen, the second one after that.
            ("add", 0 | 2) => fake::status(404),
            ("add", _) => fake::status(202),
            _ => fake::status(405),
        })
        .await;
        let writer = Writer::new(transport(&server.url()));
        let mut writer = writer.send_open().await.unwrap().recv_opened().await.unwrap();
        // This sends `open` again, and then `add`.
        writer.send_add().await.unwrap();
        writer.send_add().await.unwrap();
        writer.ended().await;
        let Err(error) = writer.send_add().await else { panic!("it goes on") };
        match error {
            Error::Disconnected {
                reason: DisconnectReason::SessionInvalid(ReconnectError::NotRepeatable),
            } => {}
            other => panic!("{other:?}"),
        }
        let posted = server.posted();
        assert_eq!(posted, ["open", "add", "open", "add", "add"]);
    })
    .await;
}

#[tokio::test]
async fn nothing_but_the_first_message_goes_out_before_the_session_has_a_name() {
    guarded(async {
        let host = TestServer::listening().await;
        let (session, reports) = start(transport(&host.url()));
        let handle = session.handle();
        let (shaken, pinged) = tokio::join!(session.initialize(initialize()), handle.ping());
        pinged.unwrap();
        drop(shaken.unwrap());
        assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_notification_that_is_not_accepted_is_reported_and_delays_nothing() {
    guarded(async {
        let (server, _seen) = Fake::holding(|asked, before| match (asked.what(), before) {
            ("notifications/roots/list_changed", 0) => Some(fake::text(500, "text/plain", "no")),
            ("notifications/roots/list_changed", _) => None,
            ("tools/call", _) => Some(fine(asked)),
            _ => Some(greeting(asked).unwrap_or_else(|| fake::status(405))),
        })
        .await;
        // Longer than any answer takes, also on a machine that is busy.
        let options = ClientOptions::default().post_within(Duration::from_secs(1));
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, reports) = ready(client).await.unwrap();
        for _ in 0..2 {
            session.send_roots_list_changed().await.unwrap();
        }
        // It is behind both of them, for a call is not to overtake what was said before it.
        assert_eq!(said(&session.call_tool(call("x")).await.unwrap()), "fine");
        let reports = reports.lock().unwrap().clone();
        assert_eq!(reports.len(), 2, "{reports:?}");
        assert!(reports[0].contains("status 500") && reports[1].contains("in time"), "{reports:?}");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_message_that_is_too_long_for_the_server_fails_with_its_words() {
    guarded(async {
        let options = ServerOptions::default().max_body_bytes(100_000);
        let host = TestServer::listening_with(options, ListenOptions::default()).await;
        let (session, _) = ready(transport(&host.url())).await.unwrap();
        for length in [100_000, 1_000_000, 20_000_000] {
            let params = call("echo").with_argument("message", "x".repeat(length));
            let error = session.call_tool(params).await.unwrap_err();
            let HttpError::Status { status: 413, body, .. } = cause(&error) else {
                panic!("{length}: {error:?}")
            };
            assert!(body.contains("100000 bytes"), "{body}");
        }
        assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "hello");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_slow_long_call_does_not_delay_others() {
    guarded(async {
        let (server, mut seen) = Fake::holding(|asked, _| match asked.what() {
            // It has received the whole message, and never answers.
            "tools/call" if asked.body["params"]["name"] == "long" => None,
            "tools/call" => Some(fine(asked)),
            "notifications/cancelled" => Some(fake::status(202)),
            _ => Some(greeting(asked).unwrap_or_else(|| fake::status(405))),
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        // More than a session lets lie about unwritten.
        let long = call("long").with_argument("message", "x".repeat(1_900_000));
        let handle = session.handle();
        let running = test_support::spawn(async move { handle.call_tool(long).await.map(drop) });
        fake::until(&mut seen, "tools/call").await;
        for _ in 0..10 {
            assert_eq!(said(&session.call_tool(call("short")).await.unwrap()), "fine");
        }
        running.abort();
        let _ = running.await;
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn redirects_are_not_followed() {
    guarded(async {
        let elsewhere = Fake::start(|asked, _| fine(asked)).await;
        let url = elsewhere.url();
        let server = Fake::start(move |asked, _| match asked.what() {
            "tools/call" => {
                let mut response = fake::status(307);
                response.headers_mut().insert("location", url.parse().unwrap());
                response
            }
            _ => greeting(asked).unwrap_or_else(|| fake::status(405)),
        })
        .await;
        // A client of the program's own would follow them, which is the default of reqwest.
        let follows = reqwest::Client::builder().redirect(reqwest::redirect::Policy::limited(10));
        let own = HttpConnections::build(follows).unwrap();
        let own = HttpClient::with_connections(own, server.url()).unwrap();
        for client in [transport(&server.url()), own] {
            let (session, _) = ready(client.header("x-api-key", "secret").unwrap()).await.unwrap();
            let error = session.call_tool(call("x")).await.unwrap_err();
            assert!(matches!(cause(&error), HttpError::Status { status: 307, .. }), "{error:?}");
            session.close().await.unwrap();
        }
        assert!(elsewhere.seen.lock().unwrap().is_empty(), "no other server receives anything");
    })
    .await;
}

#[tokio::test]
async fn the_session_is_not_deleted_before_its_last_message_is_taken() {
    guarded(async {
        let taken = std::sync::Arc::new(tokio::sync::Notify::new());
        let host = TestServer::listening().await;
        let given = std::sync::Arc::clone(&taken);
        // A server in front of the other one that takes its time over this notification alone.
        let (server, mut seen) = Fake::waiting(
            |asked, _| match asked.what() {
                "tools/call" => None,
                "notifications/cancelled" => Some(fake::status(202)),
                _ => Some(greeting(asked).unwrap_or_else(|| fake::status(405))),
            },
            move |asked| {
                let given = std::sync::Arc::clone(&given);
                let waits = asked.what() == "notifications/cancelled";
                async move {
                    if waits {
                        given.notified().await;
                    }
                }
            },
        )
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let handle = session.handle();
        let running = test_support::spawn(async move { handle.call_tool(call("x")).await.map(drop) });
        fake::until(&mut seen, "tools/call").await;
        running.abort();
        let _ = running.await;
        let closing = test_support::spawn(session.close());
        fake::until(&mut seen, "notifications/cancelled").await;
        // Others are served meanwhile, so there would be time enough.
        for _ in 0..50 {
            assert_eq!(host.ask(&Ask::get()).await.head.status, 400);
        }
        assert!(seen.try_recv().is_err(), "nothing came behind it");
        taken.notify_one();
        closing.await.unwrap().unwrap();
        fake::until(&mut seen, "DELETE").await;
    })
    .await;
}

/// The fake servers above predict the ids of calls.
#[tokio::test]
async fn the_first_call_has_the_second_id() {
    guarded(async {
        let server = Fake::start(|asked, _| match asked.what() {
            "tools/call" => fine(asked),
            _ => greeting(asked).unwrap_or_else(|| fake::status(405)),
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        session.call_tool(call("x")).await.unwrap();
        session.close().await.unwrap();
        let seen = server.seen.lock().unwrap();
        let ids: Vec<&Value> =
            seen.iter().filter(|asked| !asked.body["id"].is_null()).map(|asked| &asked.body["id"]).collect();
        assert_eq!(ids, [&json!(0), &json!(1)]);
    })
    .await;
}

#[tokio::test]
async fn a_call_for_which_there_is_no_room_was_not_delivered() {
    guarded(async {
        for status in [429, 503] {
            let server = Fake::start(move |asked, before| {
                let error = json!({ "code": -32000, "message": "the server is full" });
                let body = json!({ "jsonrpc": "2.0", "id": asked.body["id"], "error": error });
                greeting(asked).unwrap_or_else(|| match (asked.what(), before) {
                    ("GET", _) => fake::status(405),
                    (_, 0) => fake::text(status, "application/json", body.to_string()),
                    _ => fine(asked),
                })
            })
            .await;
            let (session, _) = ready(transport(&server.url())).await.unwrap();
            let error = session.call_tool(call("echo")).await.unwrap_err();
            assert!(error.is_unreachable(), "{error:?}");
            let Some(HttpError::Status { error: Some(said), .. }) = error.http() else { panic!("{error:?}") };
            assert_eq!(said.message, "the server is full");
            assert_eq!(said_by(&session).await, "fine");
        }
    })
    .await;
}

async fn said_by(session: &McpClient<Active>) -> String {
    said(&session.call_tool(call("echo")).await.unwrap()).to_owned()
}
