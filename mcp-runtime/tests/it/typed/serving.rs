//! Handlers: in parallel, in order, calling back, and failing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::{Error, Options, RpcError};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::help_desk::{client, server};
use super::{open, open_with};

struct Odd(Arc<Mutex<Vec<u32>>>);

impl server::Handler for Odd {
    async fn ask(&self, _: server::Context, question: String) -> Result<String, RpcError> {
        match question.as_str() {
            "panic" => panic!("on purpose"),
            "refuse" => Err(RpcError::new(7, "no")),
            other => Ok(other.to_owned()),
        }
    }

    async fn bell(&self, _: server::Context, number: u32) {
        // The earlier ones take longer, and still come first.
        for _ in number..50 {
            tokio::task::yield_now().await;
        }
        self.0.lock().unwrap().push(number);
        assert_ne!(number, 3, "on purpose");
    }
}

#[tokio::test]
async fn a_handler_that_fails_fails_its_request_only() {
    let (visitor, clerk) = open().await;
    test_support::spawn(clerk.incoming().serve(Odd(Arc::default())));
    let error = visitor.ask("panic".into()).await.unwrap_err();
    assert!(
        matches!(&error, Error::Refused(error) if error.code == -32603 && error.message.contains("panicked"))
    );
    let error = visitor.ask("refuse".into()).await.unwrap_err();
    assert!(matches!(error, Error::Refused(error) if error.code == 7));
    assert_eq!(visitor.ask("fine".into()).await.unwrap(), "fine");
    let error = visitor.look(None).await.unwrap_err();
    assert!(matches!(error, Error::Refused(error) if error.code == -32601), "no handler is written for it");
}

#[tokio::test]
async fn notifications_keep_their_order_even_past_a_panic() {
    let (visitor, clerk) = open().await;
    let seen = Arc::default();
    let serving = test_support::spawn(clerk.incoming().serve(Odd(Arc::clone(&seen))));
    for number in 0..6 {
        visitor.send_bell(number).await.unwrap();
    }
    assert_eq!(visitor.ask("are you there".into()).await.unwrap(), "are you there");
    visitor.close().await.unwrap();
    drop(clerk);
    serving.await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_dropped_responder_answers() {
    let (visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    let dropping = async {
        let Some(server::Incoming::Ask(..)) = incoming.next().await else { panic!() };
    };
    let (outcome, ()) = tokio::join!(visitor.ask("?".into()), dropping);
    assert!(matches!(outcome, Err(Error::Refused(error)) if error.code == -32603));
}

#[tokio::test]
async fn params_of_another_type_never_reach_the_handler() {
    let (visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    // The payload of `look` is anything, that of `ask` is text: a call of another type is written by hand.
    let raw = visitor.handle();
    let (answer, heard) = tokio::join!(
        async {
            let _ = raw.send_bell(4).await;
            visitor.look(Some(json!([1]))).await
        },
        async {
            assert!(matches!(incoming.next().await, Some(server::Incoming::Bell(4))));
            let Some(server::Incoming::Look(params, responder)) = incoming.next().await else { panic!() };
            responder.respond(json!("seen")).unwrap();
            params
        }
    );
    assert_eq!((answer.unwrap(), heard), (json!("seen"), Some(json!([1]))));
}

/// Answers a question by asking back, until the number is used up.
struct Echoing(Arc<AtomicUsize>);

impl server::Handler for Echoing {
    async fn ask(&self, context: server::Context, question: String) -> Result<String, RpcError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let approved = context.peer().approve(question).await;
        Ok(approved.map_err(|error| RpcError::internal_error(error.to_string()))?.to_string())
    }
}

struct Asking {
    peer: client::Handle,
}

impl client::Handler for Asking {
    async fn approve(&self, _: client::Context, question: String) -> Result<bool, RpcError> {
        let depth: usize = question.parse().unwrap();
        if depth == 0 {
            return Ok(true);
        }
        let deeper = self.peer.ask((depth - 1).to_string()).await;
        Ok(deeper.map_err(|error| RpcError::internal_error(error.to_string()))? == "true")
    }
}

#[tokio::test]
async fn handlers_call_back_ten_deep() {
    let (visitor, clerk) = open().await;
    let depth = Arc::new(AtomicUsize::new(0));
    test_support::spawn(clerk.incoming().serve(Echoing(Arc::clone(&depth))));
    test_support::spawn(visitor.incoming().serve(Asking { peer: visitor.handle() }));
    assert_eq!(visitor.ask("10".into()).await.unwrap(), "true");
    assert_eq!(depth.load(Ordering::Relaxed), 11);
}

/// Holds every question for good, and counts those that it holds.
struct Holding(Arc<AtomicUsize>);

struct Held(Arc<AtomicUsize>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl server::Handler for Holding {
    async fn ask(&self, _: server::Context, _: String) -> Result<String, RpcError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let _held = Held(Arc::clone(&self.0));
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn handlers_are_dropped_when_the_session_has_been_over_for_the_grace_period() {
    for (keep, seconds) in [(false, 3), (true, 3600)] {
        let options = Options::default().close_grace(Duration::from_secs(3)).keep_handlers(keep);
        let (visitor, clerk) = open_with(Options::default(), options).await;
        let held = Arc::default();
        let serving = test_support::spawn(clerk.incoming().serve(Holding(Arc::clone(&held))));
        let asking: Vec<_> = (0..5).map(|_| test_support::spawn(visitor.handle().ask("?".into()))).collect();
        while held.load(Ordering::SeqCst) < 5 {
            tokio::task::yield_now().await;
        }
        let begun = tokio::time::Instant::now();
        drop((visitor, clerk));
        let ended = tokio::time::timeout(Duration::from_secs(3600), serving).await;
        assert_eq!((ended.is_err(), begun.elapsed().as_secs()), (keep, seconds));
        assert_eq!(held.load(Ordering::SeqCst), if keep { 5 } else { 0 });
        for asked in asking {
            asked.await.unwrap().unwrap_err();
        }
    }
}

struct Bounded {
    now: AtomicUsize,
    most: AtomicUsize,
    two: Barrier,
}

impl server::Handler for Arc<Bounded> {
    async fn look(&self, _: server::Context, _: Option<Value>) -> Result<Value, RpcError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        // Resolves only if two really run side by side.
        self.two.wait().await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        Ok(Value::Null)
    }
}

#[tokio::test]
async fn handlers_run_side_by_side_up_to_the_bound() {
    let (visitor, clerk) = open_with(Options::default(), Options::default().max_handlers(2)).await;
    let bounded =
        Arc::new(Bounded { now: AtomicUsize::new(0), most: AtomicUsize::new(0), two: Barrier::new(2) });
    test_support::spawn(clerk.incoming().serve(Arc::clone(&bounded)));
    let looks: Vec<_> = (0..8).map(|_| test_support::spawn(visitor.handle().look(None))).collect();
    for look in looks {
        look.await.unwrap().unwrap();
    }
    assert_eq!(bounded.most.load(Ordering::SeqCst), 2);
}
