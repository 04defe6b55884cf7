//! Peers that do not keep to JSON-RPC, or not to the protocol: each gets its answer, and the session lives on.

use mcp_protocol_machine::protocol::Side;
use serde_json::{Value, json};

use super::pair::End;
use crate::options::Options;

/// The server still answers.
fn lives(server: &End, id: &str) {
    let answers = server.ask(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#));
    assert_eq!(answers, [json!({"jsonrpc":"2.0","id":id,"result":{}})]);
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap()
}

#[test]
fn every_malformed_line_gets_its_error_and_its_id() {
    let cases: &[(&[u8], i64, Value)] = &[
        (b"this is prose", -32700, Value::Null),
        (br#"{"jsonrpc":"2.0","id":5,"method":"ping",}"#, -32700, json!(5)),
        (br#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, -32600, json!(5)),
        (br#"{"id":"a","method":"ping"}"#, -32600, json!("a")),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, json!(1.5)),
        (br#"{"jsonrpc":"2.0","id":7}"#, -32600, json!(7)),
        (br#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, -32600, Value::Null),
        (b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}", -32700, json!(5)),
        (br#"[{"jsonrpc":"2.0","id":5,"result":{}}]"#, -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xc3\x28\"}", -32700, json!(5)),
        (br#"{"jsonrpc":"2.0","id":8,"method":"nothing"}"#, -32601, json!(8)),
    ];
    let server = End::server();
    for (place, (line, expected, id)) in cases.iter().enumerate() {
        server.feed_bytes(line);
        server.feed_bytes(b"\r\n");
        let answers = server.said();
        let shown = String::from_utf8_lossy(line);
        assert_eq!(answers.len(), 1, "{shown}: {answers:?}");
        assert_eq!((code(&answers[0]), &answers[0]["id"]), (*expected, id), "{shown}");
        assert_eq!(server.reports().len(), 1, "{shown}");
        lives(&server, &format!("after {place}"));
    }
}

#[test]
fn blank_lines_and_replies_to_nothing_get_no_answer() {
    let server = End::server();
    assert!(server.ask("\n  \r\n").is_empty());
    assert!(server.reports().is_empty());
    for line in [
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{},"error":{}}"#,
        r#"{"jsonrpc":"2.0","method":"nothing"}"#,
        r#"{"jsonrpc":"2.0","method":"ready"}"#,
    ] {
        assert!(server.ask(line).is_empty(), "{line}");
        assert_eq!(server.reports().len(), 1, "{line}");
    }
    lives(&server, "x");
}

#[test]
fn a_client_does_not_answer_lines_of_a_log() {
    let client = End::new(Side::Client, Options::default());
    assert!(client.ask("server listening").is_empty());
    assert_eq!(client.reports().len(), 1);
}

#[test]
fn a_line_of_fifty_megabytes_is_not_kept() {
    let server = End::server();
    server.feed_bytes(br#"{"jsonrpc":"2.0","method":"ping","params":{"x":""#);
    for _ in 0..50 {
        server.feed_bytes(&vec![b'a'; 1024 * 1024]);
    }
    assert!(server.said().is_empty());
    let answers = server.ask(r#""},"id":77}"#);
    assert_eq!((code(&answers[0]), &answers[0]["id"]), (-32600, &json!(77)));
    lives(&server, "x");
}

#[test]
fn what_nests_too_deep_is_refused_before_it_is_parsed() {
    let server = End::server_with(Options::default().max_depth(20));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":4,"method":"ping","params":{}{}}}"#,
        "[".repeat(30),
        "]".repeat(30)
    );
    let answers = server.ask(&deep);
    assert_eq!((code(&answers[0]), &answers[0]["id"]), (-32600, &json!(4)));
    lives(&server, "x");
}

#[test]
fn the_first_state_says_what_it_expects_whatever_it_refuses() {
    let server = End::server();
    // Clients probe for later revisions before they say hello.
    let answers = server.ask(r#"{"jsonrpc":"2.0","id":0,"method":"server/discover"}"#);
    assert_eq!(answers[0]["error"]["code"], json!(-32601));
    let data = &answers[0]["error"]["data"];
    assert_eq!(data["state"], json!("Greeting"));
    assert!(data["expected"].as_array().unwrap().contains(&json!("hello")), "{data}");
    assert_eq!(data.get("awaited"), None, "it is the client's turn");

    let client = End::new(Side::Client, Options::default());
    let answers = client.ask(r#"{"jsonrpc":"2.0","id":0,"method":"server/discover"}"#);
    let data = &answers[0]["error"]["data"];
    assert!(data["awaited"].as_array().unwrap().contains(&json!("hello")), "{data}");
}

#[test]
fn a_request_out_of_order_is_told_the_state_and_what_it_expects() {
    let server = End::server();
    let answers = server.ask(r#"{"jsonrpc":"2.0","id":0,"method":"ask","params":"?"}"#);
    assert_eq!(answers[0]["id"], json!(0));
    assert_eq!(answers[0]["error"]["data"]["state"], json!("Greeting"));
    let expected = answers[0]["error"]["data"]["expected"].as_array().unwrap();
    assert!(expected.contains(&json!("hello")), "{expected:?}");
    let message = answers[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("`Greeting`") && message.contains("`hello`"), "{message}");
    assert_eq!(server.reports().len(), 1);
    lives(&server, "x");
    let answers = server.ask(r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{}}"#);
    assert!(answers.is_empty(), "it waits for the application: {answers:?}");
    assert!(server.linear().is_some());
}

#[test]
fn an_id_is_used_once() {
    let server = End::ready_server(Options::default());
    assert!(server.ask(r#"{"jsonrpc":"2.0","id":0,"method":"ask","params":"?"}"#).is_empty());
    let asked = server.incoming().unwrap();
    for line in [
        r#"{"jsonrpc":"2.0","id":0,"method":"look"}"#,
        r#"{"jsonrpc":"2.0","id":0,"method":"no such method"}"#,
        r#"{"jsonrpc":"1.0","id":0,"method":"look"}"#,
        r#"{"jsonrpc":"2.0","id":0,"method":"look",}"#,
        r#"{"jsonrpc":"2.0","id":0}"#,
    ] {
        // The sender of the first request would take an error for its reply.
        assert!(server.ask(line).is_empty(), "{line}");
        assert_eq!(server.reports().len(), 1, "{line}");
        assert!(server.incoming().is_none(), "{line}");
    }
    server.link.speak(|engine, caller| engine.reply_result(caller, &asked.id.unwrap(), "\"!\"")).unwrap();
    assert_eq!(server.said(), [json!({"jsonrpc":"2.0","id":0,"result":"!"})]);
    // Nothing runs under the id any more, so an error means the request that has used it again.
    let answers = server.ask(r#"{"jsonrpc":"2.0","id":0,"method":"look"}"#);
    assert_eq!((code(&answers[0]), &answers[0]["id"]), (-32600, &json!(0)));
    lives(&server, "x");
}

#[test]
fn a_capability_that_was_not_announced_closes_the_gate() {
    let server = End::server();
    server.feed(r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{}}"#);
    let hello = server.linear().unwrap();
    server
        .link
        .speak(|engine, caller| {
            engine.reply_result(caller, &hello.id.unwrap(), r#"{"capabilities":{"questions":false}}"#)
        })
        .unwrap();
    server.said();
    let answers = server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"ask","params":"?"}"#);
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains("questions"), "{answers:?}");
    let refused = server
        .link
        .speak(|engine, caller| engine.request(caller, super::desk::messages::APPROVE, "\"x\"", false, true));
    assert!(refused.unwrap_err().to_string().contains("`approval`"));
    assert!(server.said().is_empty(), "nothing is written that was not negotiated");
}

#[test]
fn what_needs_a_tolerated_capability_is_accepted_and_reported() {
    let client = End::new(Side::Client, Options::default().tolerate(["approval", "no such capability"]));
    client.link.with(|engine| engine.attend(None));
    let hello = |server: &str| {
        client
            .link
            .speak(|engine, caller| engine.request(caller, super::desk::messages::HELLO, "{}", false, false))
            .unwrap();
        client.feed(server);
    };
    hello(r#"{"jsonrpc":"2.0","id":0,"result":{"capabilities":{}}}"#);
    client.said();
    // The client has not announced that it approves of anything.
    client.feed(r#"{"jsonrpc":"2.0","id":1,"method":"approve","params":"?"}"#);
    let arrived = client.incoming().unwrap();
    assert_eq!(arrived.message, super::desk::messages::APPROVE);
    let report = "tolerated: `approve` needs the capability `approval`, which the client has not announced";
    assert_eq!(client.reports(), [report]);
    // What this side sends needs what it needs.
    let refused = client
        .link
        .speak(|engine, caller| engine.request(caller, super::desk::messages::ASK, "\"?\"", false, true));
    assert!(refused.unwrap_err().to_string().contains("`questions`"));
    let server = End::ready_server(Options::default().tolerate(["approval"]));
    server.reports();
    let refused = server
        .link
        .speak(|engine, caller| engine.request(caller, super::desk::messages::APPROVE, "\"x\"", false, true));
    assert!(refused.is_ok(), "it was announced");
}

#[test]
fn a_full_queue_refuses_requests_and_drops_notifications() {
    let server = End::ready_server(Options::default().max_incoming(2));
    for id in 0..4 {
        server.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"look"}}"#));
    }
    server.feed(r#"{"jsonrpc":"2.0","method":"bell","params":1}"#);
    let answers = server.said();
    let refused: Vec<_> =
        answers.iter().map(|answer| (answer["id"].as_i64().unwrap(), code(answer))).collect();
    assert_eq!(refused, [(2, -32000), (3, -32000)]);
    assert_eq!(server.reports().len(), 3);
    assert!(server.incoming().is_some() && server.incoming().is_some() && server.incoming().is_none());
    server.feed(r#"{"jsonrpc":"2.0","method":"bell","params":1}"#);
    assert!(server.incoming().is_some());
}

#[test]
fn a_peer_that_runs_ahead_costs_no_memory_and_the_session_lives() {
    let server = End::ready_server(Options::default());
    let limit = Options::default().max_linear;
    for _ in 0..limit {
        server.feed(r#"{"jsonrpc":"2.0","method":"note","params":"n"}"#);
    }
    assert!(server.reports().is_empty());
    // A note changes no state, so it can be dropped.
    server.feed(r#"{"jsonrpc":"2.0","method":"note","params":"n"}"#);
    assert_eq!(server.reports().len(), 1);
    assert!(server.link.speak(|engine, caller| engine.lifecycle().closed(caller)).is_none());
    // A request changes the state, but not if it is refused.
    let answers = server.ask(r#"{"jsonrpc":"2.0","id":1,"method":"count","params":1}"#);
    assert_eq!((code(&answers[0]), &answers[0]["id"]), (-32000, &json!(1)), "{answers:?}");
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains("try again later"), "{answers:?}");
    assert_eq!(server.reports(), ["`Count` was dropped: too many messages are waiting"]);
    assert!(server.link.speak(|engine, caller| engine.lifecycle().closed(caller)).is_none());
    // The state is as it was: where there is room again, both go on as ever.
    assert!(server.linear().is_some());
    assert!(server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"count","params":1}"#).is_empty());
    assert!(server.reports().is_empty());
    while let Some(input) = server.linear() {
        if let Some(id) = input.id {
            server.link.speak(|engine, caller| engine.reply_result(caller, &id, "1")).unwrap();
        }
    }
    assert_eq!(server.said(), [json!({"jsonrpc":"2.0","id":2,"result":1})]);
}

#[test]
fn a_step_that_cannot_be_left_out_ends_the_session_where_there_is_no_room_for_it() {
    let client = End::new(Side::Client, Options::default().max_linear(0));
    client
        .link
        .speak(|engine, caller| engine.request(caller, super::desk::messages::HELLO, "{}", false, false))
        .unwrap();
    client.feed(r#"{"jsonrpc":"2.0","id":0,"result":{"capabilities":{}}}"#);
    let error = client.link.speak(|engine, caller| engine.lifecycle().closed(caller)).unwrap().to_string();
    assert!(error.contains("too many steps"), "{error}");
}

/// Deterministic noise.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

#[test]
fn no_input_makes_an_engine_panic_or_stop() {
    let good = [
        r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"capabilities":{"approval":{}}}}"#,
        r#"{"jsonrpc":"2.0","method":"ready"}"#,
        r#"{"jsonrpc":"2.0","method":"note","params":"a\u00e9\\\""}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"count","params":7}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"ask","params":"?","_meta":{"progressToken":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
        r#"{"jsonrpc":"2.0","method":"cancelled","params":{"requestId":3}}"#,
        r#"{"jsonrpc":"2.0","method":"progress","params":{"progressToken":3}}"#,
        r#"{"jsonrpc":"2.0","id":0,"result":{"capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"m"}}"#,
        r#"[{"jsonrpc":"2.0"}]"#,
        r#"[{"jsonrpc":"2.0","id":4,"method":"look"},{"jsonrpc":"2.0","id":5,"method":"ping"}]"#,
    ];
    let mut noise = Noise(7);
    for round in 0..300 {
        let mut protocol = super::desk::PROTOCOL.clone();
        protocol.batch = round % 2 == 1;
        let options = Options::default().max_message_bytes(200).max_depth(6);
        let server = End::over(protocol, Side::Server, options);
        server.link.with(|engine| engine.attend(None));
        if round % 3 > 0 {
            server.welcome_client();
        }
        let (mut bytes, mut held) = (Vec::new(), Vec::new());
        for _ in 0..20 {
            let mut line = good[noise.below(good.len())].as_bytes().to_vec();
            for _ in 0..noise.below(4) {
                let place = noise.below(line.len());
                match noise.below(4) {
                    0 => line[place] = u8::try_from(noise.below(256)).unwrap(),
                    1 => line.truncate(place),
                    2 => line.insert(place, b"{}[]\",:\\\n0e-"[noise.below(12)]),
                    _ => line.extend_from_within(place..),
                }
                if line.is_empty() {
                    line.push(b' ');
                }
            }
            bytes.extend(line);
            bytes.push(b'\n');
        }
        for piece in bytes.chunks(1 + noise.below(40)) {
            server.feed_bytes(piece);
            let refusals = server.said();
            // A request that is being worked on gets one answer, its own.
            held.retain(|id| !server.link.speak(|engine, caller| engine.is_cancelled(caller, Some(id))));
            let ids: Vec<String> = held.iter().map(ToString::to_string).collect();
            let written = |answer: &Value| ids.contains(&answer["id"].to_string());
            assert!(!refusals.iter().any(written), "round {round}: {refusals:?}");
            if noise.below(3) == 0 {
                let arrived = server.incoming().into_iter().chain(server.incoming());
                held.extend(arrived.filter_map(|arrived| arrived.id));
            }
            if noise.below(8) == 0 {
                for id in held.drain(..) {
                    let _ = server.link.speak(|engine, caller| engine.reply_result(caller, &id, "{}"));
                }
            }
            for answer in refusals.into_iter().chain(server.said()) {
                let answers = answer.as_array().cloned().unwrap_or_else(|| vec![answer]);
                assert!(!answers.is_empty(), "round {round}");
                assert!(answers.iter().all(|answer| answer["jsonrpc"] == json!("2.0")), "round {round}");
            }
        }
        server.feed("");
        lives(&server, "the end");
    }
}
