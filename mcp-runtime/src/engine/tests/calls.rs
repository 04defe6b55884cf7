//! Exchanges: ids, orders, cancelling, progress.

use std::time::Duration;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{Condition, Side};
use serde_json::json;

use super::desk::messages::{APPROVE, ASK, BELL, HELLO, LOOK, PING, WELCOME};
use super::pair::{End, settle};
use crate::engine::{Body, CancelOutcome};
use crate::error::{DisconnectReason, Error};
use crate::options::Options;

#[test]
fn two_engines_shake_hands_and_talk() {
    let client = End::new(Side::Client, Options::default());
    let server = End::server();
    client
        .link
        .speak(|engine, caller| {
            engine.request(caller, HELLO, r#"{"capabilities":{"approval":1}}"#, false, false)
        })
        .unwrap();
    settle(&client, &server);
    let hello = server.linear().unwrap();
    server
        .link
        .speak(|engine, caller| {
            engine.reply_result(caller, &hello.id.unwrap(), r#"{"capabilities":{"questions":{}}}"#)
        })
        .unwrap();
    settle(&client, &server);
    assert!(client.linear().is_some());
    let ping = client.call(PING, "null");
    let (one, two) = (client.call(ASK, "\"1\""), client.call(ASK, "\"2\""));
    let back = server.call(APPROVE, "\"?\"");
    settle(&client, &server);
    assert_eq!(client.outcome(ping), Some(Ok("{}".to_owned())), "a ping is answered without the application");
    assert_eq!((client.outcome(one), client.outcome(two)), (None, None));
    let asked: Vec<_> = std::iter::from_fn(|| server.incoming()).collect();
    for asked in asked.iter().rev() {
        let answer = format!("\"re {}\"", asked.payload.as_deref().unwrap().trim_matches('"'));
        server
            .link
            .speak(|engine, caller| engine.reply_result(caller, asked.id.as_ref().unwrap(), &answer))
            .unwrap();
    }
    // Both directions count from zero, and their ids have nothing to do with one another.
    let approve = client.incoming().unwrap();
    client
        .link
        .speak(|engine, caller| engine.reply_result(caller, approve.id.as_ref().unwrap(), "true"))
        .unwrap();
    settle(&client, &server);
    assert_eq!(client.outcome(one), Some(Ok("\"re 1\"".to_owned())));
    assert_eq!(client.outcome(two), Some(Ok("\"re 2\"".to_owned())));
    assert_eq!(server.outcome(back), Some(Ok("true".to_owned())));
    assert!(client.reports().is_empty() && server.reports().is_empty());
}

#[test]
fn an_error_reply_ends_the_call_with_it() {
    let client = End::ready_client(Options::default());
    let id = client.call(LOOK, "null");
    assert_eq!(client.said(), [json!({"jsonrpc":"2.0","id":id,"method":"look"})]);
    client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":4,"message":"no"}}}}"#));
    assert_eq!(client.outcome(id), Some(Err("the peer refused the request: no (code 4)".to_owned())));
}

#[test]
fn a_broken_reply_ends_the_call_too() {
    let client = End::ready_client(Options::default());
    for broken in [r#""result":1,"error":{"code":1,"message":"m"}}"#, r#""result":{,}}"#, r#""error":"hm"}"#]
    {
        let id = client.call(LOOK, "null");
        client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},{broken}"#));
        assert!(matches!(client.outcome(id), Some(Err(_))), "{broken}");
        assert_eq!(client.reports().len(), 1, "{broken}");
    }
}

#[test]
fn a_reply_whose_id_is_written_in_another_way_ends_its_call() {
    for (reply, why) in [
        (r#"{"jsonrpc":"2.0","id":"ID","result":1}"#, r#"replies to the id "ID""#),
        (r#"{"jsonrpc":"2.0","id":"ID","error":{"code":1,"message":"m"}}"#, r#"replies to the id "ID""#),
        (r#"{"jsonrpc":"2.0","id":ID.0,"result":1}"#, "the `id` of the reply is not an id: it is ID.0"),
        (r#"{"jsonrpc":"2.0","id":"ID.0","result":1}"#, r#"replies to the id "ID.0""#),
        (r#"{"jsonrpc":"2.0","id":ID.0,"error":{"code":1,"message":"m"}}"#, "it is ID.0"),
        ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":1}", "it begins with a byte order mark"),
        (r#"[{"jsonrpc":"2.0","id":ID,"result":1}]"#, "a batch is not permitted here"),
        (
            r#"[7, {"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"m"}}]"#,
            "a batch is not permitted here",
        ),
    ] {
        let client = End::ready_client(Options::default());
        let (id, other) = (client.call(LOOK, "null"), client.call(LOOK, "null"));
        let (reply, why) = (reply.replace("ID", &id.to_string()), why.replace("ID", &id.to_string()));
        client.feed(&reply);
        let outcome = client.outcome(id);
        let Some(Err(error)) = &outcome else { panic!("{reply}: {outcome:?}") };
        assert!(error.starts_with("the reply to `look` cannot be accepted: "), "{reply}: {error}");
        assert!(error.contains(&why), "{reply}: {error}");
        assert_eq!(client.reports().len(), 1, "{reply}");
        assert_eq!(client.outcome(other), None, "{reply}");
        client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{other},"result":1}}"#));
        assert_eq!(client.outcome(other), Some(Ok("1".to_owned())), "{reply}");
    }
    // What stands for no id of a running request ends none.
    let client = End::ready_client(Options::default());
    let id = client.call(LOOK, "null");
    for stray in [format!("\"{}\"", id + 1), format!("{id}.5"), format!("\"{id}x\""), "\"\"".to_owned()] {
        client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{stray},"result":1}}"#));
        assert_eq!(client.outcome(id), None, "{stray}");
    }
}

#[test]
fn a_step_whose_reply_is_none_that_there_is_ends_the_session() {
    let mut protocol = super::desk::PROTOCOL.clone();
    let welcome = &mut protocol.messages.to_mut()[usize::from(WELCOME.0)];
    welcome.condition = Some(Condition::new(vec!["capabilities".into()].into(), None));
    let client = End::over(protocol, Side::Client, Options::default());
    client.link.speak(|engine, caller| engine.request(caller, HELLO, "{}", false, false)).unwrap();
    client.feed(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#);
    assert_eq!(client.reports().len(), 1);
    let input = client.linear().unwrap();
    assert!(matches!(&input.body, Body::Rejected(Error::InvalidReply(reply)) if reply.method == "hello"));
    let ended = client.link.speak(|engine, caller| engine.lifecycle().closed(caller));
    assert!(
        matches!(ended, Some(Error::Disconnected { reason: DisconnectReason::InvalidReply(_) })),
        "{ended:?}"
    );
}

#[test]
fn a_second_reply_is_reported() {
    let client = End::ready_client(Options::default());
    let id = client.call(LOOK, "null");
    client.said();
    for _ in 0..2 {
        client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#));
    }
    assert_eq!(client.outcome(id), Some(Ok("1".to_owned())));
    assert_eq!(client.reports().len(), 1);
}

#[test]
fn a_cancelled_call_swallows_what_comes_late() {
    let client = End::ready_client(Options::default());
    let id = client.link.speak(|engine, caller| engine.request(caller, ASK, "{}", true, true)).unwrap();
    assert_eq!(client.said()[0]["params"]["_meta"]["progressToken"], json!(id));
    let outcome = client.link.speak(|engine, caller| engine.cancel(caller, id, Some(r#"{"reason":"late"}"#)));
    assert_eq!(outcome.unwrap(), CancelOutcome::Ended);
    assert_eq!(client.outcome(id), Some(Err("the call was cancelled".to_owned())));
    assert_eq!(
        client.said(),
        [json!({"jsonrpc":"2.0","method":"cancelled","params":{"reason":"late","requestId":id}})]
    );
    client.feed(&format!(r#"{{"jsonrpc":"2.0","method":"progress","params":{{"progressToken":{id}}}}}"#));
    client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"late"}}"#));
    assert!(client.reports().is_empty());
    let again = client.link.speak(|engine, caller| engine.cancel(caller, id, None)).unwrap();
    assert_eq!(again, CancelOutcome::TooLate, "a second cancel says nothing");
    assert!(client.said().is_empty());
}

#[test]
fn a_cancel_that_loses_the_race_says_nothing() {
    let client = End::ready_client(Options::default());
    let id = client.call(ASK, "\"?\"");
    client.said();
    client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"in time"}}"#));
    let outcome = client.link.speak(|engine, caller| engine.cancel(caller, id, None)).unwrap();
    assert_eq!(outcome, CancelOutcome::TooLate);
    assert!(client.said().is_empty());
    assert_eq!(client.outcome(id), Some(Ok("\"in time\"".to_owned())));
}

#[test]
fn letting_go_cancels_what_may_be_cancelled() {
    let client = End::ready_client(Options::default());
    let (ask, look) = (client.call(ASK, "\"?\""), client.call(LOOK, "null"));
    client.said();
    client.link.speak(|engine, caller| engine.let_go(caller, ask));
    client.link.speak(|engine, caller| engine.let_go(caller, look));
    assert_eq!(client.said(), [json!({"jsonrpc":"2.0","method":"cancelled","params":{"requestId":ask}})]);
    client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{look},"result":1}}"#));
    client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{ask},"result":1}}"#));
    assert!(client.reports().is_empty());
}

#[test]
fn the_peers_cancel_reaches_the_request_wherever_it_is() {
    let server = End::ready_server(Options::default());
    for id in 0..2 {
        server.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ask","params":"?"}}"#));
    }
    let first = server.incoming().unwrap().id.unwrap();
    assert!(!server.link.speak(|engine, caller| engine.is_cancelled(caller, Some(&first))));
    for id in 0..2 {
        server.feed(&format!(r#"{{"jsonrpc":"2.0","method":"cancelled","params":{{"requestId":{id}}}}}"#));
    }
    assert!(
        server.link.speak(|engine, caller| engine.is_cancelled(caller, Some(&first))),
        "the id 0 is an id like any other"
    );
    assert!(server.incoming().is_none(), "no handler works on what was cancelled in the queue");
    server.link.speak(|engine, caller| engine.reply_result(caller, &first, "\"late\"")).unwrap();
    assert!(server.said().is_empty() && server.reports().is_empty());
}

#[test]
fn cancelling_what_is_not_there_or_not_cancellable_is_reported() {
    let server = End::ready_server(Options::default());
    server.feed(r#"{"jsonrpc":"2.0","id":1,"method":"look"}"#);
    for params in [r#"{"requestId":1}"#, r#"{"requestId":99}"#, "{}", r#"{"requestId":[]}"#] {
        server.feed(&format!(r#"{{"jsonrpc":"2.0","method":"cancelled","params":{params}}}"#));
        assert_eq!(server.reports().len(), 1, "{params}");
    }
    assert!(server.incoming().is_some());
}

#[test]
fn progress_reaches_the_call_before_its_result() {
    let client = End::ready_client(Options::default());
    let id = client.link.speak(|engine, caller| engine.request(caller, ASK, "{}", true, true)).unwrap();
    for step in 1..=2 {
        client.feed(&format!(
            r#"{{"jsonrpc":"2.0","method":"progress","params":{{"progressToken":{id},"step":{step}}}}}"#
        ));
    }
    client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"!"}}"#));
    let seen: Vec<_> = (0..3).map(|_| client.outcome(id).unwrap().unwrap()).collect();
    assert!(seen[0].contains("\"step\":1") && seen[1].contains("\"step\":2"), "{seen:?}");
    assert_eq!(seen[2], "\"!\"");
    client.feed(&format!(r#"{{"jsonrpc":"2.0","method":"progress","params":{{"progressToken":{id}}}}}"#));
    assert!(client.reports().is_empty(), "late progress is harmless");
    client.feed(r#"{"jsonrpc":"2.0","method":"progress","params":{"progressToken":"never"}}"#);
    assert_eq!(client.reports().len(), 1, "progress on nothing is not");
}

#[test]
fn reports_carry_the_token_of_the_request() {
    let server = End::ready_server(Options::default());
    server.feed(r#"{"jsonrpc":"2.0","id":5,"method":"look","params":{"_meta":{"progressToken":"t"}}}"#);
    let look = server.incoming().unwrap();
    let (id, token) = (look.id.unwrap(), look.token.unwrap());
    let progress = super::desk::messages::PROGRESS;
    server
        .link
        .speak(|engine, caller| engine.report_on(caller, progress, r#"{"progress":1}"#, &token, Some(&id)))
        .unwrap();
    server.link.speak(|engine, caller| engine.reply_result(caller, &id, "null")).unwrap();
    server
        .link
        .speak(|engine, caller| engine.report_on(caller, progress, r#"{"progress":2}"#, &token, Some(&id)))
        .unwrap();
    assert_eq!(
        server.said(),
        [
            json!({"jsonrpc":"2.0","method":"progress","params":{"progress":1,"progressToken":"t"}}),
            json!({"jsonrpc":"2.0","id":5,"result":null}),
        ]
    );
}

#[test]
fn what_is_unattended_is_refused_in_time() {
    let mut client = End::ready_client(Options::default().unattended_after(Duration::from_secs(5)));
    assert_eq!(client.deadline(), None);
    client.feed(r#"{"jsonrpc":"2.0","id":1,"method":"approve","params":"?"}"#);
    client.later(Duration::from_secs(4));
    assert!(client.said().is_empty());
    assert_eq!(client.deadline(), Some(client.now + Duration::from_secs(1)));
    client.later(Duration::from_secs(1));
    assert_eq!(client.said()[0]["error"]["code"], json!(-32601));
    // From then on nothing waits.
    let answers = client.ask(r#"{"jsonrpc":"2.0","id":2,"method":"approve","params":"?"}"#);
    assert_eq!(answers[0]["error"]["code"], json!(-32601));
    client.link.with(|engine| engine.attend(None));
    assert!(client.ask(r#"{"jsonrpc":"2.0","id":3,"method":"approve","params":"?"}"#).is_empty());
    assert_eq!(client.incoming().unwrap().id, Some(RequestId::Number(3)));
    client.later(Duration::from_secs(100));
    assert!(client.said().is_empty());
}

#[test]
fn what_is_not_permitted_is_not_written() {
    let client = End::new(Side::Client, Options::default());
    let refused =
        client.link.speak(|engine, caller| engine.request(caller, ASK, "\"?\"", false, true)).unwrap_err();
    assert!(refused.to_string().contains("`ask` is not permitted in `Greeting`"), "{refused}");
    let about = mcp_protocol_machine::About::Nothing;
    assert!(client.link.speak(|engine, caller| engine.notification(caller, BELL, "1", about)).is_err());
    assert!(client.said().is_empty());
}
