//! Servers that lose a session.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use mcp_protocols::mcp_2025_03_26::{McpError, client};
use mcp_protocols::types::{ListRootsResult, RequestParams, ResourceParams};
use mcp_runtime::error::ReconnectError;
use mcp_runtime::transport::http::{ClientOptions, HttpClient, ListenOptions, ServerOptions};
use mcp_runtime::{DisconnectReason, Error, RpcError};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

use super::fake::{self, Asked, Fake, until};
use super::test_server::{TestServer, guarded};
use super::wire::Ask;
use super::{Roots, call, ready, said, start, tools, transport};

/// Has the server forget every session, as if it had been started again.
async fn forget(host: &TestServer) {
    for id in host.ids() {
        assert_eq!(host.ask(&Ask::method("DELETE").session(&id)).await.head.status, 204);
    }
}

#[tokio::test]
async fn it_is_reconnected_and_the_call_made_once_more() {
    guarded(async {
        let host = TestServer::listening().await;
        let (session, reports) = ready(transport(&host.url())).await.unwrap();
        let handle = session.handle();
        for round in 1..=3 {
            forget(&host).await;
            assert_eq!(said(&handle.call_tool(call("echo")).await.unwrap()), "hello");
            assert_eq!(host.server.session_count(), 1);
            let renewed =
                reports.lock().unwrap().iter().filter(|report| report.contains("reconnected")).count();
            assert_eq!(renewed, round, "{:?}", reports.lock().unwrap());
        }
        session.close().await.unwrap();
        assert_eq!(host.server.session_count(), 0);
    })
    .await;
}

