//! `version = each request.path`: a request of a version that this side does not speak is refused, wherever it comes.

use mcp_runtime::protocol::Side;
use mcp_runtime::{CheckedSession, Event, Options, Report};
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};
use tokio::sync::mpsc::unbounded_channel;

use crate::in_time;

mod guests {
    mcp_runtime::protocol!("protocols/versioned.session");
}

mod numbered {
    mcp_runtime::protocol!("protocols/numbered.session");
}

use guests::server::Incoming;
use guests::{Guest, Waiter};

/// Asks, and says this version; `null` for none.
async fn ask(raw: &mut Raw, id: i64, method: &str, version: Value) {
    let meta = if version.is_null() { json!({}) } else { json!({ "version": version }) };
    let params = json!({ "topic": "a", "_meta": meta });
    raw.say(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
}

async fn refused(raw: &mut Raw, id: i64, requested: &str, supported: Value) {
    let answer = in_time(raw.hear()).await.unwrap();
    assert_eq!(answer["id"], id, "{answer}");
    assert_eq!(answer["error"]["code"], -32005, "{answer}");
    assert_eq!(answer["error"]["data"], json!({ "supported": supported, "requested": requested }));
}

async fn answered(raw: &mut Raw, id: i64) -> Value {
    let answer = in_time(raw.hear()).await.unwrap();
    assert_eq!(answer["id"], id, "{answer}");
    answer["result"].clone()
}

#[tokio::test]
async fn a_request_of_another_version_is_refused_wherever_it_comes() {
    let (wire, mut raw) = raw();
    let (told, mut reports) = unbounded_channel();
    let options = Options::new().on_report(move |report| {
        if let Report::NegotiationFailed { error } = report {
            _ = told.send(error.to_string());
        }
    });
    let waiter = Waiter::with_options(wire, options);
    // A step of the session: the session waits on.
    let asking = async {
        ask(&mut raw, 1, "open", json!("1")).await;
        refused(&mut raw, 1, "1", json!(["2"])).await;
        ask(&mut raw, 2, "open", json!("2")).await;
    };
    let (opened, ()) = in_time(async { tokio::join!(waiter.recv_open(), asking) }).await;
    let waiter = opened.unwrap().1.send_opened(json!("welcome")).await.unwrap();
    assert_eq!(answered(&mut raw, 2).await, "welcome");
    // A replicated request, one that the library answers, and one that opens a sub-session.
    for (id, method) in [(3, "search"), (4, "ring"), (5, "follow")] {
        ask(&mut raw, id, method, json!("3")).await;
        refused(&mut raw, id, "3", json!(["2"])).await;
    }
    ask(&mut raw, 6, "ring", json!("2")).await;
    assert_eq!(answered(&mut raw, 6).await, json!({}));
    ask(&mut raw, 7, "follow", json!("2")).await;
    let Some(Incoming::Follow(_, following)) = in_time(waiter.incoming().next()).await else { panic!() };
    let following = following.send_followed(json!("a")).await.unwrap();
    assert_eq!(answered(&mut raw, 7).await, "a");
    // A request of a sub-session.
    let more = following.incoming();
    ask(&mut raw, 8, "more", json!("1")).await;
    refused(&mut raw, 8, "1", json!(["2"])).await;
    // One that says no version: whether it may, the type of its params says.
    ask(&mut raw, 9, "more", Value::Null).await;
    let Some(guests::server::FollowingIncoming::More(_, owed)) = in_time(more.next()).await else { panic!() };
    owed.respond(json!("news")).unwrap();
    assert_eq!(answered(&mut raw, 9).await, "news");
    for _ in [1, 3, 4, 5, 8] {
        let report = in_time(reports.recv()).await.unwrap();
        assert!(report.contains("this side accepts `2`"), "{report}");
    }
    assert!(reports.try_recv().is_err());
}

#[tokio::test]
async fn what_is_no_version_has_invalid_params() {
    let (wire, mut raw) = raw();
    let waiter = Waiter::new(wire);
    let asking = async {
        ask(&mut raw, 1, "open", json!(["2"])).await;
        let answer = in_time(raw.hear()).await.unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32602)), "{answer}");
        drop(raw);
    };
    let (opened, ()) = in_time(async { tokio::join!(waiter.recv_open(), asking) }).await;
    assert!(opened.is_err());
}

#[tokio::test]
async fn a_program_says_which_versions_it_serves() {
    for (options, served, supported) in [
        (Options::new().accept_versions(["1", "2"]), ["1", "2"], json!(["2", "1"])),
        (Options::new().accept_any_version(), ["1", "3"], Value::Null),
        // Another revision does not govern one request; it is only named.
        (Options::new().revisions([&numbered::PROTOCOL]), ["2", "2"], json!(["2", "3"])),
    ] {
        let (wire, mut raw) = raw();
        let mut waiter = CheckedSession::start(wire, &guests::PROTOCOL, Side::Server, options);
        for (id, version) in (1..).zip(served) {
            let message = if id == 1 { "open" } else { "search" };
            ask(&mut raw, id, message, json!(version)).await;
            let Event::Request { id: asked, .. } = in_time(waiter.next()).await.unwrap() else { panic!() };
            in_time(waiter.respond(&asked, &json!(null))).await.unwrap();
            assert_eq!(answered(&mut raw, id).await, Value::Null);
        }
        if !supported.is_null() {
            ask(&mut raw, 3, "search", json!("9")).await;
            tokio::select! {
                event = waiter.next() => panic!("{event:?}"),
                () = refused(&mut raw, 3, "9", supported) => {}
            }
        }
    }
}

#[tokio::test]
async fn a_request_that_this_side_does_not_speak_is_not_written() {
    let guest = Guest::new(raw().0);
    let error = match guest.send_open(json!({ "_meta": { "version": "1" } })).await {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it was written"),
    };
    assert!(error.contains("asks for version `1`, and this side accepts `2`"), "{error}");
}

#[tokio::test]
async fn a_numeric_version_is_a_number() {
    let (wire, mut raw) = raw();
    let mut waiter = CheckedSession::start(wire, &numbered::PROTOCOL, Side::Server, Options::new());
    for (id, version) in [(1, json!(2)), (2, json!("3"))] {
        raw.say(json!({ "jsonrpc": "2.0", "id": id, "method": "ask", "params": { "v": version } })).await;
        let answer = tokio::select! {
            event = waiter.next() => panic!("{event:?}"),
            answer = in_time(raw.hear()) => answer.unwrap(),
        };
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32602)), "{answer}");
    }
    raw.say(json!({ "jsonrpc": "2.0", "id": 3, "method": "ask", "params": { "v": 3 } })).await;
    let Event::Request { .. } = in_time(waiter.next()).await.unwrap() else { panic!() };
}
