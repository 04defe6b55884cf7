//! What comes late announces all the same: its sender has said it, and goes by it.

use mcp_runtime::observer::Observer;
use mcp_runtime::protocol::Side;
use mcp_runtime::{CheckedSession, Event, Options, Report};
use serde_json::{Value, json};
use test_support::raw::raw;
use tokio::sync::mpsc::unbounded_channel;

use crate::in_time;

mod notices {
    mcp_runtime::protocol!("protocols/announcing.session");
}

fn can() -> Value {
    json!({ "can": { "changes": {} } })
}

/// What the server says late, by the name of what it crosses.
fn late(crossing: &str) -> Value {
    match crossing {
        "cancel" => json!({ "jsonrpc": "2.0", "id": 0, "result": can() }),
        "stop" => json!({ "jsonrpc": "2.0", "method": "told", "params": can() }),
        _ => json!({ "jsonrpc": "2.0", "method": "granted", "params": { "can": "changes" } }),
    }
}

fn changed() -> Value {
    json!({ "jsonrpc": "2.0", "method": "changed" })
}

#[tokio::test]
async fn a_session_takes_what_a_late_message_has_announced() {
    for crossing in ["cancel", "stop", "stop, and grants"] {
        let (wire, mut raw) = raw();
        let (told, mut reports) = unbounded_channel();
        let options = Options::new().on_report(move |report| {
            if let Report::Violation(violation) = report {
                _ = told.send(violation.to_string());
            }
        });
        let mut guest = CheckedSession::start(wire, &notices::PROTOCOL, Side::Client, options);
        if crossing == "cancel" {
            let id = in_time(guest.request("discover", &json!({}))).await.unwrap();
            guest.cancel(&id).unwrap();
            assert!(matches!(in_time(guest.next()).await.unwrap(), Event::Failed { .. }));
        } else {
            in_time(guest.notify("stop", &json!({}))).await.unwrap();
        }
        raw.say(late(crossing)).await;
        raw.say(changed()).await;
        let event = tokio::select! {
            event = in_time(guest.next()) => event.unwrap(),
            refused = reports.recv() => panic!("{crossing}: {refused:?}"),
        };
        let Event::Notification { message, .. } = event else { panic!("{crossing}: {event:?}") };
        assert_eq!(guest.protocol().message(message).unwrap().name, "Changed");
        assert!(reports.try_recv().is_err());
    }
}

#[test]
fn an_observer_goes_by_what_a_late_message_has_announced() {
    for crossing in ["cancel", "stop", "stop, and grants"] {
        let first = match crossing {
            "cancel" => vec![
                json!({ "jsonrpc": "2.0", "id": 0, "method": "discover", "params": {} }),
                json!({ "jsonrpc": "2.0", "method": "cancel", "params": { "id": 0 } }),
            ],
            _ => vec![json!({ "jsonrpc": "2.0", "method": "stop", "params": {} })],
        };
        let mut observer = Observer::new(&notices::PROTOCOL, Options::new()).unwrap();
        let from = |side| move |message: Value| (side, message);
        let said = first.into_iter().map(from(Side::Client));
        let said = said.chain([late(crossing), changed()].map(from(Side::Server)));
        for (side, message) in said {
            for observed in observer.observe(side, message.to_string().as_bytes()) {
                let wrong = observed.reports.iter().find(|report| matches!(report, Report::Violation(_)));
                assert!(wrong.is_none(), "{crossing}: {message}: {wrong:?}");
            }
        }
    }
}
