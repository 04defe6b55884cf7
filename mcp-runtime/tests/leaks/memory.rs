//! Sessions within one process.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{SplitSink, SplitStream};
use mcp_runtime::driver::Transport;
use mcp_runtime::transport::MessageStream;
use mcp_runtime::transport::duplex::duplex_with_capacity;
use tokio::io::DuplexStream;
use tokio::task::yield_now;
use tokio_util::codec::{Framed, LinesCodec};

use super::help_desk::{Clerk, Greeting, Open, Visitor};
use super::{Count, Settings, Sometimes, a_thousand, greet, run, welcome};

/// Makes the two ends of a connection that holds so many bytes.
type Connect<T> = fn(usize) -> (T, T);

/// What a connection holds that is never full.
const ROOM: usize = 1 << 16;

/// One end of a connection whose lines are messages.
type Lines = MessageStream<
    SplitStream<Framed<DuplexStream, LinesCodec>>,
    SplitSink<Framed<DuplexStream, LinesCodec>, String>,
    String,
>;

fn lines(capacity: usize) -> (Lines, Lines) {
    let (near, far) = tokio::io::duplex(capacity);
    let lines = |end| {
        let (outgoing, incoming) = Framed::new(end, LinesCodec::new()).split();
        MessageStream::new(incoming, outgoing)
    };
    (lines(near), lines(far))
}

async fn open<T: Transport>(connect: Connect<T>, settings: &Settings) -> (Visitor<Open>, Clerk<Open>) {
    let (near, far) = connect(ROOM);
    let visitor = Visitor::with_options(near, settings.options());
    let clerk = Clerk::with_options(far, settings.options());
    let (visitor, clerk) = tokio::join!(greet(visitor), welcome(clerk));
    (visitor.unwrap(), clerk.unwrap())
}

/// A client whose peer is there and says nothing, and reads nothing either.
fn alone<T: Transport>((near, far): (T, T), settings: &Settings) -> (Visitor<Greeting>, T) {
    (Visitor::with_options(near, settings.options()), far)
}

const WAYS: usize = 12;

async fn one<T: Transport>(way: usize, connect: Connect<T>, settings: &Settings) {
    match way {
        // In order, from either side.
        0 => {
            let (visitor, clerk) = open(connect, settings).await;
            let serving = tokio::spawn(clerk.incoming().serve(Sometimes));
            assert_eq!(visitor.ask("now".into()).await.unwrap(), "now");
            let (closed, next) = tokio::join!(visitor.close(), clerk.next());
            closed.unwrap();
            drop(next);
            serving.await.unwrap();
        }
        1 => {
            let (visitor, clerk) = open(connect, settings).await;
            clerk.abort();
            visitor.ended().await;
            visitor.close().await.unwrap();
        }
        2 => {
            let (visitor, clerk) = open(connect, settings).await;
            let (one, next) = tokio::join!(visitor.close(), clerk.next());
            one.unwrap();
            drop(next);
        }
        // In the middle of calls that will not be answered.
        3 => {
            let (visitor, clerk) = open(connect, settings).await;
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
            let (visitor, clerk) = open(connect, settings).await;
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
            let (visitor, clerk) = open(connect, settings).await;
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
            let (visitor, clerk) = open(connect, settings).await;
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
            let (visitor, far) = alone(connect(ROOM), settings);
            drop(far);
            visitor.hello(serde_json::json!({})).await.unwrap_err();
        }
        8 => {
            let (visitor, far) = alone(connect(ROOM), settings);
            drop(visitor);
            drop(far);
        }
        // Half-way through the handshake, and with more to be written than the peer takes.
        9 => {
            let (visitor, far) = alone(connect(64), settings);
            let hello = visitor.hello(serde_json::json!({"long": "x".repeat(1000)}));
            assert!(tokio::time::timeout(Duration::from_millis(1), hello).await.is_err());
            drop(far);
        }
        10 => {
            let (visitor, clerk) = open(connect, settings).await;
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
            let (visitor, clerk) = open(connect, settings).await;
            let (handle, queue) = (visitor.handle(), clerk.incoming());
            drop((visitor, clerk));
            handle.ping().await.unwrap_err();
            assert!(queue.next().await.is_none());
        }
    }
}

#[test]
fn a_thousand_sessions_in_memory_leave_nothing() {
    run(a_thousand(WAYS, async |way, settings| one(way, duplex_with_capacity, settings).await));
}

#[test]
fn a_thousand_sessions_over_streams_of_messages_leave_nothing() {
    run(a_thousand(WAYS, async |way, settings| one(way, lines, settings).await));
}

#[test]
fn a_session_that_is_kept_is_counted() {
    run(async {
        let settings = Settings::default();
        let before = Count::now(&settings);
        let (visitor, clerk) = open(duplex_with_capacity, &settings).await;
        let during = Count::now(&settings);
        assert_eq!((during.tasks, during.sessions), (2, 2));
        drop((visitor, clerk));
        before.comes_back(&settings).await;
    });
}
