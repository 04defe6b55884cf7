//! Messages and replies that conditions tell apart: which one a payload is, the caller knows; the checker judges it.

use serde_json::json;

use super::tables::{Tables, To, small};
use super::{id, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Condition, Kind, RecordField, Shape, Side, StateKind};
use crate::shape::judge;
use crate::{Awaiting, Checker, StepKind, ViolationKind};

fn when(key: &'static str) -> Option<Condition> {
    Some(Condition { path: vec![key.into()].into(), literal: None })
}

#[test]
fn two_replies_of_one_request_lead_to_two_states() {
    let mut tables = Tables::default();
    let call = tables.request("call");
    let created = tables.another_reply(&call, "created");
    tables.edit(created).condition = when("task");
    let stop = tables.notification("stop");
    tables.state("Ready", StateKind::Linear, &[(Send, call.request, To::Step("Waiting"))]);
    tables.state(
        "Waiting",
        StateKind::Linear,
        &[(Receive, call.reply, To::Step("Ready")), (Receive, created, To::Step("Running"))],
    );
    tables.state("Running", StateKind::Linear, &[(Send, stop, To::Step("Ready"))]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    for (number, reply, after) in [(0, call.reply, "Ready"), (1, created, "Running")] {
        checker.request(Send, call.request, &id(number), None, never).unwrap();
        checker.reply(Receive, &id(number), reply).unwrap();
        assert_eq!(checker.state_names(), after);
    }
    let refused = checker.request(Send, call.request, &id(2), None, never).unwrap_err();
    assert!(matches!(refused.kind, ViolationKind::NotPermitted));
}

#[test]
fn what_fits_no_condition_changes_nothing() {
    let mut tables = Tables::default();
    let by_text = tables.request("ask");
    tables.edit(by_text.request).condition = when("text");
    let by_image = tables.request_named("askImage", "ask");
    tables.edit(by_image.request).condition = when("image");
    tables.edit(by_text.reply).condition = when("words");
    let edges = [(Receive, by_text.request), (Receive, by_image.request)];
    tables.state(
        "Open",
        StateKind::Replicated,
        &edges.map(|(way, message)| (way, message, To::Spawn("Answering"))),
    );
    tables.state("Answering", StateKind::Linear, &[(Send, by_text.reply, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Server), Side::Server).unwrap();
    let refused = checker.fits_none(Receive, by_text.request, Some(&id(0))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`ask` of the client holds nothing by which it is known: `if text` or `if image`"
    );
    assert_eq!((refused.error_code(), refused.got.kind), (-32_602, Some(Kind::Request)));
    assert_eq!(checker.awaiting(Send, &id(0)), Awaiting::Refused, "its id is used up");

    checker.request(Receive, by_text.request, &id(1), None, never).unwrap();
    let refused = checker.fits_none(Send, by_text.reply, Some(&id(1))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the result of `ask` of the server holds nothing by which it is known: `if words`"
    );
    let step = checker.reply(Send, &id(1), by_text.reply).unwrap();
    assert_eq!(step.kind, StepKind::SubSession { ended: true }, "the request still awaits its reply");
}

#[test]
fn a_misshapen_payload_changes_nothing() {
    let small = small();
    let mut checker = Checker::new(small.protocol.clone(), Side::Client).unwrap();
    let mismatch = |value: serde_json::Value| {
        let shape = Shape::record(const { &[RecordField::required("version", Shape::Text)] });
        judge(&small.protocol, &shape, &&value).unwrap_err()
    };
    let wrong = mismatch(json!({ "version": 5 }));
    let refused = checker.misshapen(Send, small.initialize.request, Some(&id(0)), wrong.clone()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`initialize` does not have its shape: version: expected a string, found 5"
    );
    assert_eq!((refused.error_code(), refused.expected.len()), (-32_602, 0));
    assert_eq!(refused.kind, ViolationKind::Misshapen { mismatch: wrong });
    assert_eq!(checker.awaiting(Receive, &id(0)), Awaiting::Refused, "its id is used up");

    checker.request(Send, small.initialize.request, &id(1), None, never).unwrap();
    let refused =
        checker.misshapen(Receive, small.initialize.reply, Some(&id(1)), mismatch(json!(null))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the result of `initialize` does not have its shape: expected an object, found null"
    );
    checker.reply(Receive, &id(1), small.initialize.reply).unwrap();
}

#[test]
fn reports_say_which_of_two_messages_is_meant() {
    let mut tables = Tables::default();
    let plain = tables.request("call");
    let task = tables.request_named("callTask", "call");
    tables.edit(task.request).condition = when("task");
    tables.state("Ready", StateKind::Linear, &[(Send, task.request, To::Step("Waiting"))]);
    tables.state("Waiting", StateKind::Linear, &[(Receive, task.reply, To::Step("Ready"))]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let refused = checker.request(Send, plain.request, &id(0), None, never).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`call` is not permitted in `Ready`: the client never sends it, it may send `call` (`if task`) now"
    );
}
