//! Spans and events of a session in `tracing`.

#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use crate::protocols::watching;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use test_support::raw;

use crate::protocols::help_desk::{Clerk, Open, Visitor, client, server};
use crate::protocols::watching::{Watched, Watcher};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, RpcError};
use serde_json::json;
use test_support::recorder::Recorder;

async fn open() -> (Visitor<Open>, Clerk<Open>) {
    let (near, far) = duplex();
    let clerk = async {
        let (_, clerk) = Clerk::new(far).recv_hello().await.unwrap();
        let clerk = clerk.send_welcome(json!({"capabilities": {"questions": {}}})).await.unwrap();
        clerk.recv_ready().await.unwrap()
    };
    let visitor = async {
        let (_, visitor) = Visitor::new(near).hello(json!({"capabilities": {"approval": {}}})).await.unwrap();
        visitor.send_ready().await.unwrap()
    };
    tokio::join!(visitor, clerk)
}

struct Telling;

impl server::Handler for Telling {
    async fn ask(&self, context: server::Context, question: String) -> Result<String, RpcError> {
        tokio::task::yield_now().await;
        tracing::info!(question, "the handler works");
        match question.as_str() {
            "refuse" => Err(RpcError::new(7, "no")),
            "never" => {
                context.cancelled().await;
                Ok(question)
            }
            _ => Ok(question),
        }
    }

    async fn look(
        &self,
        context: server::Context,
        _: Option<serde_json::Value>,
    ) -> Result<serde_json::Value, RpcError> {
        context.cancelled().await;
        Ok(json!(null))
    }
}

/// The number of a session differs from test to test.
fn is_session(path: &str, side: &str) -> bool {
    path.starts_with("session{protocol=Desk,version=1,side=") && path.contains(&format!("side={side},"))
}

#[tokio::test]
async fn exchanges_are_spans_within_the_span_of_their_session() {
    let recorder = Recorder::here();
    let (visitor, clerk) = open().await;
    test_support::spawn(clerk.incoming().serve(Telling));
    assert_eq!(visitor.ask("fine".into()).await.unwrap(), "fine");
    visitor.ask("refuse".into()).await.unwrap_err();
    let late = visitor.ask("never".into()).timeout(Duration::from_millis(1)).await;
    assert!(matches!(late, Err(Error::Timeout { .. })));
    let late = visitor.look(None).timeout(Duration::from_millis(1)).await;
    assert!(matches!(late, Err(Error::Timeout { .. })));
    let mut call = visitor.ask("never".into());
    let canceller = call.canceller();
    let (outcome, ()) = tokio::join!(call, async { canceller.cancel().unwrap() });
    outcome.unwrap_err();
    visitor.ping().await.unwrap();
    visitor.abort();
    drop(clerk);
    let of = |side: &str, from: &str| {
        let ended = recorder.spans(|span| span.name == "exchange" && is_session(&span.parent, side));
        let mine = ended.into_iter().filter(|span| span.field("from") == from);
        mine.map(|span| format!("{} {} {}", span.field("id"), span.field("method"), span.field("outcome")))
            .collect::<Vec<_>>()
    };
    let expected = [
        "0 hello result",
        "1 ask result",
        "2 ask error 7",
        "3 ask timeout",
        "4 look timeout",
        "5 ask cancelled",
        "6 ping result",
    ];
    assert_eq!(of("client", "here"), expected);
    let mut expected = expected.map(str::to_owned);
    // What the other side waits no longer for is cancelled here, or goes on.
    expected[3] = "3 ask cancelled".to_owned();
    expected[4] = "4 look ".to_owned();
    assert_eq!(of("server", "peer"), expected);
    // The handler's own words stand in the span of what it works on.
    let events = recorder.events();
    let works = events.iter().find(|event| event.text == "the handler works question=fine").unwrap();
    assert!(is_session(&works.within, "server"), "{works:?}");
    assert!(works.within.contains("/exchange{method=ask,id=1,from=peer"), "{works:?}");
}

