//! The byte pump and the in-memory transport, with the clock held still.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_runtime::driver::{End, Limits, Transport};
use mcp_runtime::session::Outcome;
use mcp_runtime::transport::{ByteStream, duplex, duplex::duplex_with_capacity};
use test_support::script::Script;
use tokio::io::AsyncWrite;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn lines_go_both_ways_and_both_sides_close() {
    let (left, right) = duplex();
    let (client, server) = (Script::new(), Script::echo());
    test_support::spawn(left.run(client.endpoint()));
    test_support::spawn(right.run(server.endpoint()));
    client.send("one");
    client.until(|seen| seen.input == b"one\n").await;
    client.send("two");
    client.send("three");
    client.until(|seen| seen.input == b"one\ntwo\nthree\n").await;
    client.until(|seen| seen.confirmed == 14).await;
    client.finish();
    assert!(matches!(client.until_terminated().await, Outcome::Closed));
    assert!(matches!(server.until_terminated().await, Outcome::Closed));
    assert!(client.look(|seen| matches!(seen.end, Some(End::Eof))));
    assert!(server.look(|seen| matches!(seen.end, Some(End::Eof))));
}

#[tokio::test(start_paused = true)]
async fn more_than_the_connection_holds_goes_through_both_ways_at_once() {
    // Both sides write much more than the connection holds before either has read: a side that stopped reading while
    // its writing is blocked would hang here.
    let (left, right) = duplex_with_capacity(100);
    let (one, other) = (Script::new(), Script::new());
    let line = "x".repeat(999);
    for side in [&one, &other] {
        for _ in 0..200 {
            side.send(&line);
        }
    }
    test_support::spawn(left.run(one.endpoint()));
    test_support::spawn(right.run(other.endpoint()));
    for side in [&one, &other] {
        side.until(|seen| seen.input.len() == 200_000 && seen.confirmed == 200_000).await;
        side.finish();
    }
    assert!(matches!(one.until_terminated().await, Outcome::Closed));
    assert!(matches!(other.until_terminated().await, Outcome::Closed));
}

#[tokio::test(start_paused = true)]
async fn many_small_lines_travel_together() {
    let (left, right) = duplex();
    let (client, server) = (Script::new(), Script::new());
    for _ in 0..1000 {
        client.send("ping");
    }
    test_support::spawn(left.run(client.endpoint()));
    test_support::spawn(right.run(server.endpoint()));
    server.until(|seen| seen.input.len() == 5000).await;
    assert!(server.look(|seen| seen.pieces) < 10);
}

