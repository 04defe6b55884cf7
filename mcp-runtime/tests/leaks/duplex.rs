//! Sessions within one process.

use std::time::Duration;

use mcp_runtime::transport::duplex;
use mcp_runtime::transport::duplex::{Duplex, duplex_with_capacity};
use tokio::task::yield_now;

use super::help_desk::{Clerk, Open, Visitor};
use super::{Count, Settings, Sometimes, a_thousand, greet, run, welcome};

async fn open(settings: &Settings) -> (Visitor<Open>, Clerk<Open>) {
    let (near, far) = duplex();
    let visitor = Visitor::with_options(near, settings.options());
    let clerk = Clerk::with_options(far, settings.options());
    let (visitor, clerk) = tokio::join!(greet(visitor), welcome(clerk));
    (visitor.unwrap(), clerk.unwrap())
}

/// A client whose peer is there and says nothing, and reads nothing either.
fn alone_with(capacity: usize, settings: &Settings) -> (Visitor<super::help_desk::Greeting>, Duplex) {
    let (near, far) = duplex_with_capacity(capacity);
    (Visitor::with_options(near, settings.options()), far)
}

const WAYS: usize = 12;

async fn one(way: usize, settings: &Settings) {
    match way {
        // In order, from either side.
        0 => {
            let (visitor, clerk) = open(settings).await;
            let serving = tokio::spawn(clerk.incoming().serve(Sometimes));
            assert_eq!(visitor.ask("now".into()).await.unwrap(), "now");
            let (closed, next) = tokio::join!(visitor.close(), clerk.next());
            closed.unwrap();
            drop(next);
            serving.await.unwrap();
        }
        1 => {
            let (visitor, clerk) = open(settings).await;
            clerk.abort();
            visitor.ended().await;
            visitor.close().await.unwrap();
        }
        2 => {
            let (visitor, clerk) = open(settings).await;
            let (one, next) = tokio::join!(visitor.close(), clerk.next());
            one.unwrap();
            drop(next);
        }
        // In the middle of calls that will not be answered.
        3 => {
            let (visitor, clerk) = open(settings).await;
            let serving = tokio::spawn(clerk.incoming().serve(Sometimes));
            let handle = visitor.handle();
            let calls: Vec<_> = (0..3).map(|_| tokio::spawn(handle.ask("never".into()))).collect();
            yield_now().await;
            visitor.abort();
            for call in calls {
                call.await.unwrap().unwrap_err();
            }
            serving.await.unwrap();
            drop(clerk);
        }
        4 => {
            let (visitor, clerk) = open(settings).await;
            let handle = visitor.handle();
            let calls: Vec<_> = (0..3).map(|_| tokio::spawn(handle.look(None))).collect();
            yield_now().await;
            drop(clerk);
            for call in calls {
                call.await.unwrap().unwrap_err();
            }
            drop(visitor);
        }
        // Calls, handlers and servers that are dropped where they stand.
        5 => {
            let (visitor, clerk) = open(settings).await;
            let serving = tokio::spawn(clerk.incoming().serve(Sometimes));
            for _ in 0..3 {
                let mut call = Box::pin(visitor.ask("never".into()));
                tokio::select! {
                    biased;
                    _ = &mut call => panic!("completed without an answer"),
                    () = yield_now() => {}
                }
            }
            serving.abort();
            drop((visitor, clerk));
        }
        6 => {
            let (visitor, clerk) = open(settings).await;
            let serving = tokio::spawn(clerk.incoming().serve(Sometimes));
            let handle = visitor.handle();
            let call =
                tokio::spawn(
                    async move { handle.ask("never".into()).timeout(Duration::from_millis(1)).await },
                );
            call.await.unwrap().unwrap_err();
            serving.abort();
            let (closed, next) = tokio::join!(visitor.close(), clerk.next());
            closed.unwrap();
            drop(next);
        }
        // Before there is anything to end.
        7 => {
            let (visitor, far) = alone_with(1 << 16, settings);
            drop(far);
            visitor.hello(serde_json::json!({})).await.unwrap_err();
        }
        8 => {
            let (visitor, far) = alone_with(1 << 16, settings);
            drop(visitor);
            drop(far);
        }
        // Half-way through the handshake, and with more to be written than the peer takes.
        9 => {
            let (visitor, far) = alone_with(64, settings);
            let hello = visitor.hello(serde_json::json!({"long": "x".repeat(1000)}));
            assert!(tokio::time::timeout(Duration::from_millis(1), hello).await.is_err());
            drop(far);
        }
        10 => {
            let (visitor, clerk) = open(settings).await;
            let (asked, _asks) = (visitor.incoming(), clerk.incoming());
            let approving = tokio::spawn(clerk.handle().approve("?".into()));
            let question = asked.next().await.unwrap();
            drop(visitor);
            drop(question);
            approving.await.unwrap().unwrap_err();
            drop(clerk);
        }
        // Handles and queues that outlive everything.
        _ => {
            let (visitor, clerk) = open(settings).await;
            let (handle, queue) = (visitor.handle(), clerk.incoming());
            drop((visitor, clerk));
            handle.ping().await.unwrap_err();
            assert!(queue.next().await.is_none());
        }
    }
}

#[test]
fn a_thousand_sessions_in_memory_leave_nothing() {
    run(a_thousand(WAYS, one));
}

#[test]
fn a_session_that_is_kept_is_counted() {
    run(async {
        let settings = Settings::default();
        let before = Count::now(&settings);
        let (visitor, clerk) = open(&settings).await;
        let during = Count::now(&settings);
        assert_eq!((during.tasks, during.sessions), (2, 2));
        drop((visitor, clerk));
        before.comes_back(&settings).await;
    });
}
