//! Several messages of the peer on one line, and the one line that answers them.

use serde_json::{Value, json};

use super::desk;
use super::pair::End;
use crate::driver::{End as InputEnd, Finish};
use crate::error::Error;
use crate::options::Options;
use mcp_protocol_machine::protocol::Side;

/// A server of a protocol that permits batches, which has shaken hands.
fn server() -> End {
    server_with(Options::default())
}

fn server_with(options: Options) -> End {
    let mut protocol = desk::PROTOCOL.clone();
    protocol.batch = true;
    let server = End::over(protocol, Side::Server, options);
    server.link.with(|engine| engine.attend(None));
    server.feed(r#"{"jsonrpc":"2.0","id":"hello","method":"hello","params":{}}"#);
    let hello = server.linear().unwrap();
    let welcome = r#"{"capabilities":{"questions":true}}"#;
    server.link.speak(|engine, caller| engine.reply_result(caller, &hello.id.unwrap(), welcome)).unwrap();
    assert_eq!(server.said().len(), 1);
    server
}

/// Answers the request that has waited longest.
fn answer(server: &End, result: &str) {
    let id = server.incoming().unwrap().id.unwrap();
    server.link.speak(|engine, caller| engine.reply_result(caller, &id, result)).unwrap();
}

fn ids_and_codes(answers: &Value) -> Vec<(Value, Option<i64>)> {
    let answers = answers.as_array().expect("a list of replies");
    answers.iter().map(|reply| (reply["id"].clone(), reply["error"]["code"].as_i64())).collect()
}

const TWO: &str = r#"[{"jsonrpc":"2.0","id":1,"method":"look"},{"jsonrpc":"2.0","method":"bell","params":1},
    {"jsonrpc":"2.0","id":2,"method":"ask","params":"?"}]"#;

fn two() -> String {
    TWO.replace('\n', " ")
}

#[test]
fn the_replies_wait_for_the_last_and_come_as_one_list() {
    let server = server();
    assert!(server.ask(&two()).is_empty());
    answer(&server, "7");
    assert!(server.said().is_empty(), "the second is not answered yet");
    assert_eq!(server.incoming().unwrap().id, None, "the bell stands where it stood in the batch");
    answer(&server, "\"!\"");
    let reply = |id: i64, result: Value| json!({"jsonrpc":"2.0","id":id,"result":result});
    assert_eq!(server.said(), [json!([reply(1, json!(7)), reply(2, json!("!"))])]);
    assert!(server.reports().is_empty());
}

