//! Subscriptions of revision 2026-07-28: what a server notifies of, and how it ends them.

use serde_json::{Value, json};

use super::command::{Message, trace, written};

const ID: &str = "io.modelcontextprotocol/subscriptionId";

fn listen(id: u8, wanted: &[&str]) -> Message {
    let filter: Value = wanted.iter().map(|kind| ((*kind).to_owned(), json!(true))).collect();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "_meta": meta, "notifications": filter });
    (true, json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params }))
}

fn said(method: &str, id: u8, mut params: Value) -> Message {
    params["_meta"] = json!({ ID: id });
    (false, json!({ "jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params }))
}

fn acknowledged(id: u8, kinds: &[&str]) -> Message {
    let filter: Value = kinds.iter().map(|kind| ((*kind).to_owned(), json!(true))).collect();
    said("subscriptions/acknowledged", id, json!({ "notifications": filter }))
}

fn changed(what: &str, id: u8) -> Message {
    said(&format!("{what}/list_changed"), id, json!({}))
}

fn cancelled(is_client: bool, id: u8) -> Message {
    let params = json!({ "requestId": id });
    (is_client, json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
}

fn closed(id: u8) -> Message {
    let result = json!({ "resultType": "complete", "_meta": { ID: id } });
    (false, json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// What is found: the line, the code, and the sentence.
fn found(log: &[Message]) -> Vec<(u64, String, String)> {
    let all = trace(written(log)).findings;
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    all.iter().map(|one| (one["line"].as_u64().unwrap(), text(one, "code"), text(one, "message"))).collect()
}

fn one(log: &[Message], line: u64, code: &str, says: &str) {
    let all = found(log);
    let [(at, kind, message)] = all.as_slice() else { panic!("{says}: {all:#?}") };
    assert_eq!((*at, kind.as_str()), (line, code), "{message}");
    assert!(message.contains(says), "{message}");
}

#[test]
fn a_server_ends_a_subscription_with_its_reply_or_a_cancel_or_both() {
    const TOOLS: &[&str] = &["toolsListChanged"];
    let open = [listen(1, TOOLS), acknowledged(1, TOOLS), changed("tools", 1)];
    for end in [
        vec![closed(1)],
        vec![cancelled(false, 1)],
        vec![cancelled(false, 1), closed(1)],
        vec![closed(1), cancelled(false, 1)],
        vec![cancelled(true, 1)],
        // The two sides end it at the same time.
        vec![cancelled(false, 1), cancelled(true, 1)],
        vec![cancelled(true, 1), cancelled(false, 1)],
    ] {
        let log = [&open[..], &end, &[listen(2, TOOLS), acknowledged(2, TOOLS)]].concat();
        assert_eq!(found(&log), [], "{end:?}");
    }
    // It is over then.
    one(
        &[&open[..], &[cancelled(false, 1), changed("tools", 1)]].concat(),
        5,
        "correlation",
        "subscription 1",
    );
    // Each is said once.
    let again = [cancelled(false, 1), closed(1), closed(1)];
    one(&[&open[..], &again].concat(), 6, "correlation", "has had its reply");
    let again = [closed(1), cancelled(false, 1), cancelled(false, 1)];
    one(&[&open[..], &again].concat(), 6, "correlation", "cancel");
}

#[test]
fn a_server_cancels_nothing_else() {
    let (_, mut list) = listen(1, &[]);
    list["method"] = json!("tools/list");
    one(&[(true, list), cancelled(false, 1)], 2, "correlation", "which only the client may cancel");
}

#[test]
fn a_change_needs_its_own_subscription() {
    let (tools, prompts) = (&["toolsListChanged"], &["promptsListChanged"]);
    let mut log =
        vec![listen(1, tools), acknowledged(1, tools), listen(2, prompts), acknowledged(2, prompts)];
    log.extend([changed("tools", 1), changed("prompts", 2)]);
    assert_eq!(found(&log), []);
    log.push(changed("prompts", 1));
    one(&log, 7, "order", "notifications.promptsListChanged");
}

#[test]
fn the_result_that_closes_a_subscription_names_it() {
    let open = [listen(1, &[]), acknowledged(1, &[])];
    let (_, mut other) = closed(1);
    other["result"]["_meta"][ID] = json!(7);
    one(&[&open[..], &[(false, other)]].concat(), 3, "correlation", "subscription");
    let (_, mut nameless) = closed(1);
    nameless["result"]["_meta"] = json!({});
    one(&[&open[..], &[(false, nameless)]].concat(), 3, "shape", "subscriptionId");
}