#[tokio::test(start_paused = true)]
async fn what_is_said_reaches_the_other_end_without_the_transport_s_task() {
    let (left, right) = duplex();
    let (client, server) = (Script::new(), Script::new());
    let mut left = Box::pin(left.run(client.endpoint()));
    let mut once = async || std::future::poll_fn(|context| Poll::Ready(left.as_mut().poll(context))).await;
    assert!(once().await.is_pending());
    client.send("one");
    test_support::spawn(right.run(server.endpoint()));
    server.until(|seen| seen.input == b"one\n").await;
    // One that is said so soon after goes together with those that follow.
    client.send("two");
    client.send("three");
    tokio::task::yield_now().await;
    assert_eq!(server.look(|seen| seen.text()), "one\n");
    assert!(once().await.is_pending());
    server.until(|seen| seen.input == b"one\ntwo\nthree\n").await;
    assert_eq!(server.look(|seen| seen.pieces), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_end_is_the_end_of_the_stream() {
    let (left, right) = duplex();
    drop(left);
    let script = Script::new();
    test_support::spawn(right.run(script.endpoint()));
    script.until(|seen| matches!(seen.end, Some(End::Eof))).await;
    script.send("hello?");
    // Nothing can come in and nothing go out, so there is nothing to wait for.
    let Outcome::Failed(error) = script.until_terminated().await else { panic!("lost bytes are an error") };
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    assert!(script.look(|seen| seen.output_error.is_some() && seen.confirmed == 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_queued_is_read_before_the_end() {
    let (left, right) = duplex();
    let (client, server) = (Script::new(), Script::new());
    client.send("last words");
    client.finish();
    let running = test_support::spawn(left.run(client.endpoint()));
    client.until(|seen| seen.confirmed == 11).await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    test_support::spawn(right.run(server.endpoint()));
    server.until(|seen| seen.end.is_some()).await;
    assert_eq!(server.look(|seen| seen.text()), "last words\n");
}

#[tokio::test(start_paused = true)]
async fn late_input_is_taken_in_until_the_limit() {
    let (left, right) = duplex();
    let (client, server) = (Script::new(), Script::new());
    let begin = Instant::now();
    let limits = Limits::new(Duration::from_secs(1), Duration::from_secs(10));
    test_support::spawn(left.limits(limits).run(client.endpoint()));
    test_support::spawn(right.run(server.endpoint()));
    client.finish();
    server.until(|seen| matches!(seen.end, Some(End::Eof))).await;
    tokio::time::sleep(Duration::from_secs(9)).await;
    server.send("late");
    client.until(|seen| seen.input == b"late\n").await;
    // The server never closes.
    assert!(matches!(client.until_terminated().await, Outcome::Closed));
    assert!(client.look(|seen| matches!(seen.end, Some(End::GaveUp))));
    assert_eq!(begin.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_cannot_hold_up_the_end() {
    let (left, _right) = duplex_with_capacity(10);
    let script = Script::new();
    script.send(&"x".repeat(100));
    script.finish();
    let begin = Instant::now();
    test_support::spawn(
        left.limits(Limits::new(Duration::from_secs(3), Duration::from_secs(4))).run(script.endpoint()),
    );
    let Outcome::Failed(error) = script.until_terminated().await else { panic!("bytes were lost") };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().ends_with("in time: see `Limits::flush`"), "{error}");
    assert!(script.look(|seen| seen.output_error.is_some() && seen.confirmed <= 10));
    assert_eq!(begin.elapsed().as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_session_waits_for_nothing() {
    let (left, _right) = duplex_with_capacity(10);
    let script = Script::new();
    script.send(&"x".repeat(100_000));
    script.send("more than is taken at once");
    let begin = Instant::now();
    test_support::spawn(left.limits(Limits::NONE).run(script.endpoint()));
    script.until(|seen| seen.confirmed > 0).await;
    // The writer is blocked and has as much as it takes; it must hear of this all the same, also when it is closing.
    script.finish();
    tokio::task::yield_now().await;
    script.abandon();
    assert!(matches!(script.until_terminated().await, Outcome::Closed));
    assert_eq!(begin.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_is_dropped_says_so() {
    let (left, _right) = duplex();
    let script = Script::new();
    let running = test_support::spawn(left.run(script.endpoint()));
    tokio::task::yield_now().await;
    running.abort();
    assert!(matches!(script.until_terminated().await, Outcome::Dropped));
}

#[tokio::test(start_paused = true)]
async fn deadlines_are_kept_also_when_they_move() {
    let (left, _right) = duplex();
    let script = Script::new();
    test_support::spawn(left.run(script.endpoint()));
    let begin = Instant::now();
    let at = |seconds| Some((begin + Duration::from_secs(seconds)).into_std());
    let ticks = |script: &Script| {
        script.look(|seen| {
            let seconds = |tick: &std::time::Instant| (*tick - begin.into_std()).as_secs();
            seen.ticks.iter().map(seconds).collect::<Vec<_>>()
        })
    };
    script.set_deadline(at(100));
    tokio::time::sleep(Duration::from_secs(1)).await;
    // Sooner.
    script.set_deadline(at(5));
    script.until(|seen| seen.ticks.len() == 1).await;
    assert_eq!(ticks(&script), [5]);
    // Later than a timer that is running already.
    script.set_deadline(at(20));
    tokio::time::sleep(Duration::from_secs(1)).await;
    script.set_deadline(at(30));
    script.until(|seen| seen.ticks.len() == 2).await;
    assert_eq!(ticks(&script), [5, 30]);
    // None at all.
    script.set_deadline(at(40));
    tokio::time::sleep(Duration::from_secs(1)).await;
    script.set_deadline(None);
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(ticks(&script), [5, 30]);
}

/// A writer that takes one byte at a time, is interrupted before each, and fails after some.
struct Reluctant {
    interrupted: bool,
    left: usize,
}

impl AsyncWrite for Reluctant {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Poll::Ready(Err(io::ErrorKind::Interrupted.into()));
        }
        if self.left == 0 {
            return Poll::Ready(Err(io::Error::other("the cable is unplugged")));
        }
        self.left -= 1;
        Poll::Ready(Ok(bytes.len().min(1)))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_writer_is_reported_and_the_reader_goes_on() {
    let script = Script::new();
    let (mut peer, reader) = tokio::io::duplex(100);
    let writer = Reluctant { interrupted: false, left: 4 };
    test_support::spawn(ByteStream::from_parts(reader, writer).limits(Limits::NONE).run(script.endpoint()));
    script.send("abc");
    script.until(|seen| seen.confirmed == 4).await;
    script.send("def");
    script.until(|seen| seen.output_error.is_some()).await;
    tokio::io::AsyncWriteExt::write_all(&mut peer, b"still here\n").await.unwrap();
    script.until(|seen| seen.input == b"still here\n").await;
    script.finish();
    drop(peer);
    let Outcome::Failed(error) = script.until_terminated().await else { panic!("it failed") };
    assert_eq!(error.to_string(), "the cable is unplugged");
}
