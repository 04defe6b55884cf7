//! Limits on what a peer may do, each with its answer: how fast it asks, and what of its reports is kept.

use std::time::Duration;

use mcp_protocol_machine::protocol::Side;
use mcp_protocol_machine::{About, ProtocolRef};
use serde_json::{Value, json};

use super::desk::messages::{ASK, BELL, COUNT, HELLO, LOOK};
use super::pair::{End, settle};
use crate::error::Error;
use crate::options::{Options, RateLimit};

mod watching {
    #![allow(missing_docs)]
    crate::protocol!("tests/sessions/watching.session");
}

const SECOND: Duration = Duration::from_secs(1);

fn slow() -> Options {
    Options::default().request_rate(RateLimit::new(10, SECOND).burst(2))
}

fn refusal(answers: &[Value]) -> &str {
    assert_eq!(answers[0]["error"]["code"], json!(-32000), "{answers:?}");
    answers[0]["error"]["message"].as_str().unwrap()
}

#[test]
fn a_peer_that_asks_too_fast_is_told_how_long_to_wait() {
    let mut server = End::ready_server(slow());
    // The handshake has taken one.
    assert!(server.ask(r#"{"jsonrpc":"2.0","id":1,"method":"look"}"#).is_empty());
    let answers = server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"look"}"#);
    assert_eq!(refusal(&answers), "too many requests in too short a time: try again in 100 ms");
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["data"]), (&json!(2), &json!({"retryAfterMs": 100})));
    assert_eq!(server.reports(), ["`Look` was dropped: too many requests in too short a time"]);
    // What the runtime answers by itself, and steps of a linear channel, are requests like any other.
    refusal(&server.ask(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#));
    refusal(&server.ask(r#"{"jsonrpc":"2.0","id":4,"method":"count","params":1}"#));
    assert_eq!(server.reports().len(), 2);
    // What is not a request is not counted.
    server.feed(r#"{"jsonrpc":"2.0","method":"bell","params":1}"#);
    assert!(server.incoming().is_some() && server.incoming().is_some() && server.incoming().is_none());
    // A refusal is not a mistake of the peer: it may take the request back that has crossed it, and ask again.
    server.feed(r#"{"jsonrpc":"2.0","method":"cancelled","params":{"requestId":2}}"#);
    server.later(SECOND / 10);
    assert!(server.ask(r#"{"jsonrpc":"2.0","id":5,"method":"count","params":1}"#).is_empty());
    assert_eq!(server.linear().unwrap().message, COUNT);
    assert!(server.reports().is_empty());
    refusal(&server.ask(r#"{"jsonrpc":"2.0","id":6,"method":"look"}"#));
}

#[test]
fn both_sides_go_on_behind_a_refusal_for_haste() {
    let (client, mut server) = (End::ready_client(Options::default()), End::ready_server(slow()));
    let calls: Vec<_> = (0..3).map(|_| client.call(LOOK, "1")).collect();
    settle(&client, &server);
    assert_eq!(client.outcome(calls[0]), None);
    for call in &calls[1..] {
        let error = client.outcome(*call).unwrap().unwrap_err();
        assert!(error.contains("try again in 100 ms"), "{error}");
    }
    // A linear request that is refused is undone, on both sides.
    let count = client.link.speak(|engine, caller| engine.request(caller, COUNT, "1", false, true)).unwrap();
    settle(&client, &server);
    assert!(client.outcome(count).unwrap().is_err());
    server.later(SECOND);
    let count = client.link.speak(|engine, caller| engine.request(caller, COUNT, "1", false, true)).unwrap();
    settle(&client, &server);
    let id = server.linear().unwrap().id.unwrap();
    server.link.speak(|engine, caller| engine.reply_result(caller, &id, "1")).unwrap();
    settle(&client, &server);
    assert_eq!(client.outcome(count), Some(Ok("1".to_owned())));
    assert!(client.reports().is_empty());
}

#[test]
fn a_sub_session_that_is_opened_too_fast_is_none() {
    let protocol = ProtocolRef::Static(&watching::PROTOCOL);
    let mut server =
        End::over(protocol, Side::Server, Options::default().request_rate(RateLimit::new(1, SECOND)));
    server.link.with(|engine| engine.attend(None));
    server.feed(r#"{"jsonrpc":"2.0","id":0,"method":"hello"}"#);
    let hello = server.linear().unwrap().id.unwrap();
    server.link.speak(|engine, caller| engine.reply_result(caller, &hello, "{}")).unwrap();
    server.said();
    let subscribe = |id: u32| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"a"}}}}"#)
    };
    refusal(&server.ask(&subscribe(1)));
    assert_eq!(server.reports().len(), 1);
    assert!(server.incoming().is_none());
    server.later(SECOND);
    // The value is free: nothing runs under it.
    assert!(server.ask(&subscribe(2)).is_empty());
    assert!(server.incoming().unwrap().sub_session.is_some());
    assert!(server.reports().is_empty());
}

#[test]
fn what_waits_and_what_is_worked_on_has_a_limit_of_bytes() {
    let server = End::ready_server(Options::default().max_input_bytes(100));
    let ask = |id: u32, bytes: usize| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ask","params":"{}"}}"#, "x".repeat(bytes - 2))
    };
    let bell = format!(r#"{{"jsonrpc":"2.0","method":"bell","params":{}}}"#, "1".repeat(9));
    assert!(server.ask(&ask(1, 60)).is_empty() && server.ask(&ask(2, 40)).is_empty());
    let refused = server.ask(&ask(3, 3));
    assert_eq!(refusal(&refused), "the session is at its limit `max_input_bytes` of 100: try again later");
    assert_eq!(
        (&refused[0]["id"], &refused[0]["error"]["data"]),
        (&json!(3), &json!({"limit":"max_input_bytes"}))
    );
    server.feed(&bell);
    let dropped = |name| format!("`{name}` was dropped: the messages that wait have too many bytes");
    assert_eq!(server.reports(), [dropped("Ask"), dropped("Bell")]);
    // A step cannot be left out, and what is small is taken all the same.
    assert!(server.ask(r#"{"jsonrpc":"2.0","id":4,"method":"count","params":1}"#).is_empty());
    assert!(server.linear().is_some());
    // One that is being worked on counts until that is over.
    let first = server.incoming().unwrap();
    assert!(refusal(&server.ask(&ask(5, 50))).contains("max_input_bytes"));
    drop(first);
    assert!(server.ask(&ask(6, 50)).is_empty());
    server.reports();
}

#[test]
fn reports_on_a_call_have_a_limit_of_bytes() {
    let client = End::ready_client(Options::default().max_input_bytes(100));
    let id = client.link.speak(|engine, caller| engine.request(caller, ASK, "{}", true, true)).unwrap();
    let report = |number: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"progress","params":{{"progressToken":{id},"progress":{number}}}}}"#
        )
    };
    (0..5).for_each(|number| client.feed(&report(number)));
    let dropped = "`Ask` was dropped: the messages that wait have too many bytes";
    assert_eq!(client.reports(), [dropped, dropped], "three of them have 34 bytes each");
}

#[test]
fn a_step_that_has_too_many_bytes_ends_the_session_and_says_so() {
    let client = End::new(Side::Client, Options::default().max_input_bytes(100));
    client.link.speak(|engine, caller| engine.request(caller, HELLO, "{}", false, false)).unwrap();
    let filler = "x".repeat(20_000);
    client.feed(&format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"filler":"{filler}"}}}}"#));
    let error = client.link.speak(|engine, caller| engine.lifecycle().closed(caller)).unwrap();
    assert_eq!(
        error.to_string(),
        "the session has ended: the peer sent a step of 20013 bytes, for which the limit `max_input_bytes` of 100 has \
         no room"
    );
}