#[tokio::test]
async fn calls_that_notice_at_the_same_time_share_it() {
    guarded(async {
        let host = TestServer::listening().await;
        let (session, reports) = ready(transport(&host.url())).await.unwrap();
        forget(&host).await;
        let calls = (0..20).map(|_| {
            let handle = session.handle();
            test_support::spawn(async move {
                handle.call_tool(call("echo")).await.map(|result| said(&result).to_owned())
            })
        });
        for call in calls.collect::<Vec<_>>() {
            assert_eq!(call.await.unwrap().unwrap(), "hello");
        }
        assert_eq!(host.ids().len(), 1, "one more, and no others");
        assert_eq!(reports.lock().unwrap().iter().filter(|report| report.contains("reconnected")).count(), 1);
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_call_that_was_running_fails_and_does_not_hang() {
    guarded(async {
        // Its answer is a stream, so it was accepted and is not made once more.
        let options = ServerOptions::default()
            .stream_after(std::time::Duration::ZERO)
            .retry(std::time::Duration::from_millis(5));
        let host = TestServer::listening_with(options, ListenOptions::default()).await;
        let (session, _) = ready(transport(&host.url())).await.unwrap();
        let handle = session.handle();
        let running = test_support::spawn(async move { handle.call_tool(call("hold")).await });
        while host.gates.holding.load(std::sync::atomic::Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        forget(&host).await;
        assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "hello");
        match running.await.unwrap().unwrap_err() {
            Error::NotDelivered(_) => {}
            other => panic!("{other:?}"),
        }
        session.close().await.unwrap();
    })
    .await;
}

/// A server that knows no session but the latest, and of each generation says something else.
async fn forgetful(versions: &'static [&'static str]) -> Fake {
    Fake::start(move |asked, before| match asked.what() {
        "initialize" => match versions.get(before) {
            Some(&"refused") => {
                let error =
                    json!({"jsonrpc":"2.0","id":asked.body["id"],"error":{"code":-32000,"message":"enough"}});
                fake::text(200, "application/json", error.to_string())
            }
            Some(version) => fake::hello(asked, version, tools(), &format!("s{before}")),
            None => fake::status(500),
        },
        "GET" | "DELETE" => fake::status(405),
        "notifications/initialized" => fake::status(202),
        _ => fake::status(404),
    })
    .await
}

async fn ends(server: &Fake) -> ReconnectError {
    let (session, _) = ready(transport(&server.url())).await.unwrap();
    let error: McpError = session.call_tool(call("echo")).await.unwrap_err();
    let Error::Disconnected { reason: DisconnectReason::SessionInvalid(renewal) } = error else {
        panic!("{error:?}")
    };
    // It is over for everybody.
    assert!(matches!(session.list_tools(None).await, Err(Error::Disconnected { .. })));
    renewal
}

/// The sessions that were deleted.
fn deleted(server: &Fake) -> Vec<String> {
    let seen = server.seen.lock().unwrap();
    let deleted = seen.iter().filter(|asked| asked.what() == "DELETE");
    deleted.map(|asked| asked.header("mcp-session-id").to_owned()).collect()
}

#[tokio::test]
async fn another_version_ends_it() {
    guarded(async {
        let server = forgetful(&["2025-03-26", "2025-06-18"]).await;
        match ends(&server).await {
            ReconnectError::OtherVersion { before, now } => {
                assert_eq!((&*before, &*now), ("2025-03-26", "2025-06-18"))
            }
            other => panic!("{other:?}"),
        }
        let posted = ["initialize", "notifications/initialized", "tools/call", "initialize"];
        assert_eq!(server.posted(), posted);
        // What was begun in vain is not left at the server.
        while !deleted(&server).contains(&"s1".to_owned()) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_refusal_ends_it() {
    guarded(async {
        let server = forgetful(&["2025-03-26", "refused"]).await;
        match ends(&server).await {
            ReconnectError::Refused(error) => assert_eq!(error.message, "enough"),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test]
async fn a_session_that_is_lost_again_at_once_ends() {
    guarded(async {
        let server = forgetful(&["2025-03-26", "2025-03-26", "2025-03-26"]).await;
        assert!(matches!(ends(&server).await, ReconnectError::LostAgain));
        let again = ["initialize", "notifications/initialized", "tools/call"];
        assert_eq!(server.posted(), [again, again].concat());
    })
    .await;
}

#[tokio::test]
async fn what_the_server_can_do_is_what_it_says_the_second_time() {
    guarded(async {
        let server = Fake::start(|asked, before| match asked.what() {
            "initialize" if before == 0 => fake::hello(asked, "2025-03-26", tools(), "s0"),
            "initialize" => fake::hello(asked, "2025-03-26", json!({ "prompts": {} }), "s1"),
            "GET" | "DELETE" => fake::status(405),
            "notifications/initialized" => fake::status(202),
            _ if asked.header("mcp-session-id") == "s0" => fake::status(400),
            _ => fake::result(asked, json!({ "tools": [], "prompts": [] })),
        })
        .await;
        // This one says 400 of sessions that it does not know, as some do.
        let options = ClientOptions::default().unknown_session(vec![400, 404]);
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, _) = ready(client).await.unwrap();
        assert!(matches!(session.list_prompts(None).await, Err(Error::NotPermitted(_))));
        session.list_tools(None).await.unwrap();
        assert!(matches!(session.list_tools(None).await, Err(Error::NotPermitted(_))));
        session.list_prompts(None).await.unwrap();
        drop(client::Handle::clone(&session.handle()));
        session.close().await.unwrap();
    })
    .await;
}

/// A server that answers calls in its first session, and in all of them if `always`, with 400 and a text, in which `$id` is the
/// id of the call.
async fn answering_400(said: &'static str, always: bool) -> Fake {
    Fake::start(move |asked, before| match asked.what() {
        "initialize" => fake::hello(asked, "2025-03-26", tools(), &format!("s{before}")),
        "GET" | "DELETE" => fake::status(405),
        "notifications/initialized" => fake::status(202),
        "tools/call" if always || asked.header("mcp-session-id") == "s0" => {
            fake::text(400, "application/json", said.replace("$id", &asked.body["id"].to_string()))
        }
        _ => fake::result(asked, json!({ "content": [], "tools": [] })),
    })
    .await
}

/// What servers say that are written as the examples of the TypeScript SDK are.
const NO_VALID_SESSION: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#;

#[tokio::test]
async fn a_server_may_say_400_and_that_it_is_about_the_session() {
    guarded(async {
        for said in [NO_VALID_SESSION, "Invalid or missing session ID"] {
            let server = answering_400(said, false).await;
            let (session, reports) = ready(transport(&server.url())).await.unwrap();
            session.call_tool(call("echo")).await.unwrap();
            assert!(reports.lock().unwrap().iter().any(|report| report.contains("reconnected")), "{said}");
            session.close().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_with_400_that_is_not_about_the_session_is_that_of_its_call() {
    guarded(async {
        // The next session does not know it either: it is about the call.
        let server = answering_400(NO_VALID_SESSION, true).await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let error = session.call_tool(call("echo")).await.unwrap_err();
        assert!(error.to_string().contains("No valid session ID provided"), "{error}");
        session.list_tools(None).await.unwrap();
        assert_eq!(server.posted().iter().filter(|what| *what == "initialize").count(), 2);
        session.close().await.unwrap();

        let own = r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"no session of that name"},"id":$id}"#;
        let server = answering_400(own, true).await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let error = session.call_tool(call("echo")).await.unwrap_err();
        assert!(matches!(&error, Error::Refused(error) if error.code == -32602), "{error:?}");
        assert_eq!(server.posted().iter().filter(|what| *what == "initialize").count(), 1);
        session.close().await.unwrap();
    })
    .await;
}

/// A server that loses its first session when a tool is called in it, and asks for the roots in each of its sessions,
/// under the id 0.
async fn asking() -> (Fake, mpsc::UnboundedReceiver<Asked>) {
    let asked_in = Mutex::new(HashSet::new());
    Fake::holding(move |asked, before| {
        let session = asked.header("mcp-session-id").to_owned();
        Some(match asked.what() {
            "initialize" => {
                let can = json!({ "tools": {}, "resources": { "subscribe": true } });
                fake::hello(asked, "2025-03-26", can, &format!("s{before}"))
            }
            "GET" if asked_in.lock().unwrap().insert(session.clone()) => {
                let roots = json!({ "jsonrpc": "2.0", "id": 0, "method": "roots/list" });
                fake::text(200, "text/event-stream", format!("data: {roots}\n\n"))
            }
            "GET" => return None,
            "DELETE" => fake::status(405),
            "tools/call" if session == "s0" => fake::status(404),
            "tools/call" => fake::result(asked, json!({ "content": [] })),
            "resources/subscribe" => fake::result(asked, json!({})),
            _ => fake::status(202),
        })
    })
    .await
}

/// Answers in the second session at once, and in the first when it may.
struct Slow {
    begun: mpsc::UnboundedSender<()>,
    may: Arc<Semaphore>,
    done: mpsc::UnboundedSender<Result<(), Error>>,
}

impl client::Handler for Slow {
    async fn list_roots(
        &self,
        context: client::Context,
        params: Option<RequestParams>,
    ) -> Result<ListRootsResult, RpcError> {
        let _ = self.begun.send(());
        if self.may.try_acquire().map(tokio::sync::SemaphorePermit::forget).is_err() {
            context.cancelled().await;
            // The handler is notified, and messages that it still sends are dropped.
            let told = context.peer().send_roots_list_changed().await;
            let _ = self.done.send(told);
        }
        Roots.list_roots(context, params).await
    }
}

#[tokio::test]
async fn the_new_session_has_ids_of_its_own_and_answers_of_the_lost_one_are_dropped() {
    guarded(async {
        let (server, mut seen) = asking().await;
        let (session, _) = start(transport(&server.url()));
        let ((begun, mut beginning), (done, mut ends)) =
            (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        let may = Arc::new(Semaphore::new(0));
        let slow = Slow { begun, may: Arc::clone(&may), done };
        test_support::spawn(session.incoming().serve(slow));
        let (_, session) = session.initialize(super::initialize()).await.unwrap();
        let session = session.send_initialized().await.unwrap();
        // Somebody works on what the first session has asked.
        beginning.recv().await.unwrap();
        may.add_permits(1);
        session.call_tool(call("echo")).await.unwrap();
        assert!(matches!(ends.recv().await.unwrap(), Err(Error::SessionReplaced)));
        until(&mut seen, "POST").await;
        // A call more, so that whatever else there might be has been posted.
        session.call_tool(call("echo")).await.unwrap();
        session.close().await.unwrap();
        let seen = server.seen.lock().unwrap();
        let answers: Vec<_> = seen.iter().filter(|asked| asked.what() == "POST").collect();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!((answers[0].header("mcp-session-id"), &answers[0].body["id"]), ("s1", &json!(0)));
        assert_eq!(answers[0].body["result"]["roots"].as_array().unwrap().len(), 2);
        assert!(seen.iter().all(|asked| asked.what() != "notifications/roots/list_changed"));
    })
    .await;
}

#[tokio::test]
async fn sub_sessions_of_it_are_over_and_may_be_opened_again() {
    guarded(async {
        let (server, _) = asking().await;
        let (session, _) = ready(transport(&server.url())).await.unwrap();
        let mut old = session.subscribe(ResourceParams::new("file:///a")).await.unwrap();
        session.call_tool(call("echo")).await.unwrap();
        assert!(matches!(old.recv_resource_updated().await, Err(Error::SessionReplaced)));
        let new = session.subscribe(ResourceParams::new("file:///a")).await.unwrap();
        drop(old);
        session.call_tool(call("echo")).await.unwrap();
        session.close().await.unwrap();
        drop(new);
        let begin = ["initialize", "notifications/initialized"];
        let lost = ["resources/subscribe", "tools/call"];
        let posted =
            [&begin[..], &lost, &begin, &["tools/call", "resources/subscribe", "tools/call"]].concat();
        assert_eq!(server.posted(), posted, "no request is cancelled that the server does not know");
    })
    .await;
}
