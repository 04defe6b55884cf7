//! Sessions over a stream and a sink of whole messages.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::{Sink, Stream, sink, stream};
use mcp_runtime::driver::{End, Limits, Transport};
use mcp_runtime::session::Outcome;
use mcp_runtime::transport::MessageStream;
use test_support::script::Script;
use tokio::time::Instant;

/// One direction of a connection: it has room for one message, and is flushed once that is read.
#[derive(Clone, Default)]
struct OneByOne(Arc<Mutex<Pipe>>);

#[derive(Default)]
struct Pipe {
    messages: VecDeque<String>,
    closed: bool,
    wakers: Vec<Waker>,
}

impl OneByOne {
    /// Waits for something; `now` changes what is there, if it can.
    fn poll<T>(&self, context: &Context<'_>, now: impl FnOnce(&mut Pipe) -> Option<T>) -> Poll<T> {
        let mut pipe = self.0.lock().unwrap();
        let done = now(&mut pipe);
        if done.is_some() {
            pipe.wakers.drain(..).for_each(Waker::wake);
        }
        pipe.wakers.push(context.waker().clone());
        done.map_or(Poll::Pending, Poll::Ready)
    }

    fn poll_empty(&self, context: &Context<'_>) -> Poll<Result<(), Infallible>> {
        self.poll(context, |pipe| pipe.messages.is_empty().then_some(Ok(())))
    }
}

impl Stream for OneByOne {
    type Item = Result<String, Infallible>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(context, |pipe| match pipe.messages.pop_front() {
            Some(message) => Some(Some(Ok(message))),
            None => pipe.closed.then_some(None),
        })
    }
}

impl Sink<String> for OneByOne {
    type Error = Infallible;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.poll_empty(context)
    }

    fn start_send(self: Pin<&mut Self>, message: String) -> Result<(), Infallible> {
        let mut pipe = self.0.lock().unwrap();
        pipe.messages.push_back(message);
        pipe.wakers.drain(..).for_each(Waker::wake);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.poll_empty(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.poll(context, |pipe| {
            pipe.closed |= pipe.messages.is_empty();
            pipe.closed.then_some(Ok(()))
        })
    }
}

/// A sink that fails.
struct Broken;

impl Sink<String> for Broken {
    type Error = io::Error;

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn start_send(self: Pin<&mut Self>, _: String) -> io::Result<()> {
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
    }
}

#[tokio::test(start_paused = true)]
async fn each_message_is_sent_once_and_both_sides_read_while_they_write() {
    let (there, back) = (OneByOne::default(), OneByOne::default());
    let near = MessageStream::new(back.clone(), there.clone());
    let far = MessageStream::new(there, back);
    let (client, server) = (Script::new(), Script::echo());
    test_support::spawn(near.run(client.endpoint()));
    test_support::spawn(far.run(server.endpoint()));
    let said: Vec<String> = (0..100).map(|number| format!("zw\u{f6}lf {number}")).collect();
    said.iter().for_each(|message| client.send(message));
    let all = said.iter().map(|message| format!("{message}\n")).collect::<String>();
    client.until(|seen| seen.text() == all).await;
    client.finish();
    assert!(matches!(client.until_terminated().await, Outcome::Closed));
    assert!(matches!(server.until_terminated().await, Outcome::Closed));
    assert!(server.look(|seen| matches!(seen.end, Some(End::Eof))));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_close_its_side_is_awaited_for_a_while() {
    let (script, began) = (Script::new(), Instant::now());
    let silent = stream::pending::<Result<Vec<u8>, Infallible>>();
    let transport = MessageStream::<_, _, String>::new(silent, sink::drain());
    let limits = Limits::new(Duration::from_secs(5), Duration::from_secs(7));
    test_support::spawn(transport.limits(limits).run(script.endpoint()));
    script.send("last words");
    script.finish();
    script.until_terminated().await;
    assert_eq!(began.elapsed(), Duration::from_secs(7));
    assert!(script.look(|seen| matches!(seen.end, Some(End::GaveUp))));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_the_last_messages_is_awaited_for_a_while() {
    let (script, began, there) = (Script::new(), Instant::now(), OneByOne::default());
    there.0.lock().unwrap().messages.push_back("nothing reads this".to_owned());
    let silent = stream::pending::<Result<Vec<u8>, Infallible>>();
    let limits = Limits::new(Duration::from_secs(5), Duration::from_secs(7));
    test_support::spawn(MessageStream::new(silent, there).limits(limits).run(script.endpoint()));
    script.finish();
    script.until_terminated().await;
    assert_eq!(began.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn what_a_peer_still_says_is_awaited_where_the_sink_has_failed() {
    let limits = Limits::new(Duration::from_secs(5), Duration::from_secs(7));
    for says in [true, false] {
        let (script, began) = (Script::new(), Instant::now());
        let silent = stream::pending::<Result<Vec<u8>, Infallible>>();
        // It fails to take a message, or to close.
        test_support::spawn(MessageStream::new(silent, Broken).limits(limits).run(script.endpoint()));
        if says {
            script.send("lost");
            script.until(|seen| seen.output_error.is_some()).await;
        }
        script.finish();
        script.until_terminated().await;
        assert_eq!(began.elapsed(), Duration::from_secs(7));
        assert_eq!(script.look(|seen| seen.output_error.is_some()), says);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_ends_what_comes_with_its_reason() {
    let script = Script::new();
    let broken = stream::iter([Ok("first"), Err(io::Error::other("no frame"))]);
    test_support::spawn(MessageStream::<_, _, String>::new(broken, sink::drain()).run(script.endpoint()));
    script.until(|seen| seen.end.is_some()).await;
    assert!(
        script.look(|seen| matches!(&seen.end, Some(End::Failed(error)) if error.to_string() == "no frame"))
    );
    assert_eq!(script.look(|seen| seen.text()), "first\n");
    script.finish();
    assert!(matches!(script.until_terminated().await, Outcome::Closed));
}

/// Hears a question and the end, and does not answer yet.
fn asked(allow_half_close: bool) -> Script {
    let script = Script::new();
    let question = stream::iter([Ok::<_, Infallible>("a question")]);
    let transport = MessageStream::<_, _, String>::new(question, sink::drain());
    let transport = if allow_half_close { transport.allow_half_close() } else { transport };
    test_support::spawn(transport.run(script.endpoint()));
    script
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_has_closed_the_connection_reads_nothing_more() {
    let script = asked(false);
    script.until(|seen| seen.output_error.is_some()).await;
    let error = script.look(|seen| seen.output_error.as_ref().map(ToString::to_string));
    assert_eq!(error.unwrap(), "the peer has closed the connection");
    assert!(script.look(|seen| matches!(seen.end, Some(End::Eof)) && seen.text() == "a question\n"));
    script.finish();
    assert!(matches!(script.until_terminated().await, Outcome::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_peer_whose_stream_has_ended_may_read_its_answers() {
    let script = asked(true);
    script.until(|seen| seen.end.is_some()).await;
    script.send("an answer");
    script.until(|seen| seen.confirmed > 0).await;
    script.finish();
    assert!(matches!(script.until_terminated().await, Outcome::Closed));
    assert!(script.look(|seen| seen.output_error.is_none()));
}
