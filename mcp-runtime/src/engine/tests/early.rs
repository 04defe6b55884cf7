//! Peers that do not wait for a step of this side before they go on.

use mcp_protocol_machine::protocol::Side;
use serde_json::{Value, json};

use super::desk::messages::{APPROVE, HELLO, LOOK, NOTE, READY};
use super::messages::{feed, watched};
use super::pair::End;
use crate::driver::End as InputEnd;
use crate::options::Options;

const HANDSHAKE: [&str; 4] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"capabilities":{}}}"#,
    r#"{"jsonrpc":"2.0","method":"ready"}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"look"}"#,
    r#"{"jsonrpc":"2.0","method":"note","params":"n"}"#,
];

fn welcome(server: &End) {
    let hello = server.linear().unwrap();
    assert_eq!(hello.message, HELLO);
    server
        .link
        .speak(|engine, caller| engine.reply_result(caller, &hello.id.unwrap(), r#"{"capabilities":{}}"#))
        .unwrap();
}

fn look(server: &End) {
    let asked = server.incoming().unwrap();
    assert_eq!(asked.message, LOOK);
    server.link.speak(|engine, caller| engine.reply_result(caller, &asked.id.unwrap(), "1")).unwrap();
}

#[test]
fn a_handshake_in_one_write_is_judged_in_its_order() {
    for piece in [1, 7, 1000] {
        let server = End::server();
        HANDSHAKE.join("\n").as_bytes().chunks(piece).for_each(|piece| server.feed_bytes(piece));
        server.feed("");
        assert!(server.incoming().is_none() && server.said().is_empty());
        // What is permitted at once does not wait.
        let answers = server.ask(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#);
        assert_eq!(answers, [json!({"jsonrpc":"2.0","id":3,"result":{}})]);
        welcome(&server);
        assert_eq!(server.said().len(), 1);
        assert_eq!(server.linear().unwrap().message, READY);
        assert_eq!(server.linear().unwrap().message, NOTE);
        look(&server);
        assert_eq!(server.said(), [json!({"jsonrpc":"2.0","id":2,"result":1})]);
        let held =
            |name: &str| format!("`{name}` came too early: it is held until this side has taken a step");
        assert_eq!(server.reports(), [held("Ready"), held("Look"), held("Note")]);
    }
}

#[test]
fn it_is_answered_though_the_peer_has_said_everything() {
    let server = End::server();
    HANDSHAKE.iter().for_each(|line| server.feed(line));
    server.end_input(InputEnd::Eof);
    assert!(server.incoming().is_none());
    assert!(
        server.link.with(|engine| engine.inbox().is_receiving()),
        "who waits for requests does not give up"
    );
    welcome(&server);
    assert_eq!(server.linear().unwrap().message, READY);
    look(&server);
    assert_eq!(server.said().len(), 2);
    assert!(!server.link.with(|engine| engine.inbox().is_receiving()));
}

#[test]
fn a_refused_handshake_has_what_was_held_refused() {
    let server = End::server();
    HANDSHAKE.iter().for_each(|line| server.feed(line));
    server.reports();
    let hello = server.linear().unwrap();
    let error = crate::RpcError::new(1, "no");
    server.link.speak(|engine, caller| engine.reply_error(caller, &hello.id.unwrap(), &error)).unwrap();
    let answers = server.said();
    let codes: Vec<_> = answers.iter().map(|answer| (&answer["id"], &answer["error"]["code"])).collect();
    assert_eq!(codes, [(&json!(1), &json!(1)), (&json!(2), &json!(-32600))]);
    assert_eq!(server.reports().len(), 3);
}

#[test]
fn what_no_step_of_this_side_would_permit_is_refused_at_once() {
    let server = End::server();
    server.feed(HANDSHAKE[0]);
    let again = r#"{"jsonrpc":"2.0","id":2,"method":"hello"}"#;
    assert_eq!(server.ask(again)[0]["error"]["code"], json!(-32600), "there is one handshake");
    welcome(&server);
    // It is the peer's turn: whatever is missing, the peer has left it out.
    assert!(server.ask(HANDSHAKE[3]).iter().all(|answer| answer["id"] == json!(1)));
    assert!(server.linear().is_none());
    let before = server.reports();
    assert!(before.last().unwrap().contains("`note`"), "{before:?}");
}

#[test]
fn a_held_request_can_be_taken_back_and_its_id_is_in_use() {
    let options = Options::default();
    let server = End::server_with(options);
    server.feed(HANDSHAKE[0]);
    server.feed(r#"{"jsonrpc":"2.0","id":2,"method":"look"}"#);
    for line in [
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"cancelled","params":{"requestId":2}}"#,
    ] {
        assert!(server.ask(line).is_empty(), "{line}");
    }
    welcome(&server);
    let ids: Vec<Value> = server.said().into_iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1)], "no error under the id of a request that runs");
    assert_eq!(server.incoming().unwrap().message, LOOK);
}

#[test]
fn so_many_are_held_and_no_more() {
    let server = End::server_with(Options::default().max_early(2));
    HANDSHAKE.iter().for_each(|line| server.feed(line));
    server.feed(r#"{"jsonrpc":"2.0","id":4,"method":"look"}"#);
    let answers = server.said();
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&json!(4), &json!(-32000)));
    let reports = server.reports();
    assert_eq!(
        reports[2..],
        [
            "`Note` was dropped: too many messages are waiting",
            "`Look` was dropped: too many messages are waiting"
        ]
    );
    welcome(&server);
    assert_eq!(server.linear().unwrap().message, READY);
    look(&server);
}

#[test]
fn a_client_that_has_not_said_ready_yet_holds_what_waits_for_it() {
    let client = End::new(Side::Client, Options::default());
    client.link.with(|engine| engine.attend(None));
    let hello = r#"{"capabilities":{"approval":{}}}"#;
    client.link.speak(|engine, caller| engine.request(caller, HELLO, hello, false, false)).unwrap();
    client.feed(r#"{"jsonrpc":"2.0","id":7,"method":"approve","params":"?"}"#);
    client.feed(r#"{"jsonrpc":"2.0","id":0,"result":{"capabilities":{}}}"#);
    // It was the turn of the server, which said in the wrong order what it had to say.
    assert!(client.said().iter().any(|said| said["id"] == json!(7) && said["error"].is_object()));
    client.feed(r#"{"jsonrpc":"2.0","id":8,"method":"approve","params":"?"}"#);
    assert_eq!(client.incoming().unwrap().message, APPROVE);
}

#[test]
fn a_transport_of_single_messages_hears_which_of_them_wait_for_an_answer() {
    let server = End::server();
    let kept = watched(&server);
    for (name, (line, expected)) in (1..).zip(HANDSHAKE.iter().zip([1, 0, 1, 0])) {
        assert_eq!(feed(&server, line, name), (expected, false), "{line}");
    }
    assert_eq!(feed(&server, r#"{"jsonrpc":"2.0","id":9,"method":"approve"}"#, 5), (0, false));
    assert_eq!(kept.open(), [1, 3], "one that is held is accepted once");
    welcome(&server);
    look(&server);
    assert_eq!(kept.open(), [0; 0]);
    let about: Vec<_> = kept.said().into_iter().map(|(said, _, about)| (said["id"].clone(), about)).collect();
    assert_eq!(about, [(json!(9), Some(5)), (json!(1), Some(1)), (json!(2), Some(3))]);
    assert_eq!(kept.settled(), [1, 3]);
}
