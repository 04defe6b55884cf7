//! Handlers that call back, panics, and sessions that are closed while handlers work.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::{Error, Options, Outcome, Report, RpcError};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::help_desk::{client, server};
use super::{open, open_with};

/// Asks back until the number is used up.
struct Deeper<H> {
    /// Where the calls go, if not through the context.
    peer: Option<H>,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl<H> Deeper<H> {
    fn new(peer: Option<H>) -> Deeper<H> {
        Deeper { peer, now: Arc::default(), most: Arc::default() }
    }

    fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

impl server::Handler for Deeper<server::Handle> {
    async fn ask(&self, context: server::Context, depth: String) -> Result<String, RpcError> {
        self.enter();
        let peer = self.peer.clone().unwrap_or_else(|| context.peer());
        let approved = peer.approve(depth).await;
        self.leave();
        Ok(approved?.to_string())
    }
}

impl client::Handler for Deeper<client::Handle> {
    async fn approve(&self, context: client::Context, depth: String) -> Result<bool, RpcError> {
        let depth: usize = depth.parse().unwrap();
        if depth == 0 {
            return Ok(true);
        }
        self.enter();
        let peer = self.peer.clone().unwrap_or_else(|| context.peer());
        let asked = peer.ask((depth - 1).to_string()).await;
        self.leave();
        Ok(asked? == "true")
    }
}

#[tokio::test(start_paused = true)]
async fn calls_nest_deeper_than_handlers_may_run_side_by_side() {
    let options = || Options::default().max_handlers(1);
    for own_handles in [false, true] {
        let (visitor, clerk) = open_with(options(), options()).await;
        let there = Deeper::new(own_handles.then(|| clerk.handle()));
        let here = Deeper::new(own_handles.then(|| visitor.handle()));
        let most = Arc::clone(&there.most);
        let (serving_there, serving_here) = (
            test_support::spawn(clerk.incoming().serve(there)),
            test_support::spawn(visitor.incoming().serve(here)),
        );
        // Where something waits for itself nothing can move but the clock, which then ends the test.
        let patient = Duration::from_secs(9);
        assert_eq!(visitor.ask("10".into()).timeout(patient).await.unwrap(), "true");
        assert_eq!(most.load(Ordering::SeqCst), 11, "each waits inside of the one before");
        // Several chains at once share what room there is.
        let mut chains = Vec::new();
        for _ in 0..8 {
            chains.push(visitor.ask("10".into()).timeout(patient).send().await.unwrap());
        }
        for chain in chains {
            assert_eq!(chain.await.unwrap(), "true");
        }
        visitor.close().await.unwrap();
        drop(clerk);
        serving_there.await.unwrap();
        serving_here.await.unwrap();
    }
}

#[tokio::test]
async fn calls_that_nest_without_end_are_refused_and_unwind() {
    let options = || Options::default().max_handlers(2).max_requests(20);
    let (visitor, clerk) = open_with(options(), options()).await;
    test_support::spawn(clerk.incoming().serve(Deeper::<server::Handle>::new(None)));
    test_support::spawn(visitor.incoming().serve(Deeper::<client::Handle>::new(None)));
    let error = visitor.ask("1000".into()).await.unwrap_err();
    assert!(matches!(&error, Error::Refused(error) if error.code == RpcError::BUSY), "{error}");
    assert_eq!(visitor.ask("5".into()).await.unwrap(), "true", "the session lives on");
}

/// Asks back about the first question and about no other.
struct Careful;

impl server::Handler for Careful {
    async fn ask(&self, context: server::Context, question: String) -> Result<String, RpcError> {
        if question == "first" {
            tokio::task::yield_now().await;
            context.peer().approve(question.clone()).await?;
        }
        Ok(question)
    }
}

/// Approves once another question was answered.
struct Waiting(Arc<Notify>);

impl client::Handler for Waiting {
    async fn approve(&self, _: client::Context, _: String) -> Result<bool, RpcError> {
        self.0.notified().await;
        Ok(true)
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_room_already_gets_it_when_a_handler_calls_back() {
    let (visitor, clerk) = open_with(Options::default(), Options::default().max_handlers(1)).await;
    test_support::spawn(clerk.incoming().serve(Careful));
    let answered = Arc::new(Notify::new());
    test_support::spawn(visitor.incoming().serve(Waiting(Arc::clone(&answered))));
    // The second one is queued before the handler of the first one has called back.
    let first = visitor.ask("first".into()).timeout(Duration::from_secs(9)).send().await.unwrap();
    let second = visitor.ask("second".into()).timeout(Duration::from_secs(9)).send().await.unwrap();
    assert_eq!(second.await.unwrap(), "second");
    answered.notify_one();
    assert_eq!(first.await.unwrap(), "first");
}

/// Panics, loudly or before there is a future.
struct Panicking;

impl server::Handler for Panicking {
    async fn ask(&self, _: server::Context, question: String) -> Result<String, RpcError> {
        panic!("the secret is {question}");
    }

    fn look(
        &self,
        _: server::Context,
        params: Option<Value>,
    ) -> impl Future<Output = Result<Value, RpcError>> + Send {
        assert!(params.is_none(), "early");
        async { Ok(Value::Null) }
    }

    async fn bell(&self, _: server::Context, number: u32) {
        std::panic::panic_any(number);
    }
}

#[tokio::test]
async fn a_panic_is_an_error_reply_and_a_report_and_tells_no_secrets() {
    for revealed in [false, true] {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&reports);
        let options = Options::default()
            .reveal_panics(revealed)
            .on_report(move |report: &Report| seen.lock().unwrap().push(report.to_string()));
        let (visitor, clerk) = open_with(Options::default(), options).await;
        test_support::spawn(clerk.incoming().serve(Panicking));
        let Error::Refused(error) = visitor.ask("7".into()).await.unwrap_err() else { panic!() };
        let told = if revealed { ": the secret is 7" } else { "" };
        assert_eq!(error, RpcError::new(-32603, format!("the handler of the request panicked{told}")));
        assert!(
            matches!(visitor.look(Some(json!(1))).await, Err(Error::Refused(error)) if error.code == -32603)
        );
        visitor.send_bell(1).await.unwrap();
        assert_eq!(visitor.look(None).await.unwrap(), Value::Null, "the session lives on");
        visitor.send_bell(2).await.unwrap();
        visitor.close().await.unwrap();
        clerk.ended().await;
        assert_eq!(
            reports.lock().unwrap().as_slice(),
            [
                "the handler of `Ask` panicked: the secret is 7",
                "the handler of `Look` panicked: early",
                "the handler of `Bell` panicked",
                "the handler of `Bell` panicked",
            ]
        );
    }
}

/// Waits until the test lets it go on.
struct Patient {
    begun: Arc<Notify>,
    go_on: Arc<Notify>,
}

impl client::Handler for Patient {
    async fn approve(&self, context: client::Context, _: String) -> Result<bool, RpcError> {
        self.begun.notify_one();
        tokio::select! {
            () = self.go_on.notified() => Ok(true),
            () = context.cancelled() => Ok(false),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_lets_its_handlers_finish() {
    for finishes in [true, false] {
        let options = Options::default().close_grace(Duration::from_secs(5));
        let (visitor, clerk) = open_with(options, Options::default()).await;
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let handler = Patient { begun: Arc::clone(&begun), go_on: Arc::clone(&go_on) };
        let serving = test_support::spawn(visitor.incoming().serve(handler));
        let approving = test_support::spawn(clerk.handle().approve("?".into()));
        begun.notified().await;
        let started = tokio::time::Instant::now();
        let closing = visitor.close();
        if finishes {
            go_on.notify_one();
        }
        assert!(matches!(closing.await, Ok(Outcome::Closed)));
        let approved = approving.await.unwrap();
        if finishes {
            assert!(approved.unwrap());
            assert_eq!(started.elapsed(), Duration::ZERO);
            serving.await.unwrap();
        } else {
            assert!(matches!(approved, Err(Error::Disconnected { .. })));
            assert_eq!(started.elapsed(), Duration::from_secs(5));
            serving.abort();
        }
    }
}

#[tokio::test]
async fn a_report_that_says_no_more_than_the_one_before_is_not_sent() {
    let (visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    let mut look = visitor.look(None).with_progress().send().await.unwrap();
    let Some(server::Incoming::Look(_, responder)) = incoming.next().await else { panic!() };
    let context = responder.context();
    context.report(super::help_desk::messages::PROGRESS, &json!({"progress": 1})).await.unwrap();
    let error =
        context.report(super::help_desk::messages::PROGRESS, &json!({"progress": 1})).await.unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    responder.respond(Value::Null).unwrap();
    assert_eq!(look.progress().await, Some(json!({"progress": 1, "progressToken": 1})));
    assert_eq!(look.progress().await, None);
    look.await.unwrap();
}
