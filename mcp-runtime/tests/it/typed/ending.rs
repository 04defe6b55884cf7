//! Ends of sessions: closing, dropping, disconnecting.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use mcp_runtime::driver::Endpoint;
use mcp_runtime::transport::Transport;
use mcp_runtime::{DisconnectReason, Error, Options, Outcome, Resumed};
use serde_json::json;

use super::help_desk::{Clerk, Open, Visitor, server};
use super::open;
use super::raw::{raw, raw_with_room};

#[tokio::test]
async fn closing_fails_what_a_handle_still_runs() {
    let (visitor, _clerk) = open().await;
    let handle = visitor.handle();
    let running = test_support::spawn(handle.ask("?".into()));
    tokio::task::yield_now().await;
    drop(visitor.close());
    assert!(matches!(running.await.unwrap(), Err(Error::Closed)));
    assert!(matches!(handle.ask("?".into()).await, Err(Error::Closed)));
    assert!(matches!(handle.send_bell(1).await, Err(Error::Closed)));
}

#[tokio::test]
async fn closing_says_how_the_transport_ended() {
    let (visitor, clerk) = open().await;
    let ended = test_support::spawn(async move {
        clerk.incoming().serve(Deaf).await;
        clerk.next().await
    });
    assert!(matches!(visitor.close().await, Ok(Outcome::Closed)));
    assert!(matches!(ended.await.unwrap(), Ok(server::OpenNext::Closed)));
}

struct Deaf;

impl server::Handler for Deaf {}

#[tokio::test]
async fn dropping_a_value_ends_the_session_for_the_peer() {
    let (visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    drop(visitor);
    assert!(incoming.next().await.is_none());
    assert!(matches!(clerk.next().await, Ok(server::OpenNext::Closed)));
    let (visitor, clerk) = open().await;
    clerk.abort();
    let error = visitor.ask("?".into()).await.unwrap_err();
    assert!(matches!(error, Error::Disconnected { reason: DisconnectReason::PeerClosed }), "{error}");
}

#[tokio::test]
async fn a_peer_that_closes_where_it_may_not_is_an_error() {
    let (wire, mut peer) = raw();
    let clerk = Clerk::new(wire);
    peer.hush().await;
    let error = clerk.recv_hello().await.unwrap_err();
    assert!(matches!(error, Error::Disconnected { reason: DisconnectReason::PeerClosed }), "{error}");
    assert_eq!(peer.hear().await, None);
}

#[tokio::test]
async fn the_close_of_the_peer_is_returned_after_the_last_answer() {
    let (wire, mut peer) = raw_with_room(100);
    let clerk = Clerk::new(wire);
    peer.say(json!({"jsonrpc":"2.0","id":"a","method":"hello","params":{}})).await;
    peer.hush().await;
    let (_, clerk) = clerk.recv_hello().await.unwrap();
    let clerk = clerk.send_welcome(json!({"long": "w".repeat(1000)})).await.unwrap();
    let waiting = test_support::spawn(clerk.recv_ready());
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished(), "a program that ended now would take the answer with it");
    assert_eq!(peer.hear().await.unwrap()["id"], json!("a"));
    assert!(waiting.await.unwrap().is_err());
}

#[tokio::test]
async fn a_vanishing_peer_fails_every_call() {
    let (wire, mut peer) = raw();
    let visitor = Visitor::new(wire);
    let shaking = async {
        peer.hear().await.unwrap();
        peer.say(json!({"jsonrpc":"2.0","id":0,"result":{"capabilities":{"questions":{}}}})).await;
    };
    let (greeted, ()) = tokio::join!(visitor.hello(json!({})), shaking);
    let visitor = greeted.unwrap().1.send_ready().await.unwrap();
    let calls = async { tokio::join!(visitor.ask("1".into()), visitor.look(None), visitor.ping()) };
    let vanishing = async {
        for _ in 0..4 {
            peer.hear().await.unwrap();
        }
        drop(peer);
    };
    let ((ask, look, ping), ()) = tokio::join!(calls, vanishing);
    assert!(matches!(ask, Err(Error::Disconnected { .. })));
    assert!(matches!(look, Err(Error::Disconnected { .. })));
    assert!(matches!(ping, Err(Error::Disconnected { .. })));
}

