//! Session values: steps, refusals, payloads that do not fit.

use std::sync::{Arc, Mutex};

use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, RpcError, StepError};
use serde_json::json;

use super::help_desk::{Clerk, Visitor, messages, server};
use super::open;
use super::raw::raw;

#[tokio::test]
async fn a_whole_session() {
    let (mut visitor, mut clerk) = open().await;
    visitor.send_note("one".to_owned()).await.unwrap();
    let counting = test_support::spawn(async move {
        let mut seen = Vec::new();
        loop {
            clerk = match clerk.next().await.unwrap() {
                server::OpenNext::Note(note, clerk) => {
                    seen.push(note);
                    clerk
                }
                server::OpenNext::Count(number, clerk) => clerk.send_counted(number + 1).await.unwrap(),
                server::OpenNext::Closed => return seen,
            };
        }
    });
    assert_eq!(visitor.count(1).await.unwrap(), 2);
    assert_eq!(visitor.count(2).await.unwrap(), 3);
    visitor.send_note("two".to_owned()).await.unwrap();
    visitor.close().await.unwrap();
    assert_eq!(counting.await.unwrap(), ["one", "two"]);
}

#[tokio::test]
async fn a_refused_handshake_is_undone() {
    let (here, there) = duplex();
    let (visitor, clerk) = (Visitor::new(here), Clerk::new(there));
    let clerk = test_support::spawn(async move {
        let (_, clerk) = clerk.recv_hello().await.unwrap();
        let clerk = clerk.refuse(RpcError::new(-1, "another time")).await.unwrap();
        let (params, clerk) = clerk.recv_hello().await.unwrap();
        assert_eq!(params, json!(2));
        clerk.send_welcome(json!({})).await.unwrap()
    });
    let Err(StepError::Refused { error, session }) = visitor.hello(json!(1)).await else { panic!() };
    assert_eq!(error.message, "another time");
    let waiting = session.send_hello(json!(2)).await.unwrap();
    let (welcome, _visitor) = waiting.recv_welcome().await.unwrap();
    assert_eq!(welcome, json!({}));
    drop(clerk.await.unwrap());
}

#[tokio::test]
async fn a_refused_call_in_a_loop_leaves_the_value_where_it_was() {
    let (mut visitor, clerk) = open().await;
    let clerk = test_support::spawn(async move {
        let (_, clerk) = clerk.recv_count().await.unwrap();
        let clerk = clerk.refuse(RpcError::new(-1, "no")).await.unwrap();
        let (number, clerk) = clerk.recv_count().await.unwrap();
        clerk.send_counted(number).await.unwrap()
    });
    assert!(matches!(visitor.count(1).await, Err(Error::Refused(_))));
    assert_eq!(visitor.count(7).await.unwrap(), 7);
    drop(clerk.await.unwrap());
}

#[tokio::test]
async fn a_dropped_exchange_leaves_a_debt_that_is_paid_before_the_next_step() {
    let (mut visitor, clerk) = open().await;
    {
        let mut count = Box::pin(visitor.count(1));
        assert!(futures_poll(&mut count).await.is_none());
    }
    let clerk = test_support::spawn(async move {
        let (first, clerk) = clerk.recv_count().await.unwrap();
        let clerk = clerk.send_counted(first * 100).await.unwrap();
        let (second, clerk) = clerk.recv_count().await.unwrap();
        clerk.send_counted(second * 100).await.unwrap()
    });
    assert_eq!(visitor.count(2).await.unwrap(), 200);
    drop(clerk.await.unwrap());
}