#[test]
fn of_the_reports_on_a_call_the_newest_are_kept() {
    let client = End::ready_client(Options::default().max_progress(2));
    let id = client.link.speak(|engine, caller| engine.request(caller, ASK, "{}", true, true)).unwrap();
    for number in 0..5 {
        client.feed(&format!(
            r#"{{"jsonrpc":"2.0","method":"progress","params":{{"progressToken":{id},"progress":{number}}}}}"#
        ));
    }
    for number in 3..5 {
        let report = client.outcome(id).unwrap().unwrap();
        assert!(report.contains(&format!(r#""progress":{number}"#)), "{report}");
    }
    assert_eq!(client.outcome(id), None);
}

#[test]
fn as_many_exchanges_run_as_the_settings_say_each_way() {
    let server = End::ready_server(Options::default().max_running(2));
    let look = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"look"}}"#);
    assert!(server.ask(&look(1)).is_empty() && server.ask(&look(2)).is_empty());
    let answers = server.ask(&look(3));
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&json!(3), &json!(-32000)), "{answers:?}");
    assert_eq!(server.reports().len(), 1);
    // Requests of this side count for themselves, and are not written either.
    let ask = || {
        server.link.speak(|engine, caller| {
            engine.request(caller, super::desk::messages::APPROVE, "\"?\"", false, true)
        })
    };
    let first = ask().unwrap();
    ask().unwrap();
    assert!(matches!(ask(), Err(Error::NotPermitted(_))));
    assert_eq!(server.said().len(), 2);
    // Each that is over makes room for another one.
    let id = server.incoming().unwrap().id.unwrap();
    server.link.speak(|engine, caller| engine.reply_result(caller, &id, "1")).unwrap();
    server.said();
    assert!(server.ask(&look(4)).is_empty());
    server.feed(&format!(r#"{{"jsonrpc":"2.0","id":{first},"result":true}}"#));
    ask().unwrap();
}

#[test]
fn as_many_sub_sessions_live_as_the_settings_say() {
    let protocol = ProtocolRef::Static(&watching::PROTOCOL);
    let server = End::over(protocol, Side::Server, Options::default().max_running(2));
    server.link.with(|engine| engine.attend(None));
    server.feed(r#"{"jsonrpc":"2.0","id":0,"method":"hello"}"#);
    let hello = server.linear().unwrap().id.unwrap();
    server.link.speak(|engine, caller| engine.reply_result(caller, &hello, "{}")).unwrap();
    server.said();
    for (uri, opened) in [("a", true), ("b", true), ("c", false)] {
        server.feed(&format!(
            r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"document":{{"uri":"{uri}"}}}}}}"#
        ));
        let sub_session = server.incoming().and_then(|arrived| arrived.sub_session);
        assert_eq!(sub_session.is_some(), opened, "{uri}");
        assert_eq!(server.reports().len(), usize::from(!opened), "{uri}");
    }
    assert!(server.said().is_empty());
}

