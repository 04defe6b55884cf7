//! A checked session from its first message to its end.

use mcp_runtime::protocol::Side;
use mcp_runtime::{CheckedSession, DisconnectReason, Error, Event, Options, RpcError};
use serde_json::{Value, json};

use super::help_desk;
use super::raw::raw;
use super::{as_request, is_idle, next, notification, open, reply, request, strangers};

#[tokio::test]
async fn linear_steps_move_the_state_as_they_do_with_types() {
    let (mut visitor, mut clerk) = strangers();
    assert_eq!((visitor.state_name(), clerk.state_name()), ("Greeting".to_owned(), "Greeting".to_owned()));
    visitor.request("hello", &super::hello()).await.unwrap();
    assert_eq!(visitor.state_name(), "AwaitingWelcome");
    let (id, params) = request(&mut clerk).await;
    assert_eq!(params, super::hello());
    assert_eq!(clerk.state_name(), "BeforeWelcome");
    clerk.respond(&id, &super::welcome()).await.unwrap();
    assert_eq!(clerk.state_name(), "Greeted");
    reply(&mut visitor).await;
    assert_eq!(visitor.state_name(), "Greeted");
    visitor.notify("ready", &()).await.unwrap();
    notification(&mut clerk).await;
    assert_eq!((visitor.state_name(), clerk.state_name()), ("Open".to_owned(), "Open".to_owned()));
    visitor.close().unwrap().await.unwrap();
    assert!(matches!(next(&mut clerk).await, Event::Closed));
    // It is said once.
    assert!(matches!(clerk.next().await, Err(Error::Disconnected { reason: DisconnectReason::PeerClosed })));
}

#[tokio::test]
async fn a_refused_request_is_undone_and_may_be_sent_again() {
    let (mut visitor, mut clerk) = strangers();
    let asked = visitor.request("hello", &json!({})).await.unwrap();
    let (id, _) = request(&mut clerk).await;
    clerk.refuse(&id, &RpcError::new(7, "come back tomorrow")).unwrap();
    assert_eq!(clerk.state_name(), "Greeting");
    let Event::Refused { id, error } = next(&mut visitor).await else { panic!() };
    assert_eq!((id, error.code), (asked, 7));
    assert_eq!(visitor.state_name(), "Greeting");
    visitor.request("hello", &json!({})).await.unwrap();
    request(&mut clerk).await;
}

#[tokio::test]
async fn a_reply_that_is_rejected_fails_its_request_and_ends_the_session_if_it_would_have_moved_it_on() {
    let (wire, mut peer) = raw();
    let mut visitor = CheckedSession::start(wire, &help_desk::PROTOCOL, Side::Client, Options::default());
    visitor.request("hello", &json!({})).await.unwrap();
    peer.say(json!({"jsonrpc":"2.0","id":0,"result":{"capabilities":{}}})).await;
    reply(&mut visitor).await;
    visitor.notify("ready", &()).await.unwrap();
    // It leads back, whatever the reply says.
    let asked = visitor.request("count", &1).await.unwrap();
    peer.say(json!({"jsonrpc":"2.0","id":asked,"result":2,"error":{}})).await;
    let Event::Failed { id, error } = next(&mut visitor).await else { panic!() };
    assert_eq!((id, visitor.state_name()), (asked, "Open".to_owned()));
    assert!(matches!(error, Error::InvalidReply(_)), "{error}");

    let (wire, mut peer) = raw();
    let mut visitor = CheckedSession::start(wire, &help_desk::PROTOCOL, Side::Client, Options::default());
    let asked = visitor.request("hello", &json!({})).await.unwrap();
    peer.say(json!({"jsonrpc":"2.0","id":asked,"result":{},"error":{}})).await;
    let Event::Failed { id, error } = next(&mut visitor).await else { panic!() };
    assert_eq!(id, asked);
    assert!(matches!(error, Error::InvalidReply(_)), "{error}");
    let ended = visitor.next().await;
    assert!(
        matches!(ended, Err(Error::Disconnected { reason: DisconnectReason::InvalidReply(_) })),
        "{ended:?}"
    );
    assert!(visitor.request("hello", &json!({})).await.is_err());
}