/// Polls a future once.
async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test]
async fn params_that_do_not_decode_are_refused_and_the_value_waits_on() {
    let (wire, mut peer) = raw();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reports);
    let options = Options::default().on_report(move |report| seen.lock().unwrap().push(report.to_string()));
    let clerk = Clerk::with_options(wire, options);
    let clerk = test_support::spawn(async move {
        let (_, clerk) = clerk.recv_hello().await.unwrap();
        let clerk = clerk.send_welcome(json!({})).await.unwrap();
        let clerk = clerk.recv_ready().await.unwrap();
        let server::OpenNext::Note(note, clerk) = clerk.next().await.unwrap() else { panic!() };
        assert_eq!(note, "good", "the one that is not a text was reported and skipped");
        let server::OpenNext::Count(number, clerk) = clerk.next().await.unwrap() else { panic!() };
        let clerk = clerk.send_counted(number).await.unwrap();
        let (number, clerk) = clerk.recv_count().await.unwrap();
        clerk.send_counted(number).await.unwrap()
    });
    peer.ask(json!({"jsonrpc":"2.0","id":0,"method":"hello","params":{}})).await;
    peer.say(json!({"jsonrpc":"2.0","method":"ready"})).await;
    peer.say(json!({"jsonrpc":"2.0","method":"note","params":5})).await;
    peer.say(json!({"jsonrpc":"2.0","method":"note","params":"good"})).await;
    for (id, params) in [(1, json!("x")), (2, json!({})), (3, json!(-1))] {
        let answer = peer.ask(json!({"jsonrpc":"2.0","id":id,"method":"count","params":params})).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32602)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("`count`"), "{answer}");
    }
    let answer = peer.ask(json!({"jsonrpc":"2.0","id":4,"method":"count","params":9})).await;
    assert_eq!(answer["result"], json!(9));
    let answer = peer.ask(json!({"jsonrpc":"2.0","id":5,"method":"count","params":"x"})).await;
    assert_eq!(answer["error"]["code"], json!(-32602));
    let answer = peer.ask(json!({"jsonrpc":"2.0","id":6,"method":"count","params":10})).await;
    assert_eq!(answer["result"], json!(10));
    drop(clerk.await.unwrap());
    assert_eq!(reports.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn a_result_of_another_type_ends_the_step_with_the_reason() {
    let (wire, mut peer) = raw();
    let visitor = Visitor::new(wire);
    let peer = test_support::spawn(async move {
        peer.hear().await.unwrap();
        peer.say(json!({"jsonrpc":"2.0","id":0,"result":{}})).await;
        peer.hear().await.unwrap();
        peer.hear().await.unwrap();
        peer.say(json!({"jsonrpc":"2.0","id":1,"result":"many"})).await;
        peer.hear().await.unwrap();
        peer.say(json!({"jsonrpc":"2.0","id":2,"result":3})).await;
        peer
    });
    let (_, visitor) = visitor.hello(json!({})).await.unwrap();
    let mut visitor = visitor.send_ready().await.unwrap();
    let error = visitor.count(1).await.unwrap_err();
    assert!(matches!(&error, Error::Payload { message, .. } if message == "Counted"), "{error}");
    assert_eq!(visitor.count(1).await.unwrap(), 3);
    peer.await.unwrap();
}

#[tokio::test]
async fn another_branch_than_the_one_waited_for_is_an_error_and_not_a_wrong_value() {
    let (mut visitor, clerk) = open().await;
    let counting = test_support::spawn(async move { visitor.count(1).await });
    assert!(matches!(clerk.recv_count().await, Ok((1, _))));
    assert!(counting.await.unwrap().is_err(), "the clerk was dropped");
    let (mut visitor, mut clerk) = open().await;
    let counting = test_support::spawn(async move { visitor.count(1).await });
    let error = clerk.recv_note().await.unwrap_err();
    assert!(
        matches!(&error, Error::Unexpected { expected, got } if expected == "Note" && got == "Count"),
        "{error}"
    );
    drop(clerk);
    assert!(counting.await.unwrap().is_err());
}

#[tokio::test]
async fn the_permitted_messages_are_those_of_the_value() {
    let (here, _there) = duplex();
    let visitor = Visitor::new(here);
    assert!(visitor.permitted().contains(&messages::HELLO) && visitor.permitted().contains(&messages::PING));
    let violation = visitor.permits(messages::ASK).unwrap_err();
    assert!(violation.to_string().contains("not permitted in `Greeting`"), "{violation}");
    let (visitor, _clerk) = open().await;
    assert!(visitor.permits(messages::ASK).is_ok());
    assert!(visitor.permits(messages::HELLO).is_err());
}

#[test]
fn without_a_tokio_runtime_the_first_step_says_so() {
    let (here, _there) = duplex();
    let visitor = Visitor::new(here);
    let mut step = Box::pin(visitor.send_hello(json!({})));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Err(error)) = step.as_mut().poll(&mut context) else { panic!() };
    assert!(error.to_string().contains("tokio runtime"), "{error}");
}