#[test]
fn others_do_not_wait_for_a_batch() {
    let server = server();
    server.feed(&two());
    assert_eq!(server.ask(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#).len(), 1);
    assert_eq!(
        ids_and_codes(&server.ask(r#"[{"jsonrpc":"2.0","id":4,"method":"ping"}]"#)[0]),
        [(json!(4), None)]
    );
}

#[test]
fn each_message_is_judged_by_itself() {
    let server = server();
    let answers = server.ask(
        r#"[1, {"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","id":1,"method":"ping"}, [],
            {"jsonrpc":"2.0","id":2,"method":"nothing"}, {"jsonrpc":"2.0","id":99,"result":{}},
            {"jsonrpc":"2.0","id":2.5,"method":"ping"}, {"jsonrpc":"2.0","method":"nothing"}]"#
            .replace('\n', " ")
            .as_str(),
    );
    assert_eq!(answers.len(), 1, "{answers:?}");
    let expected = [
        (Value::Null, Some(-32600)),
        (json!(1), None),
        (json!(1), Some(-32600)),
        (Value::Null, Some(-32600)),
        (json!(2), Some(-32601)),
        (json!(2.5), Some(-32600)),
    ];
    assert_eq!(ids_and_codes(&answers[0]), expected);
    assert_eq!(server.reports().len(), 7, "one for each but the good one");
}

#[test]
fn what_asks_for_nothing_is_not_answered() {
    let server = server();
    assert!(
        server
            .ask(r#"[{"jsonrpc":"2.0","method":"ready"},{"jsonrpc":"2.0","method":"bell","params":1}]"#)
            .is_empty()
    );
    assert!(server.reports().is_empty());
    assert_eq!(
        server.linear().unwrap().message,
        desk::messages::READY,
        "a linear notification is not a reply"
    );
}

#[test]
fn what_is_no_batch_has_one_error() {
    let server = server_with(Options::default().max_batch(2));
    for (line, code) in [("[]", -32600), ("[1,2,3]", -32600), ("[{\"jsonrpc\":\"2.0\"}", -32700)] {
        let answers = server.ask(line);
        assert_eq!(answers.len(), 1, "{line}");
        assert_eq!(
            (&answers[0]["id"], answers[0]["error"]["code"].as_i64()),
            (&Value::Null, Some(code)),
            "{line}"
        );
        assert_eq!(server.reports().len(), 1, "{line}");
    }
}

#[test]
fn a_step_cannot_stand_in_a_batch() {
    let mut protocol = desk::PROTOCOL.clone();
    protocol.batch = true;
    let server = End::over(protocol, Side::Server, Options::default());
    let answers = server.ask(
        r#"[{"jsonrpc":"2.0","id":1,"method":"hello","params":{}},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
    );
    assert_eq!(ids_and_codes(&answers[0]), [(json!(1), Some(-32600)), (json!(2), None)]);
    let error = &answers[0][0]["error"];
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("`hello`") && message.contains("`Greeting`"), "{message}");
    assert_eq!(error["data"], json!({"state": "Greeting", "expected": ["hello"]}));
    assert!(server.linear().is_none() && server.reports().len() == 1);
    // Nothing has happened, so the same request may come again.
    assert!(server.ask(r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{}}"#).is_empty());
    assert!(server.linear().is_some());
}

#[test]
fn a_cancelled_request_is_not_waited_for() {
    let server = server();
    server.feed(
        r#"[{"jsonrpc":"2.0","id":1,"method":"ask","params":"?"},{"jsonrpc":"2.0","id":2,"method":"look"}]"#,
    );
    let asked = server.incoming().unwrap().id.unwrap();
    answer(&server, "7");
    let answers = server.ask(r#"{"jsonrpc":"2.0","method":"cancelled","params":{"requestId":1}}"#);
    assert_eq!(ids_and_codes(&answers[0]), [(json!(2), None)]);
    server.link.speak(|engine, caller| engine.reply_result(caller, &asked, "\"late\"")).unwrap();
    assert!(server.said().is_empty());

    // The same from within the batch, before a handler has begun.
    let answers = server.ask(
        r#"[{"jsonrpc":"2.0","id":3,"method":"ask","params":"?"},{"jsonrpc":"2.0","method":"cancelled","params":{"requestId":3}}]"#,
    );
    assert!(answers.is_empty() && server.incoming().is_none());
}

#[test]
fn an_end_of_input_leaves_the_replies_to_come() {
    let server = server();
    server.feed_bytes(two().as_bytes());
    server.end_input(InputEnd::Eof);
    answer(&server, "7");
    assert_eq!(server.output().1, None);
    server.incoming();
    answer(&server, "\"!\"");
    let (bytes, then) = server.output();
    let answers: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(ids_and_codes(&answers), [(json!(1), None), (json!(2), None)]);
    assert_eq!(then, Some(Finish::Complete));
}

#[test]
fn closing_sends_the_replies_that_are_there() {
    let server = server();
    server.feed(&two());
    answer(&server, "7");
    server.link.with(|engine| engine.close());
    let (bytes, then) = server.output();
    let answers: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(ids_and_codes(&answers), [(json!(1), None)]);
    assert_eq!(then, Some(Finish::Complete));
}

#[test]
fn held_back_replies_count_as_output() {
    let mut options = Options::default();
    options.output_limit = 2000;
    let server = server_with(options);
    for id in 0..20 {
        server.feed(&format!(
            r#"[{{"jsonrpc":"2.0","id":"a{id}","method":"look"}},{{"jsonrpc":"2.0","id":"b{id}","method":"nothing"}}]"#
        ));
    }
    assert!(
        server.link.speak(|engine, caller| engine.lifecycle().closed(caller)).is_some(),
        "the first of each pair is never answered"
    );
    assert!(server.output().0.is_empty());
}

#[test]
fn a_batch_of_large_replies_ends_no_session() {
    let server = server_with(Options::default().output_limit(4000));
    let requests: Vec<String> =
        (0..4).map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"look"}}"#)).collect();
    server.feed(&format!("[{}]", requests.join(",")));
    let large = format!("\"{}\"", "x".repeat(1500));
    for number in 0..4 {
        let id = server.incoming().unwrap().id.unwrap();
        let answered = server.link.speak(|engine, caller| engine.reply_result(caller, &id, &large));
        match number {
            0 => answered.unwrap(),
            _ => assert!(matches!(answered, Err(Error::BatchFull(2000))), "{answered:?}"),
        }
    }
    let answers = server.said();
    let codes = ids_and_codes(&answers[0]);
    let busy = Some(crate::RpcError::BUSY);
    assert_eq!(codes, [(json!(0), None), (json!(1), busy), (json!(2), busy), (json!(3), busy)]);
    assert!(server.link.speak(|engine, caller| engine.lifecycle().closed(caller)).is_none());
    // On its own the same reply goes out.
    server.feed(r#"{"jsonrpc":"2.0","id":9,"method":"look"}"#);
    answer(&server, &large);
    assert_eq!(server.said()[0]["id"], 9);
}

#[test]
fn a_client_takes_batches_too() {
    let mut protocol = desk::PROTOCOL.clone();
    protocol.batch = true;
    let client = End::over(protocol, Side::Client, Options::default());
    let first = client.call(desk::messages::PING, "null");
    let second = client.call(desk::messages::PING, "null");
    client.said();
    let answers = client.ask(&format!(
        r#"[{{"jsonrpc":"2.0","id":{second},"result":{{}}}},{{"jsonrpc":"2.0","id":0,"method":"ping"}},{{"jsonrpc":"2.0","id":{first},"result":{{}}}}]"#
    ));
    assert_eq!(ids_and_codes(&answers[0]), [(json!(0), None)]);
    assert!(client.outcome(first).unwrap().is_ok() && client.outcome(second).unwrap().is_ok());
}
