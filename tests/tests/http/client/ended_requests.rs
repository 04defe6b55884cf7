//! Requests that end before their answer does: they are cancelled, or their session is lost.

use std::sync::Mutex;
use std::time::Duration;

use axum::response::Response;
use mcp_runtime::Error;
use mcp_runtime::transport::http::{ClientOptions, HttpClient, HttpError, ListenOptions, ServerOptions};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::fake::{self, Asked, Fake, until};
use super::proxy::Proxy;
use super::test_server::{TestServer, guarded};
use super::{call, ready, said, tools, transport};

/// How a server answers calls that it does not answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Not even the head comes.
    Nothing,
    Json,
    Stream,
}

const FORMS: [Form; 3] = [Form::Nothing, Form::Json, Form::Stream];

/// Dropped with the answer that is not given.
type Answer = mpsc::UnboundedSender<String>;

/// A server that answers the tool `hold` like that, each time with one of these; and that knows no session but the one
/// that it began last, once it was told to forget the others.
async fn holding(
    form: Form,
) -> (Fake, mpsc::UnboundedReceiver<Asked>, mpsc::UnboundedReceiver<Answer>, watch::Sender<&'static str>) {
    let (tell, answers) = mpsc::unbounded_channel();
    let (known, knows) = watch::channel("s0");
    let answer = move |asked: &Asked, before| Some(answer(form, asked, before, &tell, *knows.borrow()));
    let (server, seen) = Fake::waiting(answer, move |asked| {
        let waits = form == Form::Nothing && is_held(asked);
        async move {
            if waits {
                std::future::pending::<()>().await;
            }
        }
    })
    .await;
    (server, seen, answers, known)
}

fn is_held(asked: &Asked) -> bool {
    asked.what() == "tools/call" && asked.body["params"]["name"] == "hold"
}

fn answer(
    form: Form,
    asked: &Asked,
    before: usize,
    tell: &mpsc::UnboundedSender<Answer>,
    known: &str,
) -> Response {
    match asked.what() {
        "initialize" => fake::hello(asked, "2025-03-26", tools(), &format!("s{before}")),
        "GET" | "DELETE" => fake::status(405),
        _ if asked.header("mcp-session-id") != known => fake::status(404),
        _ if is_held(asked) => {
            let (say, response) = fake::open(match form {
                Form::Json => "application/json",
                Form::Nothing | Form::Stream => "text/event-stream",
            });
            tell.send(say).unwrap();
            response
        }
        "tools/call" => fake::result(asked, json!({ "content": [{ "type": "text", "text": "fine" }] })),
        _ => fake::status(202),
    }
}

#[tokio::test]
async fn the_connection_of_a_cancelled_call_is_released() {
    for form in FORMS {
        guarded(async {
            let (server, mut seen, mut answers, _known) = holding(form).await;
            let (session, _) = ready(transport(&server.url())).await.unwrap();
            let handle = session.handle();
            let running = test_support::spawn(async move { handle.call_tool(call("hold")).await.map(drop) });
            let answer = answers.recv().await.unwrap();
            running.abort();
            until(&mut seen, "notifications/cancelled").await;
            // It is not silent: from time to time it says that it is there.
            let mut pace = tokio::time::interval(Duration::from_millis(5));
            loop {
                tokio::select! {
                    () = answer.closed() => break,
                    _ = pace.tick() => drop(answer.send(if form == Form::Json { " " } else { ":\n\n" }.to_owned())),
                }
            }
            // The session goes on.
            assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "fine", "{form:?}");
            session.close().await.unwrap();
        })
        .await;
    }
}