#[tokio::test]
async fn a_peer_that_asks_and_closes_gets_its_answers_before_serve_returns() {
    let (wire, mut peer) = raw();
    let clerk = Clerk::new(wire);
    let serving = test_support::spawn(async move {
        let queue = clerk.incoming();
        let (_, clerk) = clerk.recv_hello().await.unwrap();
        let clerk = clerk.send_welcome(json!({"capabilities":{"questions":1}})).await.unwrap();
        queue.serve(Slow).await;
        drop(clerk);
    });
    peer.say(json!({"jsonrpc":"2.0","id":"a","method":"hello","params":{}})).await;
    assert_eq!(peer.hear().await.unwrap()["id"], json!("a"));
    peer.say(json!({"jsonrpc":"2.0","id":"b","method":"ask","params":"?"})).await;
    peer.hush().await;
    assert_eq!(peer.hear().await.unwrap(), json!({"jsonrpc":"2.0","id":"b","result":"at last"}));
    assert_eq!(peer.hear().await, None);
    serving.await.unwrap();
}

struct Slow;

impl server::Handler for Slow {
    async fn ask(&self, _: server::Context, _: String) -> Result<String, mcp_runtime::RpcError> {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        Ok("at last".to_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_serves_nothing_leaves_no_server_hanging() {
    let (_visitor, clerk) = open().await;
    let error = clerk.approve("?".into()).await.unwrap_err();
    assert!(matches!(error, Error::Refused(error) if error.code == -32601));
}

/// Works until the request is cancelled.
struct PaginationError;

impl server::Handler for PaginationError {
    async fn ask(&self, context: server::Context, _: String) -> Result<String, mcp_runtime::RpcError> {
        context.cancelled().await;
        Ok("too late".to_owned())
    }
}

#[tokio::test]
async fn a_peer_that_is_gone_for_good_is_worked_for_no_longer() {
    let (visitor, clerk) = open().await;
    let serving = test_support::spawn(clerk.incoming().serve(PaginationError));
    let mut call = std::pin::pin!(visitor.handle().look(None));
    let mut asking = std::pin::pin!(visitor.handle().ask("?".into()));
    tokio::select! {
        biased;
        _ = &mut asking => panic!("completed without an answer"),
        answer = &mut call => assert!(answer.is_err(), "it has no handler"),
    }
    visitor.abort();
    serving.await.unwrap();
    drop(clerk);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_has_said_everything_is_worked_for_as_long_as_the_settings_say() {
    let (wire, mut peer) = raw();
    let options = mcp_runtime::Options::new().answer_grace(std::time::Duration::from_secs(5));
    let clerk = Clerk::with_options(wire, options);
    let serving = test_support::spawn(clerk.incoming().serve(PaginationError));
    let shaking = async {
        peer.ask(json!({"jsonrpc":"2.0","id":"a","method":"hello","params":{}})).await;
    };
    let welcome = async {
        let (_, clerk) = clerk.recv_hello().await.unwrap();
        clerk.send_welcome(json!({"capabilities":{"questions":1}})).await.unwrap()
    };
    let (clerk, ()) = tokio::join!(welcome, shaking);
    peer.say(json!({"jsonrpc":"2.0","id":"b","method":"ask","params":"?"})).await;
    peer.hush().await;
    let before = tokio::time::Instant::now();
    serving.await.unwrap();
    assert!(before.elapsed() >= std::time::Duration::from_secs(5));
    assert_eq!(peer.hear().await, None);
    drop(clerk);
}

/// A child that keeps its log where it should not, and a shell that speaks a little of the protocol.
#[cfg(unix)]
const CHATTY: &str = r#"
    echo 'starting up'; echo 'more on the error output' >&2; read hello
    echo '{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"questions":{}}}}'
    echo 'info: somebody is here'; read ready; read ask
    printf 'half a line, '; echo 'and "result": "not an answer"'
    echo '{"jsonrpc":"2.0","id":1,"result":"the answer"}'; echo
    read rest; echo 'goodbye'
"#;

/// Takes what is written and never comes to its end.
struct Stuck(Arc<AtomicBool>);

impl Transport for Stuck {
    async fn run(self, endpoint: Arc<dyn Endpoint>) {
        struct Gone(Arc<AtomicBool>);
        impl Drop for Gone {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let _gone = Gone(self.0);
        loop {
            let status = poll_fn(|context| {
                let status = endpoint.status(context);
                if status.finish.is_some() { Poll::Ready(status) } else { Poll::Pending }
            });
            if let Some(deadline) = status.await.deadline {
                tokio::time::sleep_until(deadline.into()).await;
                endpoint.tick(tokio::time::Instant::now().into_std());
            } else {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn closing_has_one_limit_whatever_the_transport_does() {
    let gone = Arc::new(AtomicBool::new(false));
    let limit = Duration::from_secs(7);
    let options = Options::new().close_timeout(limit);
    let visitor = Visitor::<Open>::resume(Stuck(gone.clone()), Resumed::unknown().options(options));
    let from = tokio::time::Instant::now();
    let error = visitor.close().await.unwrap_err();
    assert!(
        matches!(error, Error::Disconnected { reason: DisconnectReason::CloseTimedOut(after) } if after == limit),
        "{error}"
    );
    assert!(error.to_string().contains("Options::close_timeout"), "{error}");
    assert_eq!(from.elapsed(), limit);
    tokio::task::yield_now().await;
    assert!(gone.load(Ordering::SeqCst), "the transport is dropped");
}

#[cfg(unix)]
#[tokio::test]
async fn lines_of_a_child_that_are_not_messages_are_reported_and_skipped() {
    use std::sync::{Arc, Mutex};

    use mcp_runtime::transport::Child;

    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let options = mcp_runtime::Options::new()
        .on_report(move |report: &mcp_runtime::Report| seen.lock().unwrap().push(report.to_string()));
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", CHATTY]);
    let child = Child::builder(command).stderr_null().spawn().unwrap();
    let visitor = Visitor::with_options(child, options);
    let (_, visitor) = visitor.hello(json!({})).await.unwrap();
    let visitor = visitor.send_ready().await.unwrap();
    assert_eq!(visitor.ask("?".into()).await.unwrap(), "the answer");
    let outcome = visitor.close().await.unwrap();
    assert!(matches!(outcome, Outcome::Exited { status, .. } if status.success()), "{outcome}");
    let reports = reports.lock().unwrap();
    assert_eq!(reports.len(), 3, "messages after the close are not reported: {reports:?}");
    assert!(reports.iter().all(|report| report.starts_with("malformed message")), "{reports:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_child_that_prints_many_lines_is_reported_in_few_words() {
    use std::sync::{Arc, Mutex};

    use mcp_runtime::Report;
    use mcp_runtime::transport::Child;

    let reports: Arc<Mutex<Vec<Report>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let options = mcp_runtime::Options::new()
        .on_report(move |report: &Report| seen.lock().unwrap().push(report.clone()));
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", "yes | head -n 5000"]);
    let child = Child::builder(command).stderr_null().spawn().unwrap();
    let error = Visitor::with_options(child, options).hello(json!({})).await.unwrap_err();
    assert!(error.to_string().contains("has ended"), "{error}");
    let reports = reports.lock().unwrap();
    let quoted = reports.iter().filter(|report| matches!(report, Report::Malformed { .. })).count();
    let counted: Vec<u64> = reports
        .iter()
        .filter_map(|report| match report {
            Report::ManyMalformed { count } => Some(*count),
            _ => None,
        })
        .collect();
    assert_eq!((quoted, counted.first(), counted.last()), (100, Some(&101), Some(&5000)), "{counted:?}");
    assert!(counted.len() < 20, "{counted:?}");
}