#[tokio::test]
async fn what_came_is_shown_as_it_came() {
    let (wire, mut peer) = raw();
    let mut visitor = CheckedSession::start(wire, &help_desk::PROTOCOL, Side::Client, Options::default());
    let shown = async |visitor: &mut CheckedSession| match next(visitor).await {
        Event::Reply { result, .. } => result.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    visitor.request("hello", &json!({})).await.unwrap();
    peer.say(json!({"jsonrpc":"2.0","id":0,"result":{}})).await;
    assert_eq!(shown(&mut visitor).await, "{}");
    visitor.request("ping", &()).await.unwrap();
    peer.say(json!({"jsonrpc":"2.0","id":1,"result":{}})).await;
    assert_eq!(shown(&mut visitor).await, "{}");
}

#[tokio::test]
async fn events_come_in_the_order_of_the_wire_whatever_queue_they_are_of() {
    let (mut visitor, mut clerk) = open().await;
    // On a replicated channel, on the linear one, and both again.
    visitor.notify("bell", &1).await.unwrap();
    visitor.notify("note", "two").await.unwrap();
    let three = visitor.request("ask", "three").await.unwrap();
    visitor.notify("note", "four").await.unwrap();
    visitor.cancel(&three).unwrap();
    visitor.notify("bell", &5).await.unwrap();
    assert_eq!(notification(&mut clerk).await, ("bell".to_owned(), json!(1)));
    assert_eq!(notification(&mut clerk).await, ("note".to_owned(), json!("two")));
    // It was cancelled before the peer had taken it.
    assert_eq!(notification(&mut clerk).await, ("note".to_owned(), json!("four")));
    assert_eq!(notification(&mut clerk).await, ("bell".to_owned(), json!(5)));
    assert!(is_idle(&mut clerk).await);
}

#[tokio::test]
async fn many_requests_run_at_once_and_each_has_one_end() {
    let (mut visitor, mut clerk) = open().await;
    let mut asked = Vec::new();
    for question in ["first", "second", "third"] {
        asked.push(visitor.request("ask", question).await.unwrap());
    }
    let mut questions = Vec::new();
    for _ in 0..3 {
        questions.push(request(&mut clerk).await);
    }
    // In any order; one is refused.
    clerk.respond(&questions[2].0, "late").await.unwrap();
    clerk.refuse(&questions[0].0, &RpcError::new(5, "no idea")).unwrap();
    assert_eq!(reply(&mut visitor).await, (asked[2].clone(), json!("late")));
    let Event::Refused { id, error } = next(&mut visitor).await else { panic!() };
    assert_eq!((id, error.code), (asked[0].clone(), 5));
    // The session ends before the third is answered.
    clerk.abort();
    let Event::Failed { id, error } = next(&mut visitor).await else { panic!() };
    assert_eq!(id, asked[1]);
    assert!(matches!(error, Error::Disconnected { .. }), "{error}");
}

#[tokio::test]
async fn a_call_waits_for_its_reply_and_leaves_the_rest_for_later() {
    let (mut visitor, mut clerk) = open().await;
    let serving = async {
        clerk.notify("changed", &()).await.unwrap();
        let (id, params) = request(&mut clerk).await;
        clerk.respond(&id, &(params.as_u64().unwrap() + 1)).await.unwrap();
        let (id, params) = request(&mut clerk).await;
        clerk.respond(&id, &format!("you asked {params}")).await.unwrap();
    };
    let calling = async {
        // A linear request, and one of a replicated channel.
        let counted: u32 = visitor.call("count", &41).await.unwrap();
        let told: String = visitor.call("ask", "why").await.unwrap();
        (counted, told)
    };
    let ((), (counted, told)) = tokio::join!(serving, calling);
    assert_eq!((counted, told.as_str()), (42, "you asked \"why\""));
    assert_eq!(notification(&mut visitor).await.0, "changed");
}

#[tokio::test]
async fn both_sides_ask_in_the_midst_of_an_answer() {
    let (mut visitor, mut clerk) = open().await;
    let asked = visitor.request("ask", "may I").await.unwrap();
    let (question, _) = request(&mut clerk).await;
    let approval = clerk.request("approve", "may they").await.unwrap();
    let (id, params) = request(&mut visitor).await;
    assert_eq!(params, json!("may they"));
    visitor.respond(&id, &true).await.unwrap();
    assert_eq!(reply(&mut clerk).await, (approval, json!(true)));
    clerk.respond(&question, "you may").await.unwrap();
    assert_eq!(reply(&mut visitor).await, (asked, json!("you may")));
}

#[tokio::test]
async fn a_request_may_be_cancelled_in_either_of_two_ways() {
    let (mut visitor, mut clerk) = open().await;
    for by_name in [false, true] {
        let asked = visitor.request("ask", "slow").await.unwrap();
        let (id, _) = request(&mut clerk).await;
        if by_name {
            let number = asked.to_string().parse::<i64>().unwrap();
            visitor.notify("cancelled", &json!({ "requestId": number, "reason": "enough" })).await.unwrap();
        } else {
            visitor.cancel(&asked).unwrap();
        }
        let Event::Failed { id: failed, error } = next(&mut visitor).await else { panic!() };
        assert_eq!(failed, asked);
        assert!(matches!(error, Error::Cancelled), "{error}");
        let Event::Cancelled { id: back } = next(&mut clerk).await else { panic!() };
        assert_eq!(back, id);
        // The answer crosses the wish to have none.
        clerk.respond(&id, "done").await.unwrap();
        assert!(is_idle(&mut visitor).await);
    }
}

#[tokio::test]
async fn reports_come_and_go_by_the_token_in_the_parameters() {
    let (mut visitor, mut clerk) = open().await;
    let params = json!({ "_meta": { "progressToken": "mine" } });
    let asked = visitor.request("look", &params).await.unwrap();
    let (id, came) = request(&mut clerk).await;
    assert_eq!(came, params);
    for progress in [1, 2] {
        clerk.notify("progress", &json!({ "progressToken": "mine", "progress": progress })).await.unwrap();
    }
    clerk.respond(&id, &json!("seen")).await.unwrap();
    for progress in [1, 2] {
        let Event::Progress { id, params } = next(&mut visitor).await else { panic!() };
        assert_eq!(id, asked);
        assert_eq!(params.read::<Value>().unwrap()["progress"], json!(progress));
    }
    assert_eq!(reply(&mut visitor).await, (asked, json!("seen")));
    // No request belongs to this one.
    let late =
        clerk.notify("progress", &json!({ "progressToken": "other", "progress": 1 })).await.unwrap_err();
    assert!(matches!(late, Error::NotPermitted(_)), "{late}");
}

#[tokio::test]
async fn dropping_a_session_answers_its_requests() {
    let (mut visitor, mut clerk) = open().await;
    visitor.request("ask", "someone").await.unwrap();
    as_request(next(&mut clerk).await);
    drop(clerk);
    let Event::Failed { error, .. } = next(&mut visitor).await else { panic!() };
    assert!(matches!(error, Error::Disconnected { .. }), "{error}");
}

#[tokio::test]
async fn a_request_is_answered_once_and_by_its_holder() {
    let (mut visitor, mut clerk) = open().await;
    visitor.request("ask", "once").await.unwrap();
    let (id, _) = request(&mut clerk).await;
    clerk.respond(&id, "yes").await.unwrap();
    for answered in [clerk.respond(&id, "yes").await, clerk.refuse(&77.into(), &RpcError::new(1, "who"))] {
        assert!(matches!(answered, Err(Error::NotHeld { .. })), "{answered:?}");
    }
    reply(&mut visitor).await;
    assert!(is_idle(&mut visitor).await);
}
