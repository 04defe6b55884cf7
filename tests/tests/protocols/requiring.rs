//! `Options::require` where each request announces what its sender can do.

use mcp_runtime::Options;
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};
use tokio::sync::mpsc::unbounded_channel;

use crate::in_time;

mod guests {
    mcp_runtime::protocol!("protocols/requiring.session");
}

use guests::server::Incoming;
use guests::{Waiter, capabilities};

/// Asks, by a client with the capability or without it.
async fn ask(raw: &mut Raw, id: i64, method: &str, able: bool) {
    let can = if able { json!({ "partial": {} }) } else { json!({}) };
    let params = json!({ "topic": "a", "_meta": { "can": can } });
    raw.say(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
}

async fn refused(raw: &mut Raw, id: i64) {
    let answer = in_time(raw.hear()).await.unwrap();
    assert_eq!(answer["id"], id, "{answer}");
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let required = json!({ "requiredCapabilities": { "partial": {} } });
    assert_eq!(answer["error"]["data"], required, "{answer}");
}

async fn answered(raw: &mut Raw, id: i64) -> Value {
    let answer = in_time(raw.hear()).await.unwrap();
    assert_eq!(answer["id"], id, "{answer}");
    answer["result"].clone()
}

#[tokio::test]
async fn each_request_that_does_not_announce_it_is_refused() {
    let (wire, mut raw) = raw();
    let (told, mut reports) = unbounded_channel();
    let options = Options::new()
        .require([capabilities::PARTIAL])
        .on_report(move |report| _ = told.send(report.to_string()));
    let waiter = Waiter::with_options(wire, options);
    // A step of the session: the session waits on.
    let asking = async {
        ask(&mut raw, 1, "open", false).await;
        refused(&mut raw, 1).await;
        ask(&mut raw, 2, "open", true).await;
    };
    let (opened, ()) = in_time(async { tokio::join!(waiter.recv_open(), asking) }).await;
    let waiter = opened.unwrap().1.send_opened(json!("welcome")).await.unwrap();
    assert_eq!(answered(&mut raw, 2).await, "welcome");
    // A replicated request, and one that opens a sub-session.
    for (id, method) in [(3, "search"), (4, "follow")] {
        ask(&mut raw, id, method, false).await;
        refused(&mut raw, id).await;
    }
    ask(&mut raw, 5, "follow", true).await;
    let Some(Incoming::Follow(_, following)) = in_time(waiter.incoming().next()).await else { panic!() };
    let following = following.send_followed(json!("a")).await.unwrap();
    assert_eq!(answered(&mut raw, 5).await, "a");
    // A request of a sub-session.
    let more = following.incoming();
    ask(&mut raw, 6, "more", false).await;
    refused(&mut raw, 6).await;
    ask(&mut raw, 7, "more", true).await;
    let Some(guests::server::FollowingIncoming::More(_, owed)) = in_time(more.next()).await else { panic!() };
    owed.respond(json!("news")).unwrap();
    assert_eq!(answered(&mut raw, 7).await, "news");
    for _ in [1, 3, 4, 6] {
        let report = in_time(reports.recv()).await.unwrap();
        assert!(report.contains("partial"), "{report}");
    }
    assert!(reports.try_recv().is_err());
}