#[tokio::test]
async fn a_stream_that_goes_on_behind_the_reply_is_let_go_of() {
    guarded(async {
        let (server, mut seen, mut answers, _known) = holding(Form::Stream).await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let handle = session.handle();
        let running = test_support::spawn(async move { handle.call_tool(call("hold")).await });
        let answer = answers.recv().await.unwrap();
        until(&mut seen, "tools/call").await;
        let id = server.seen.lock().unwrap().last().unwrap().body["id"].clone();
        let reply = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } });
        answer.send(format!("data: {reply}\n\n")).unwrap();
        running.await.unwrap().unwrap();
        answer.closed().await;
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn what_is_said_just_behind_the_reply_is_still_heard() {
    guarded(async {
        let (say, stream) = fake::open("text/event-stream");
        let streams = Mutex::new(Some(stream));
        let (server, mut seen) = Fake::holding(move |asked, _| {
            Some(match asked.what() {
                "initialize" => {
                    fake::hello(asked, "2025-03-26", json!({ "tools": { "listChanged": true } }), "s0")
                }
                "notifications/initialized" => fake::status(202),
                "tools/call" => streams.lock().unwrap().take().unwrap(),
                _ => fake::status(405),
            })
        })
        .await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let handle = session.handle();
        let running = test_support::spawn(async move { handle.call_tool(call("x")).await });
        until(&mut seen, "tools/call").await;
        let id = server.seen.lock().unwrap().last().unwrap().body["id"].clone();
        let reply = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } });
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        // Each is a piece of its own, but both are there.
        say.send(format!("data: {reply}\n\n")).unwrap();
        say.send(format!("data: {told}\n\n")).unwrap();
        running.await.unwrap().unwrap();
        let heard = session.incoming().next().await.unwrap();
        assert!(format!("{heard:?}").contains("ToolsListChanged"), "{heard:?}");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_connections_of_streams_are_kept() {
    guarded(async {
        let options = ServerOptions::default().stream_after(Duration::ZERO);
        let host = TestServer::listening_with(options, ListenOptions::default()).await;
        let proxy = Proxy::to(host.address()).await;
        let (session, _) = ready(transport(&proxy.url())).await.unwrap();
        for _ in 0..50 {
            session.call_tool(call("echo")).await.unwrap();
        }
        let connections = proxy.connections.load(std::sync::atomic::Ordering::SeqCst);
        assert!(connections <= 3, "an answer that was read to its end leaves its connection: {connections}");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_call_of_a_lost_session_fails_however_far_its_answer_is() {
    for form in FORMS {
        guarded(async {
            let (server, _seen, mut answers, known) = holding(form).await;
            let options = ClientOptions::default().replay_within(Duration::from_millis(1));
            let client = HttpClient::new(server.url()).unwrap().options(options);
            let (session, _) = ready(client).await.unwrap();
            let handle = session.handle();
            let running = test_support::spawn(async move { handle.call_tool(call("hold")).await });
            let answer = answers.recv().await.unwrap();
            known.send_replace("s1");
            assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "fine");
            match running.await.unwrap().unwrap_err() {
                Error::NotDelivered(error) => {
                    let error = error.downcast_ref().unwrap();
                    assert!(matches!(error, HttpError::SessionReplaced), "{form:?}: {error:?}");
                }
                other => panic!("{form:?}: {other:?}"),
            }
            answer.closed().await;
            session.close().await.unwrap();
        })
        .await;
    }
}

#[tokio::test]
async fn a_call_that_learns_late_of_the_loss_is_made_once_more() {
    guarded(async {
        let (tell, late) = watch::channel(false);
        let is_late =
            |asked: &Asked| asked.body["params"]["name"] == "late" && asked.header("mcp-session-id") == "s0";
        let answer = |asked: &Asked, before| {
            Some(match asked.what() {
                "initialize" => fake::hello(asked, "2025-03-26", tools(), &format!("s{before}")),
                "GET" | "DELETE" => fake::status(405),
                "tools/call" if asked.header("mcp-session-id") == "s0" => fake::status(404),
                "tools/call" => fake::result(asked, json!({ "content": [] })),
                _ => fake::status(202),
            })
        };
        let (server, mut seen) = Fake::waiting(answer, move |asked| {
            let (mut late, waits) = (late.clone(), is_late(asked));
            async move {
                if waits {
                    late.wait_for(|late| *late).await.unwrap();
                }
            }
        })
        .await;
        let options = ClientOptions::default().replay_within(Duration::from_secs(24 * 3600));
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, _) = ready(client).await.unwrap();
        let handle = session.handle();
        let running = test_support::spawn(async move { handle.call_tool(call("late")).await });
        until(&mut seen, "tools/call").await;
        session.call_tool(call("echo")).await.unwrap();
        tell.send_replace(true);
        running.await.unwrap().unwrap();
        session.close().await.unwrap();
        let begun = server.posted().iter().filter(|what| *what == "initialize").count();
        assert_eq!(begun, 2, "both share one reconnect");
    })
    .await;
}

#[tokio::test]
async fn an_answer_to_a_question_of_a_lost_session_is_not_given_to_the_next() {
    guarded(async {
        let (say, stream) = fake::open("text/event-stream");
        let streams = Mutex::new(Some(stream));
        let (server, mut seen) = Fake::holding(move |asked, before| {
            Some(match asked.what() {
                "initialize" => fake::hello(asked, "2025-03-26", tools(), &format!("s{before}")),
                "GET" => streams.lock().unwrap().take().unwrap_or_else(|| fake::status(405)),
                "DELETE" => fake::status(405),
                "tools/call" => fake::result(asked, json!({ "content": [] })),
                // The answer comes to a server that was started again.
                "POST" => fake::status(404),
                _ => fake::status(202),
            })
        })
        .await;
        let (session, reports) = ready(transport(&server.url())).await.unwrap();
        let serving = test_support::spawn(session.incoming().serve(super::Roots));
        let question = json!({ "jsonrpc": "2.0", "id": 0, "method": "roots/list" });
        say.send(format!("data: {question}\n\n")).unwrap();
        until(&mut seen, "POST").await;
        until(&mut seen, "notifications/initialized").await;
        session.call_tool(call("echo")).await.unwrap();
        session.close().await.unwrap();
        serving.await.unwrap();
        let seen = server.seen.lock().unwrap();
        let answers: Vec<&str> = seen
            .iter()
            .filter(|asked| asked.what() == "POST")
            .map(|asked| asked.header("mcp-session-id"))
            .collect();
        assert_eq!(answers, ["s0"]);
        let reports = reports.lock().unwrap();
        assert!(reports.iter().any(|report| report.contains("lost the session")), "{reports:?}");
    })
    .await;
}
