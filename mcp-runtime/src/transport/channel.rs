//! A bounded channel of bytes between two tasks, or between a task and a thread.
//!
//! Bytes go in at the [`Tail`] and come out at the [`Head`], with at most `capacity` of them in between. The reader
//! swaps its empty buffer for the full one, so that each byte is copied once and both buffers are reused. The reader
//! sees the end of the stream after the last byte, also when the writer was dropped.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

use crate::driver::{DirectOutput, WrittenNow};

/// A buffer of up to this size is kept while nothing is on its way.
const KEEP: usize = 4 * 1024;

/// A channel that holds `capacity` bytes, at least one.
pub(crate) fn channel(capacity: usize) -> (Tail, Head) {
    let shared = Arc::new(Mutex::new(ChannelState { capacity: capacity.max(1), ..ChannelState::default() }));
    (Tail { shared: shared.clone() }, Head { shared, buffer: Vec::new(), start: 0, longest: 0 })
}

#[derive(Debug, Default)]
struct ChannelState {
    bytes: Vec<u8>,
    capacity: usize,
    /// The head holds bytes that it has not given on yet.
    taken: bool,
    tail_gone: bool,
    head_gone: bool,
    /// Why the stream ended, if it did not end in order.
    failure: Option<io::Error>,
    head_waker: Option<Waker>,
    tail_waker: Option<Waker>,
}

/// Keeps `waker` in its place, without cloning it when it is there already.
fn keep(place: &mut Option<Waker>, context: &Context<'_>) {
    match place {
        Some(waker) => waker.clone_from(context.waker()),
        None => *place = Some(context.waker().clone()),
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// A panic elsewhere leaves the bytes as they were, so a poisoned lock is as good as another.
fn lock(shared: &Mutex<ChannelState>) -> MutexGuard<'_, ChannelState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The writing end.
#[derive(Debug)]
pub(crate) struct Tail {
    shared: Arc<Mutex<ChannelState>>,
}

impl Tail {
    /// Takes as many bytes as there is room for, one at least. With none, waits until the reader is gone.
    pub(crate) fn poll_send(&mut self, context: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = lock(&self.shared);
        if state.head_gone || state.tail_gone {
            return Poll::Ready(Err(state.failure.take().unwrap_or(io::ErrorKind::BrokenPipe.into())));
        }
        let room = state.capacity.saturating_sub(state.bytes.len());
        // Who has nothing to write waits for the reader to go.
        if room == 0 || bytes.is_empty() {
            keep(&mut state.tail_waker, context);
            return Poll::Pending;
        }
        let accepted = bytes.get(..room).unwrap_or(bytes);
        state.bytes.extend_from_slice(accepted);
        let waker = state.head_waker.take();
        drop(state);
        wake(waker);
        Poll::Ready(Ok(accepted.len()))
    }

    /// Returns a second writer of the channel.
    pub(crate) fn direct(&self) -> DirectTail {
        DirectTail(self.shared.clone())
    }

    /// Waits until the reader has consumed all that was sent.
    pub(crate) fn poll_consumed(&mut self, context: &Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.shared);
        if state.bytes.is_empty() && !state.taken {
            return Poll::Ready(Ok(()));
        }
        if state.head_gone {
            return Poll::Ready(Err(state.failure.take().unwrap_or(io::ErrorKind::BrokenPipe.into())));
        }
        keep(&mut state.tail_waker, context);
        Poll::Pending
    }

    /// Ends the stream; the reader sees it after the last byte.
    pub(crate) fn close(&mut self) {
        let mut state = lock(&self.shared);
        state.tail_gone = true;
        let waker = state.head_waker.take();
        drop(state);
        wake(waker);
    }

    /// Ends the stream with an error that the reader sees after the last byte.
    pub(crate) fn fail(&mut self, error: io::Error) {
        lock(&self.shared).failure = Some(error);
        self.close();
    }
}

/// A second writer of a channel. Its [`Tail`] stays responsible for ending it.
#[derive(Debug)]
pub(crate) struct DirectTail(Arc<Mutex<ChannelState>>);

impl DirectOutput for DirectTail {
    fn write_now(&mut self, bytes: &[u8]) -> io::Result<WrittenNow> {
        let mut state = lock(&self.0);
        if state.head_gone || state.tail_gone {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = state.capacity.saturating_sub(state.bytes.len());
        let accepted = bytes.get(..room).unwrap_or(bytes);
        state.bytes.extend_from_slice(accepted);
        let reader = if accepted.is_empty() { None } else { state.head_waker.take() };
        Ok(WrittenNow { length: accepted.len(), reader })
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.close();
    }
}

impl AsyncWrite for Tail {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(context, bytes)
    }

    /// What was written is at the reader's disposal already.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close();
        Poll::Ready(Ok(()))
    }
}

/// The reading end.
#[derive(Debug)]
pub(crate) struct Head {
    shared: Arc<Mutex<ChannelState>>,
    buffer: Vec<u8>,
    start: usize,
    /// The most that came at once since the stream last ran dry.
    longest: usize,
}

