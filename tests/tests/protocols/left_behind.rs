//! What comes behind a cancel, and what is sent behind an end, is neither lost nor out of order.

use std::sync::{Arc, Mutex};

use mcp_runtime::protocol::Side;
use mcp_runtime::{CheckedSession, Error, Event, Options, Report, ViolationKind};
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};

use crate::in_time;

mod signing {
    mcp_runtime::protocol!("protocols/signing.session");
}

use signing::client::DeskNext;
use signing::types::{SignedResult, WatchParams};

fn sign(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "sign", "params": {"page": id}})
}

fn said(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// A page that is cancelled at once, with mail and another page behind it.
async fn cancelled_page(office: &mut Raw) {
    for message in [sign(1), said("cancel", json!({"id": 1})), said("mail", json!({"number": 7})), sign(2)] {
        office.say(message).await;
    }
}

fn counted() -> (Options, Arc<Mutex<Vec<String>>>) {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&reports);
    (Options::new().on_report(move |report: &Report| kept.lock().unwrap().push(report.to_string())), reports)
}

#[tokio::test]
async fn what_comes_behind_the_cancel_of_a_step_is_an_event_in_its_place() {
    let (wire, mut office) = raw();
    let (options, reports) = counted();
    let mut clerk = CheckedSession::start(wire, &signing::PROTOCOL, Side::Client, options);
    cancelled_page(&mut office).await;
    let mut events = Vec::new();
    while events.len() < 4 {
        events.push(match in_time(clerk.next()).await.unwrap() {
            Event::Request { id, .. } => format!("sign {id}"),
            Event::Cancelled { id } => format!("cancelled {id}"),
            Event::Notification { method, .. } => method.to_string(),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(events, ["sign 1", "cancelled 1", "mail", "sign 2"]);
    assert!(reports.lock().unwrap().is_empty(), "{reports:?}");
}

#[tokio::test]
async fn what_comes_behind_the_cancel_of_a_step_is_not_lost_to_a_typed_value() {
    let (wire, mut office) = raw();
    let (options, reports) = counted();
    let clerk = signing::Clerk::with_options(wire, options);
    cancelled_page(&mut office).await;
    let DeskNext::Sign(page, clerk) = in_time(clerk.next()).await.unwrap() else { panic!("not the page") };
    assert_eq!(page.page, 1);
    // Nothing is sent: the office has cancelled it.
    let clerk = in_time(clerk.send_signed(SignedResult::new("me"))).await.unwrap();
    let DeskNext::Mail(mail, clerk) = in_time(clerk.next()).await.unwrap() else { panic!("not the mail") };
    assert_eq!(mail.number, 7);
    let DeskNext::Sign(page, _clerk) = in_time(clerk.next()).await.unwrap() else { panic!("not the page") };
    assert_eq!(page.page, 2);
    assert!(reports.lock().unwrap().is_empty(), "{reports:?}");
}

#[tokio::test]
async fn a_sub_session_that_is_over_sends_nothing_and_says_so() {
    let (wire, mut office) = raw();
    let press = json!({"press": "a"});
    let mut clerk = CheckedSession::start(wire, &signing::PROTOCOL, Side::Client, Options::new());
    let mut watching = clerk.open("watch", &press).await.unwrap();
    assert_eq!(office.hear().await.unwrap()["method"], "watch");
    watching.notify("glance", &press).await.unwrap();
    assert_eq!(office.hear().await.unwrap()["method"], "glance");
    office.say(said("stopped", press.clone())).await;
    assert!(matches!(in_time(watching.next()).await, Ok(Event::Notification { .. })));
    assert_eq!(watching.permitted(), []);
    assert_eq!(watching.permits("glance").unwrap_err().kind, ViolationKind::Over);
    assert!(matches!(watching.notify("glance", &press).await, Err(Error::Closed)));
}

#[tokio::test]
async fn a_handle_of_a_sub_session_that_is_over_sends_nothing_and_says_so() {
    let (wire, mut office) = raw();
    let clerk = signing::Clerk::new(wire);
    let watching = clerk.send_watch(WatchParams::new("a")).await.unwrap();
    let handle = watching.handle();
    assert_eq!(office.hear().await.unwrap()["method"], "watch");
    office.say(said("stopped", json!({"press": "a"}))).await;
    in_time(watching.recv_stopped()).await.unwrap();
    let glance = signing::types::GlanceParams::new("a");
    assert!(matches!(handle.send_glance(glance).await, Err(Error::Closed)));
}
