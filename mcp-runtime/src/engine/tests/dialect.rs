//! Protocols whose messages are not those of JSON-RPC 2.0: they have no member `jsonrpc`, or are of JSON-RPC 1.0.

use std::sync::Arc;

use mcp_protocol_machine::protocol::{Dialect, Key, KeyIndex, MessageKey, Side};
use serde_json::json;

use super::desk;
use super::desk::messages::{HELLO, READY};
use super::pair::End;
use crate::options::Options;

fn end(side: Side, dialect: Dialect) -> End {
    let mut protocol = desk::PROTOCOL.clone();
    protocol.dialect = dialect;
    let end = End::over(Arc::new(protocol), side, Options::default());
    end.link.with(|engine| engine.attend(None));
    end
}

#[test]
fn what_is_written_has_no_jsonrpc() {
    let client = end(Side::Client, Dialect::WithoutJsonrpc);
    client.link.speak(|engine, caller| engine.request(caller, HELLO, "{}", false, false)).unwrap();
    assert_eq!(client.said(), [json!({ "id": 0, "method": "hello", "params": {} })]);
    client.feed(r#"{"id":0,"result":{"capabilities":{}}}"#);
    assert!(client.linear().is_some());
    let about = mcp_protocol_machine::About::Nothing;
    client.link.speak(|engine, caller| engine.notification(caller, READY, "null", about)).unwrap();
    assert_eq!(client.said(), [json!({ "method": "ready" })]);
    assert!(client.reports().is_empty());
}

#[test]
fn answers_and_errors_have_no_jsonrpc() {
    let server = end(Side::Server, Dialect::WithoutJsonrpc);
    assert_eq!(server.ask(r#"{"id":1,"method":"ping"}"#), [json!({ "id": 1, "result": {} })]);
    let [refused] = server.ask(r#"{"id":2,"method":"nothing"}"#).try_into().unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(2), &json!(-32601)));
    let [malformed] = server.ask(r#"{"id":1.5,"method":"ping"}"#).try_into().unwrap();
    assert_eq!((&malformed["id"], &malformed["error"]["code"]), (&json!(1.5), &json!(-32600)));
    for answer in [refused, malformed] {
        assert!(answer.get("jsonrpc").is_none(), "{answer}");
    }
}

#[test]
fn a_peer_may_write_it_all_the_same_but_no_other_version() {
    let server = end(Side::Server, Dialect::WithoutJsonrpc);
    assert_eq!(server.ask(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), [json!({ "id": 1, "result": {} })]);
    let [refused] = server.ask(r#"{"jsonrpc":"1.0","id":2,"method":"ping"}"#).try_into().unwrap();
    assert_eq!(refused["error"]["message"], json!("`jsonrpc` must be \"2.0\", not \"1.0\""));
}

#[test]
fn a_client_of_version_1_writes_and_reads_what_is_null() {
    let client = end(Side::Client, Dialect::Version1);
    client.link.speak(|engine, caller| engine.request(caller, HELLO, "{}", false, false)).unwrap();
    assert_eq!(client.said(), [json!({ "id": 0, "method": "hello", "params": {} })]);
    client.feed(r#"{"id":0,"result":{"capabilities":{}},"error":null}"#);
    assert!(client.linear().is_some());
    let about = mcp_protocol_machine::About::Nothing;
    client.link.speak(|engine, caller| engine.notification(caller, READY, "null", about)).unwrap();
    assert_eq!(client.said(), [json!({ "id": null, "method": "ready", "params": [] })]);
    assert!(client.reports().is_empty());
}

#[test]
fn a_server_of_version_1_answers_with_both_members() {
    let server = end(Side::Server, Dialect::Version1);
    let pinged = json!({ "id": 1, "result": {}, "error": null });
    assert_eq!(server.ask(r#"{"id":1,"method":"ping","params":[]}"#), [pinged]);
    let [refused] = server.ask(r#"{"id":2,"method":"nothing","params":[]}"#).try_into().unwrap();
    assert_eq!((&refused["result"], &refused["error"]["code"]), (&json!(null), &json!(-32601)));
    assert!(refused.as_object().unwrap().contains_key("result"));
}

/// A peer may find its request by these, before it looks at the id.
#[test]
fn an_error_that_answers_what_cannot_be_read_has_the_members_of_its_envelope() {
    let mut protocol = desk::PROTOCOL.clone();
    protocol.keys = vec![Key::named("tab")].into();
    let key = MessageKey::member(KeyIndex(0), "tab");
    protocol.messages.to_mut()[usize::from(READY.0)].keys = vec![key].into();
    let server = End::over(Arc::new(protocol), Side::Server, Options::default());
    server.link.with(|engine| engine.attend(None));
    for (asked, id) in [
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping","tab":"T"}"#, json!(1.5)),
        (r#"{"jsonrpc":"2.0","id":2,"method":7,"tab":"T"}"#, json!(2)),
        (r#"{"jsonrpc":"2.0","id":3,"method":"nothing","tab":"T"}"#, json!(3)),
    ] {
        let [refused] = server.ask(asked).try_into().unwrap();
        assert_eq!((&refused["id"], &refused["tab"]), (&id, &json!("T")), "{refused}");
    }
}
