//! Calls: in parallel, with progress, cancelled.

use std::sync::{Arc, Mutex};

use mcp_runtime::Error;
use serde_json::json;

use super::help_desk::server;
use super::open;

#[tokio::test]
async fn calls_run_side_by_side_and_end_in_any_order() {
    let (visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    let answering = test_support::spawn(async move {
        let mut asked = Vec::new();
        while asked.len() < 3 {
            let Some(server::Incoming::Ask(question, responder)) = incoming.next().await else { panic!() };
            asked.push((question, responder));
        }
        for (question, responder) in asked.into_iter().rev() {
            responder.respond(format!("re {question}")).unwrap();
        }
    });
    let (one, two, three) =
        tokio::join!(visitor.ask("1".into()), visitor.ask("2".into()), visitor.handle().ask("3".into()));
    assert_eq!((one.unwrap(), two.unwrap(), three.unwrap()), ("re 1".into(), "re 2".into(), "re 3".into()));
    answering.await.unwrap();
    assert_eq!(visitor.ping().await.unwrap(), json!({}));
}

#[tokio::test]
async fn a_canceller_ends_the_call_and_reaches_the_handler() {
    let (visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    let mut call = visitor.ask("?".into());
    let canceller = call.canceller();
    let handler = async {
        let Some(server::Incoming::Ask(_, responder)) = incoming.next().await else { panic!() };
        let context = responder.context();
        assert!(!context.is_cancelled());
        canceller.cancel_with(&json!({"reason": "enough"})).unwrap();
        context.cancelled().await;
        responder.respond("late".to_owned()).unwrap();
    };
    let (outcome, ()) = tokio::join!(call, handler);
    assert!(matches!(outcome, Err(Error::Cancelled)));
    canceller.cancel().unwrap();
    assert_eq!(visitor.ping().await.unwrap(), json!({}), "the session lives on");
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_is_sent_is_never_sent() {
    let (visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    let mut call = visitor.ask("never".into());
    call.canceller().cancel().unwrap();
    assert!(matches!(call.await, Err(Error::Cancelled)));
    drop(visitor.ask("neither".into()));
    visitor.send_bell(1).await.unwrap();
    assert!(matches!(incoming.next().await, Some(server::Incoming::Bell(1))));
}

#[tokio::test]
async fn dropping_a_running_call_cancels_it() {
    let (visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    let call = visitor.ask("?".into());
    let responder = tokio::select! {
        _ = call => panic!("completed without an answer"),
        Some(server::Incoming::Ask(_, responder)) = incoming.next() => responder,
    };
    responder.context().cancelled().await;
    drop(responder);
    assert_eq!(visitor.ping().await.unwrap(), json!({}));
}

#[tokio::test]
async fn progress_comes_to_the_call_that_asked_for_it() {
    let (visitor, clerk) = open().await;
    test_support::spawn(clerk.incoming().serve(Reporting));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let look = visitor.look(Some(json!({"_meta": {"other": 1}}))).on_progress(move |progress| {
        notes.lock().unwrap().push(progress["step"].as_u64().unwrap());
    });
    assert_eq!(look.await.unwrap()["_meta"]["other"], json!(1));
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3]);
    assert_eq!(visitor.look(None).await.unwrap(), json!(null), "without a token nothing is reported");
}

pub(crate) struct Reporting;

impl server::Handler for Reporting {
    async fn look(
        &self,
        context: server::Context,
        params: Option<serde_json::Value>,
    ) -> Result<serde_json::Value, mcp_runtime::RpcError> {
        for step in 1..=3 {
            context.send_progress(json!({"step": step})).await.unwrap();
        }
        Ok(params.unwrap_or_default())
    }
}