#[tokio::test]
async fn states_and_ends_are_events_and_every_span_is_closed() {
    let recorder = Recorder::here();
    let (visitor, clerk) = open().await;
    let (closed, next) = tokio::join!(visitor.close(), clerk.next());
    closed.unwrap();
    drop(next);
    let told = |side: &str| {
        let events = recorder.events();
        let mine = events.into_iter().filter(|event| is_session(&event.within, side));
        mine.map(|event| format!("{} {}", event.level, event.text)).collect::<Vec<_>>()
    };
    let client = [
        "DEBUG state from=Greeting to=AwaitingWelcome",
        "DEBUG state from=AwaitingWelcome to=Greeted",
        "DEBUG state from=Greeted to=Open",
        "DEBUG ended reason=the session is closed",
    ];
    assert_eq!(told("client"), client);
    let server = told("server");
    assert_eq!(server[1], "DEBUG state from=BeforeWelcome to=Greeted");
    assert_eq!(server[3], "DEBUG ended reason=the session has ended: the peer closed the connection");
    // The last holder of a session may be its transport.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(recorder.open(), Vec::<String>::new());
}

#[tokio::test]
async fn the_states_of_sub_sessions_are_traced_with_their_numbers() {
    let recorder = Recorder::here();
    let (near, far) = duplex();
    let (watcher, watched) = (Watcher::new(near), Watched::new(far));
    let welcoming = async { watched.recv_hello().await.unwrap().send_welcome().await.unwrap() };
    let (watcher, watched) = tokio::join!(watcher.hello(), welcoming);
    let (watcher, incoming) = (watcher.unwrap(), watched.incoming());
    let uri = |uri: &str| json!({ "uri": uri });
    let serving = async {
        let Some(watching::server::Incoming::Subscribe(_, first)) = incoming.next().await else { panic!() };
        let first = first.send_subscribed(json!({})).await.unwrap();
        let Some(watching::server::Incoming::Subscribe(_, second)) = incoming.next().await else { panic!() };
        let mut second = second.send_subscribed(json!({})).await.unwrap();
        // This changes no state.
        second.send_updated(uri("b")).await.unwrap();
        let (_, first) = first.recv_unsubscribe().await.unwrap();
        first.send_unsubscribed(json!({})).await.unwrap();
        second
    };
    let asking = async {
        let (_, first) = watcher.subscribe(uri("a")).await.unwrap();
        let (_, second) = watcher.subscribe(uri("b")).await.unwrap();
        first.unsubscribe(uri("a")).await.unwrap();
        second
    };
    let (_second, _watched) = tokio::join!(asking, serving);
    for (side, waits) in [("client", "Awaiting"), ("server", "Before")] {
        let events = recorder.events();
        let sub_sessions: Vec<_> = events
            .iter()
            .filter(|event| {
                event.within.contains(&format!("side={side},")) && event.text.contains(" sub_session=")
            })
            .map(|event| format!("{} {}", event.level, event.text))
            .collect();
        let expected = [
            format!("DEBUG state sub_session=0 to={waits}Subscribed"),
            format!("DEBUG state sub_session=0 from={waits}Subscribed to=AfterSubscribed"),
            format!("DEBUG state sub_session=1 to={waits}Subscribed"),
            format!("DEBUG state sub_session=1 from={waits}Subscribed to=AfterSubscribed"),
            format!("DEBUG state sub_session=0 from=AfterSubscribed to={waits}Unsubscribed"),
            format!("DEBUG state sub_session=0 from={waits}Unsubscribed"),
        ];
        assert_eq!(sub_sessions, expected, "{side}");
    }
}

