//! Replies that this side cannot accept: they are not refusals of the peer.

use mcp_runtime::error::{InvalidReply, ReplyProblem};
use mcp_runtime::{DisconnectReason, Error, Options, StepError};
use serde_json::json;

use super::help_desk::{Open, Visitor};
use super::raw::{Raw, raw};

/// Says whether a problem is the one that was expected.
type IsRight = fn(&ReplyProblem) -> bool;

/// Replies to the request with an id, and what is wrong with each.
fn broken(id: u64) -> Vec<(Vec<u8>, IsRight)> {
    let reply = |rest: &str| format!(r#"{{"jsonrpc":"2.0","id":{id}{rest}"#).into_bytes();
    let mut not_text = reply(r#","result":{"name":""#);
    not_text.extend(b"\xff\"}}");
    let deep = format!(r#","result":{}{}}}"#, "[".repeat(30), "]".repeat(30));
    let long = format!(r#","result":{{"name":"{}"}}}}"#, "x".repeat(400));
    // The same where the id comes last.
    let mut long_head = format!(r#"{{"result":"{}","#, "x".repeat(400)).into_bytes();
    long_head.extend(format!(r#""jsonrpc":"2.0","id":{id}}}"#).as_bytes());
    vec![
        (reply(&long), |problem| matches!(problem, ReplyProblem::TooLong(300))),
        (long_head, |problem| matches!(problem, ReplyProblem::TooLong(300))),
        (not_text, |problem| matches!(problem, ReplyProblem::NotUtf8)),
        (reply(&deep), |problem| matches!(problem, ReplyProblem::TooDeep(20))),
        (reply(r#","result":{},"error":{"code":1,"message":"m"}}"#), malformed),
        (reply(r#","result":{}"#), malformed),
        (reply("}"), malformed),
        (format!(r#"{{"id":{id},"result":{{}}}}"#).into_bytes(), malformed),
    ]
}

fn malformed(problem: &ReplyProblem) -> bool {
    matches!(problem, ReplyProblem::Malformed(_))
}

fn strict() -> Options {
    Options::new().max_message_bytes(300).max_depth(20)
}

/// A visitor that has shaken hands, and its peer.
async fn visiting() -> (Visitor<Open>, Raw) {
    let (wire, mut peer) = raw();
    let visitor = Visitor::with_options(wire, strict());
    let welcome = async {
        peer.hear().await.unwrap();
        peer.say(json!({"jsonrpc":"2.0","id":0,"result":{"capabilities":{"questions":{}}}})).await;
        peer.hear().await.unwrap();
    };
    let visitor = async { visitor.hello(json!({})).await.unwrap().1.send_ready().await.unwrap() };
    let (visitor, ()) = tokio::join!(visitor, welcome);
    (visitor, peer)
}

#[tokio::test]
async fn a_handshake_whose_reply_is_rejected_ends_the_session_and_is_not_sent_again() {
    for (reply, is_right) in broken(0) {
        let (wire, mut peer) = raw();
        let visitor = Visitor::with_options(wire, strict());
        let shown = String::from_utf8_lossy(&reply).into_owned();
        let answer = async {
            assert_eq!(peer.hear().await.unwrap()["method"], json!("hello"));
            peer.say_line(&reply).await;
            peer.hear().await
        };
        let (step, after) = tokio::join!(visitor.hello(json!({})), answer);
        assert_eq!(after, None, "{shown}");
        let error = match step {
            Err(StepError::Ended(Error::InvalidReply(error))) => error,
            other => panic!("{shown}: {other:?}"),
        };
        assert_eq!((&*error.message, &*error.method), ("Hello", "hello"));
        assert!(is_right(&error.problem), "{shown}: {error}");
    }
}

#[tokio::test]
async fn everything_else_learns_why_the_session_has_ended() {
    let (wire, mut peer) = raw();
    let visitor = Visitor::with_options(wire, strict());
    let handle = visitor.handle();
    let answer = async {
        peer.hear().await.unwrap();
        peer.hear().await.unwrap();
        peer.say_line(br#"{"jsonrpc":"2.0","id":0}"#).await;
    };
    let (step, pinged, ()) = tokio::join!(visitor.hello(json!({})), handle.ping(), answer);
    assert!(matches!(step, Err(StepError::Ended(Error::InvalidReply(_)))));
    let Err(Error::Disconnected { reason: DisconnectReason::InvalidReply(InvalidReply { method, .. }) }) =
        pinged
    else {
        panic!("{pinged:?}")
    };
    assert_eq!(method, "hello");
}

#[tokio::test]
async fn a_call_whose_reply_is_rejected_fails_and_the_session_goes_on() {
    let (visitor, mut peer) = visiting().await;
    for (place, (reply, is_right)) in broken(0).into_iter().enumerate() {
        let shown = String::from_utf8_lossy(&reply).into_owned();
        let answer = async {
            let id = peer.hear().await.unwrap()["id"].as_u64().unwrap();
            peer.say_line(&broken(id)[place].0).await;
        };
        let (called, ()) = tokio::join!(visitor.ask("?".to_owned()), answer);
        let Err(Error::InvalidReply(error)) = called else { panic!("{shown}: {called:?}") };
        assert!(is_right(&error.problem), "{shown}: {error}");
    }
    let answer = async {
        let id = peer.hear().await.unwrap()["id"].as_u64().unwrap();
        peer.say(json!({"jsonrpc":"2.0","id":id,"result":"!"})).await;
    };
    let (called, ()) = tokio::join!(visitor.ask("?".to_owned()), answer);
    assert_eq!(called.unwrap(), "!");
}

#[tokio::test]
async fn a_step_that_leads_back_whatever_its_reply_says_leaves_the_session_where_it_was() {
    let (mut visitor, mut peer) = visiting().await;
    for place in 0..broken(0).len() {
        let answer = async {
            let id = peer.hear().await.unwrap()["id"].as_u64().unwrap();
            peer.say_line(&broken(id)[place].0).await;
        };
        let (counted, ()) = tokio::join!(visitor.count(1), answer);
        assert!(matches!(counted, Err(Error::InvalidReply(_))), "{place}: {counted:?}");
    }
    let answer = async {
        let id = peer.hear().await.unwrap()["id"].as_u64().unwrap();
        peer.say(json!({"jsonrpc":"2.0","id":id,"result":2})).await;
    };
    let (counted, ()) = tokio::join!(visitor.count(1), answer);
    assert_eq!(counted.unwrap(), 2);
}