#[test]
fn the_longest_message_is_what_the_settings_say() {
    let server = End::server_with(Options::default().max_message_bytes(100));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let padded = format!("{ping}{}", " ".repeat(100 - ping.len()));
    assert_eq!(server.ask(&padded)[0]["result"], json!({}));
    let answers = server.ask(&padded.replace("1,", "2,").replace('}', "} "));
    assert_eq!(answers[0]["error"]["message"], json!("the message is longer than the limit of 100 bytes"));
    assert_eq!(answers[0]["id"], json!(2));
}

/// Nothing that a peer does on one channel holds up another: the reader takes everything at once.
#[test]
fn full_queues_hold_up_no_reply() {
    let mut options = Options::default().max_incoming(1).max_requests(1);
    options.max_linear = 1;
    let server = End::ready_server(options);
    let call = server.call(super::desk::messages::APPROVE, "\"?\"");
    for id in 10..20 {
        server.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"look"}}"#));
        server.feed(r#"{"jsonrpc":"2.0","method":"bell","params":1}"#);
        server.feed(r#"{"jsonrpc":"2.0","method":"note","params":"n"}"#);
    }
    server.feed(&format!(r#"{{"jsonrpc":"2.0","id":{call},"result":true}}"#));
    assert_eq!(server.outcome(call), Some(Ok("true".to_owned())));
    assert_eq!(server.link.with(|engine| engine.inbox.waiting()), (1, 1));
    assert!(server.deadline().is_none());
}

#[test]
fn what_has_no_listener_is_not_even_noted() {
    let client = End::ready_client(Options::default());
    let noted = client.link.speak(|engine, caller| {
        engine.request(caller, LOOK, "1", false, true).unwrap();
        let about = mcp_protocol_machine::About::Nothing;
        engine.notification(caller, super::desk::messages::BELL, "1", about).unwrap();
        engine.close();
        engine.traces().capacity()
    });
    assert_eq!(noted, 0);
}

#[test]
fn a_message_that_never_fits_into_the_output_is_not_sent_and_the_session_goes_on() {
    let (client, server) =
        (End::ready_client(Options::default().output_limit(4000)), End::ready_server(Options::default()));
    let large = format!("\"{}\"", "x".repeat(4000));
    let called = client.link.speak(|engine, caller| engine.request(caller, LOOK, &large, false, true));
    let told = client.link.speak(|engine, caller| engine.notification(caller, BELL, &large, About::Nothing));
    for (error, method) in [(called.unwrap_err(), "look"), (told.unwrap_err(), "bell")] {
        let expected = format!(
            "`{method}` was not sent: its payload has 4002 bytes, and may have 2000: see `Options::output_limit`"
        );
        assert_eq!(error.to_string(), expected);
    }
    let call = client.call(LOOK, "1");
    settle(&client, &server);
    let id = server.incoming().unwrap().id.unwrap();
    server.link.speak(|engine, caller| engine.reply_result(caller, &id, "\"!\"")).unwrap();
    settle(&client, &server);
    assert_eq!(client.outcome(call), Some(Ok("\"!\"".to_owned())));
}