impl Head {
    /// The bytes at hand, swapped in from the writer if there are none; empty at the end of the stream.
    pub(crate) fn poll_fill(&mut self, context: &Context<'_>) -> Poll<io::Result<&[u8]>> {
        if self.start >= self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
            let mut state = lock(&self.shared);
            let is_dry = state.bytes.is_empty();
            let was_taken = std::mem::replace(&mut state.taken, !is_dry);
            if is_dry {
                let ended = state.tail_gone;
                let failure = if ended { state.failure.take() } else { None };
                if !ended {
                    keep(&mut state.head_waker, context);
                }
                // A writer that waits until all is consumed has waited for this.
                let waker = if was_taken { state.tail_waker.take() } else { None };
                drop(state);
                wake(waker);
                if let Some(error) = failure {
                    return Poll::Ready(Err(error));
                }
                if !ended {
                    self.settle();
                    return Poll::Pending;
                }
                return Poll::Ready(Ok(&[]));
            }
            std::mem::swap(&mut self.buffer, &mut state.bytes);
            let waker = state.tail_waker.take();
            drop(state);
            wake(waker);
            self.longest = self.longest.max(self.buffer.len());
        }
        Poll::Ready(Ok(self.buffer.get(self.start..).unwrap_or_default()))
    }

    /// The bytes that were swapped in and not marked as read.
    pub(crate) fn at_hand(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Marks `amount` bytes as read.
    pub(crate) fn advance(&mut self, amount: usize) {
        self.start = self.start.saturating_add(amount).min(self.buffer.len());
    }

    /// Tells the writer that its bytes cannot be taken any more, and why.
    pub(crate) fn fail(&mut self, error: io::Error) {
        lock(&self.shared).failure = Some(error);
        self.release_connection();
    }

    fn release_connection(&mut self) {
        let mut state = lock(&self.shared);
        state.head_gone = true;
        let waker = state.tail_waker.take();
        drop(state);
        wake(waker);
    }

    /// Gives memory back when the last burst needed little of it.
    fn settle(&mut self) {
        if self.buffer.capacity() > KEEP && self.longest < self.buffer.capacity() / 4 {
            self.buffer = Vec::new();
        }
        self.longest = 0;
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        self.release_connection();
    }
}

impl AsyncBufRead for Head {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.get_mut().poll_fill(context)
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        self.advance(amount);
    }
}

impl AsyncRead for Head {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let length = match self.poll_fill(context) {
            Poll::Ready(Ok(bytes)) => {
                let length = bytes.len().min(into.remaining());
                into.put_slice(bytes.get(..length).unwrap_or_default());
                length
            }
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        };
        self.advance(length);
        Poll::Ready(Ok(()))
    }
}

/// Parks the thread of a blocking end until `poll` is ready.
pub(crate) fn wait<T>(mut poll: impl FnMut(&Context<'_>) -> Poll<T>) -> T {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    if let Poll::Ready(value) = poll(&Context::from_waker(Waker::noop())) {
        return value;
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = poll(&context) {
            return value;
        }
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn everything_written_is_read_before_the_end() {
        let (mut tail, mut head) = channel(16);
        tail.write_all(b"last words").await.unwrap();
        drop(tail);
        let mut text = String::new();
        head.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "last words");
    }

    #[tokio::test]
    async fn a_full_channel_makes_the_writer_wait_and_the_reader_wakes_it() {
        let (mut tail, mut head) = channel(4);
        let writer = async move {
            for _ in 0..1000 {
                tail.write_all(b"0123456789").await.unwrap();
            }
        };
        let reader = async {
            let mut text = Vec::new();
            head.read_to_end(&mut text).await.unwrap();
            text
        };
        let ((), text) = tokio::join!(writer, reader);
        assert_eq!(text, b"0123456789".repeat(1000));
    }

    #[tokio::test]
    async fn never_holds_more_than_its_capacity() {
        let (mut tail, _head) = channel(4);
        assert_eq!(tail.write(b"0123456789").await.unwrap(), 4);
        let context = Context::from_waker(Waker::noop());
        assert!(tail.poll_send(&context, b"x").is_pending());
    }

    #[tokio::test]
    async fn a_dropped_reader_breaks_the_pipe_also_for_a_waiting_writer() {
        let (mut tail, head) = channel(1);
        tail.write_all(b"x").await.unwrap();
        let (result, ()) = tokio::join!(tail.write_all(b"y"), async { drop(head) });
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn consumed_means_that_the_reader_has_come_back_for_more() {
        let (mut tail, mut head) = channel(8);
        let context = Context::from_waker(Waker::noop());
        assert!(tail.poll_consumed(&context).is_ready());
        tail.write_all(b"abc").await.unwrap();
        assert!(tail.poll_consumed(&context).is_pending(), "queued");
        assert!(head.poll_fill(&context).is_ready());
        assert!(tail.poll_consumed(&context).is_pending(), "in the reader's hands");
        head.advance(3);
        assert!(head.poll_fill(&context).is_pending());
        assert!(tail.poll_consumed(&context).is_ready());
    }

    #[tokio::test]
    async fn a_failure_is_seen_by_the_other_end() {
        let (mut tail, mut head) = channel(8);
        tail.write_all(b"abc").await.unwrap();
        tail.fail(io::ErrorKind::ConnectionReset.into());
        let mut text = Vec::new();
        assert_eq!(head.read_to_end(&mut text).await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        assert_eq!(text, b"abc");
        let (mut tail, mut head) = channel(8);
        head.fail(io::ErrorKind::StorageFull.into());
        assert_eq!(tail.write(b"abc").await.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
