//! A protocol in which the id of an exchange that is over may be used again.

use std::sync::Arc;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::Side;
use serde_json::{Value, json};

use super::desk;
use super::pair::End;
use crate::engine::Arrived;
use crate::options::Options;

fn server() -> End {
    let mut protocol = desk::PROTOCOL.clone();
    protocol.reuses_ids = true;
    let server = End::over(Arc::new(protocol), Side::Server, Options::default());
    server.link.with(|engine| engine.attend(None));
    server.welcome_client();
    server
}

const WORK: &str = r#"{"jsonrpc":"2.0","id":5,"method":"ask","params":"?"}"#;
const CANCEL: &str = r#"{"jsonrpc":"2.0","method":"cancelled","params":{"requestId":5}}"#;

fn answer(server: &End, arrived: &Arrived, result: &str) -> Vec<Value> {
    let id = arrived.id.clone().unwrap();
    // The reply to a cancelled request is not written, which is not an error for the caller.
    let _ = server.link.speak(|engine, caller| engine.reply_result(caller, &id, result));
    server.said()
}

#[test]
fn elsewhere_the_id_of_a_cancelled_request_is_one_that_was_used() {
    let server = End::ready_server(Options::default());
    assert!(server.ask(WORK).is_empty());
    let _cancelled = server.incoming().unwrap();
    assert!(server.ask(CANCEL).is_empty());
    let [refused] = server.ask(WORK).try_into().unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(5), &json!(-32600)), "{refused}");
    let reports = server.reports();
    assert!(reports.len() == 1 && reports[0].contains("has the id 5"), "{reports:?}");
}

#[test]
fn one_id_serves_one_request_after_the_other() {
    let server = server();
    for round in 0..3 {
        assert!(server.ask(WORK).is_empty());
        let arrived = server.incoming().unwrap();
        let result = json!(format!("round {round}"));
        let expected = json!({ "jsonrpc": "2.0", "id": 5, "result": result });
        assert_eq!(answer(&server, &arrived, &result.to_string()), [expected]);
    }
    assert!(server.reports().is_empty());
}

#[test]
fn the_id_of_a_request_that_runs_is_taken() {
    let server = server();
    assert!(server.ask(WORK).is_empty());
    assert!(server.ask(WORK).is_empty(), "an error would be taken for the answer to the first");
    assert_eq!(server.reports().len(), 1);
    let arrived = server.incoming().unwrap();
    assert_eq!(answer(&server, &arrived, "\"!\"").len(), 1);
}

#[test]
fn a_cancelled_request_that_no_handler_has_taken_leaves_its_id() {
    let server = server();
    assert!(server.ask(WORK).is_empty());
    assert!(server.ask(CANCEL).is_empty());
    assert!(server.ask(WORK).is_empty());
    let arrived = server.incoming().unwrap();
    assert_eq!(answer(&server, &arrived, "\"!\""), [json!({ "jsonrpc": "2.0", "id": 5, "result": "!" })]);
    assert!(server.incoming().is_none() && server.reports().is_empty());
}

#[test]
fn what_works_on_a_cancelled_request_never_answers_another_one_with_its_id() {
    let server = server();
    assert!(server.ask(WORK).is_empty());
    let cancelled = server.incoming().unwrap();
    assert!(server.ask(CANCEL).is_empty());
    let [busy] = server.ask(WORK).try_into().unwrap();
    assert_eq!((&busy["id"], &busy["error"]["code"]), (&json!(5), &json!(crate::jsonrpc::RpcError::BUSY)));
    assert!(busy["error"]["message"].as_str().unwrap().ends_with("use another id"), "{busy}");
    assert_eq!(server.reports().len(), 1);
    assert!(answer(&server, &cancelled, "\"of the cancelled one\"").is_empty());
    server.link.with(|engine| engine.forget_cancelled(&RequestId::Number(5)));
    assert!(server.ask(WORK).is_empty(), "its handler is done");
    let arrived = server.incoming().unwrap();
    assert_eq!(answer(&server, &arrived, "\"!\""), [json!({ "jsonrpc": "2.0", "id": 5, "result": "!" })]);
}
