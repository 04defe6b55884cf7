//! Checked sessions, and conversions between checked and typed ones.

#![allow(missing_docs)]
// Helpers of tests say what they expect by panicking, as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod converting;
mod dropping;
mod inherited_restrictions;
mod late_messages;
mod restricting;
mod shapes;
mod sub_sessions;
mod violations;
mod whole_session;

use crate::protocols::{halves, help_desk, restaurant, restrictions, turns, two_channels, watching};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use test_support::raw;

use mcp_runtime::protocol::Side;
use mcp_runtime::transport::duplex;
use mcp_runtime::{CheckedSession, Event, Options, Report, RequestId};
use serde_json::{Value, json};

/// What a side reported, as text.
type Reports = Arc<Mutex<Vec<String>>>;

fn reporting() -> (Options, Reports) {
    let reports: Reports = Arc::default();
    let kept = Arc::clone(&reports);
    let options =
        Options::default().on_report(move |report: &Report| kept.lock().unwrap().push(report.to_string()));
    (options, reports)
}

/// A visitor and a clerk, neither of them typed, before the first message.
fn strangers() -> (CheckedSession, CheckedSession) {
    let (here, there) = duplex();
    let start = |end, side| CheckedSession::start(end, &help_desk::PROTOCOL, side, Options::default());
    (start(here, Side::Client), start(there, Side::Server))
}

fn hello() -> Value {
    json!({ "capabilities": { "approval": {} } })
}

fn welcome() -> Value {
    json!({ "capabilities": { "questions": {} } })
}

/// The same after the handshake, each in its state `Open`.
async fn open() -> (CheckedSession, CheckedSession) {
    let (mut visitor, mut clerk) = strangers();
    let asked = visitor.request("hello", &hello()).await.unwrap();
    let (id, _) = request(&mut clerk).await;
    clerk.respond(&id, &welcome()).await.unwrap();
    assert_eq!(reply(&mut visitor).await, (asked, welcome()));
    visitor.notify("ready", &()).await.unwrap();
    assert_eq!(notification(&mut clerk).await, ("ready".to_owned(), Value::Null));
    (visitor, clerk)
}

/// The next thing, which is a request.
#[track_caller]
fn as_request(event: Event) -> (RequestId, Value) {
    match event {
        Event::Request { id, params, .. } => (id, params.read().unwrap()),
        other => panic!("{other:?}"),
    }
}

/// The tests do not depend on timing; this only keeps a bug from hanging them.
async fn next(session: &mut CheckedSession) -> Event {
    tokio::time::timeout(Duration::from_secs(60), session.next()).await.unwrap().unwrap()
}

async fn request(session: &mut CheckedSession) -> (RequestId, Value) {
    as_request(next(session).await)
}

async fn reply(session: &mut CheckedSession) -> (RequestId, Value) {
    match next(session).await {
        Event::Reply { id, result, .. } => (id, result.read().unwrap()),
        other => panic!("{other:?}"),
    }
}

async fn notification(session: &mut CheckedSession) -> (String, Value) {
    match next(session).await {
        Event::Notification { method, params, .. } => (method.to_string(), params.read().unwrap()),
        other => panic!("{other:?}"),
    }
}

/// Whether nothing has come and nothing will before somebody does something.
async fn is_idle(session: &mut CheckedSession) -> bool {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let waker = std::task::Waker::noop();
    session.poll_next(&mut std::task::Context::from_waker(waker)).is_pending()
}
