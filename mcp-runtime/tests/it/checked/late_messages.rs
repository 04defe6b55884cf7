//! Late messages in a checked session.

use std::sync::{Arc, Mutex};

use mcp_runtime::protocol::Side;
use mcp_runtime::{CheckedSession, Options, Report};
use serde_json::{Value, json};

use super::raw::{Raw, raw};
use super::{is_idle, notification, request, turns};

fn agent() -> (CheckedSession, Raw, Arc<Mutex<Vec<String>>>) {
    let (wire, editor) = raw();
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let options =
        Options::default().on_report(move |report: &Report| seen.lock().unwrap().push(report.to_string()));
    (CheckedSession::start(wire, &turns::PROTOCOL, Side::Server, options), editor, reports)
}

fn prompt(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "prompt", "params": id})
}

fn cancel() -> Value {
    json!({"jsonrpc": "2.0", "method": "cancel"})
}

const LATE: &str = "`Cancel` is late: it crossed `Done`, after which `Idle` does not accept it";

#[tokio::test]
async fn a_cancel_that_crosses_the_end_of_a_turn_is_not_an_event_of_the_next_one() {
    let (mut agent, mut editor, reports) = agent();
    editor.say(prompt(1)).await;
    let (id, _) = request(&mut agent).await;
    agent.respond(&id, &"done").await.unwrap();
    editor.hear().await.unwrap();
    editor.say(cancel()).await;
    editor.say(prompt(2)).await;
    let (id, _) = request(&mut agent).await;
    assert!(is_idle(&mut agent).await);
    assert_eq!(*reports.lock().unwrap(), [LATE]);
    editor.say(cancel()).await;
    assert_eq!(notification(&mut agent).await.0, "cancel");
    agent.respond(&id, &"done").await.unwrap();
}

#[tokio::test]
async fn an_untaken_cancel_is_not_an_event_of_the_next_turn() {
    let (mut agent, mut editor, reports) = agent();
    editor.say(prompt(1)).await;
    let (id, _) = request(&mut agent).await;
    editor.say(cancel()).await;
    // What is answered after it shows that it has come.
    editor.ask(json!({"jsonrpc": "2.0", "id": 10, "method": "no/such/method"})).await;
    reports.lock().unwrap().clear();
    agent.respond(&id, &"done").await.unwrap();
    editor.hear().await.unwrap();
    editor.say(prompt(2)).await;
    let (_, params) = request(&mut agent).await;
    assert_eq!(params, json!(2));
    assert!(is_idle(&mut agent).await);
    assert_eq!(*reports.lock().unwrap(), [LATE]);
}