#[tokio::test]
async fn what_the_peer_does_wrong_is_a_warning_in_the_span_of_the_session() {
    let recorder = Recorder::here();
    let (wire, mut peer) = raw::raw();
    let clerk = Clerk::new(wire);
    peer.ask(json!({"jsonrpc":"2.0","id":"a","method":"ask","params":"secret"})).await;
    peer.say(json!({"jsonrpc":"2.0","method":"nonsense","params":"secret"})).await;
    peer.ask(json!({"jsonrpc":"2.0","id":"b","method":"ping"})).await;
    let warnings: Vec<_> = recorder.events().into_iter().filter(|event| event.level == "WARN").collect();
    assert_eq!(warnings.len(), 2, "{warnings:#?}");
    assert!(warnings.iter().all(|event| is_session(&event.within, "server")), "{warnings:#?}");
    assert!(warnings[0].text.contains("`ask` is not permitted in `Greeting`"), "{warnings:#?}");
    // Payloads may hold anything.
    assert!(!format!("{:?}", (recorder.events(), recorder.spans(|_| true))).contains("secret"));
    clerk.abort();
}

#[tokio::test]
async fn what_comes_too_late_for_its_request_is_an_event() {
    let recorder = Recorder::here();
    let (wire, mut peer) = raw::raw();
    let clerk = Clerk::new(wire);
    peer.say(json!({"jsonrpc":"2.0","id":0,"method":"hello","params":{"capabilities":{}}})).await;
    let (_, clerk) = clerk.recv_hello().await.unwrap();
    let clerk = clerk.send_welcome(json!({"capabilities": {"questions": {}}})).await.unwrap();
    peer.hear().await.unwrap();
    peer.say(json!({"jsonrpc":"2.0","method":"ready"})).await;
    let clerk = clerk.recv_ready().await.unwrap();
    test_support::spawn(clerk.incoming().serve(Telling));
    peer.ask(json!({"jsonrpc":"2.0","id":"a","method":"ask","params":"fine"})).await;
    peer.say(json!({"jsonrpc":"2.0","method":"cancelled","params":{"requestId":"a"}})).await;
    peer.ask(json!({"jsonrpc":"2.0","id":"b","method":"ping"})).await;
    let events = recorder.events();
    let ignored: Vec<_> = events.iter().filter(|event| event.text.starts_with("ignored")).collect();
    let [ignored] = ignored[..] else { panic!("{events:#?}") };
    assert_eq!((&*ignored.level, &*ignored.text), ("DEBUG", r#"ignored method=cancelled id="a""#));
    assert!(is_session(&ignored.within, "server"), "{ignored:?}");
    clerk.abort();
}

#[tokio::test]
async fn a_subscriber_may_use_the_session() {
    let (visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    let handle: client::Handle = visitor.handle();
    let told = Arc::new(AtomicUsize::new(0));
    let (count, sessions) = (Arc::clone(&told), handle.clone());
    let recorder = Recorder::calling(move || {
        count.fetch_add(1, Ordering::SeqCst);
        // This locks the session, so no task may hold its lock now.
        assert!(!format!("{sessions:?}").is_empty());
    });
    let asking = async {
        let Some(server::Incoming::Ask(question, responder)) = incoming.next().await else { panic!() };
        responder.respond(question).unwrap();
    };
    let (answer, ()) = tokio::join!(handle.ask("?".into()), asking);
    assert_eq!(answer.unwrap(), "?");
    visitor.abort();
    assert!(told.load(Ordering::SeqCst) > 0);
    drop(recorder);
}

#[tokio::test]
async fn a_subscriber_gets_only_its_level() {
    let recorder = Recorder::at(tracing::Level::INFO);
    let (visitor, clerk) = open().await;
    test_support::spawn(clerk.incoming().serve(Telling));
    visitor.ask("fine".into()).await.unwrap();
    let spans = recorder.spans(|_| true);
    assert!(spans.iter().all(|span| span.name == "session"), "{spans:?}");
    let events = recorder.events();
    assert_eq!(events.len(), 1, "{events:?}");
    // Without spans for exchanges a handler runs in no other span than its program's.
    assert_eq!(events[0].text, "the handler works question=fine");
}
