//! Moves the messages of an [`Endpoint`] through a pair of byte streams, in one task.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::time::Instant;

use super::byte_queue::{ByteQueue, DirectOutput, KEEP};
use super::clock::Clocked;
use super::delivery::Delivery;
use super::endpoint::{Endpoint, Finish, TransportEvent};
use super::framing::{FrameReader, Framing};
use crate::error::{End, Outcome};

/// How many rounds of work one poll does before other tasks of the thread get their turn.
const ROUNDS: usize = 32;

/// How long a transport waits at the end of a session. `None` waits without limit.
///
/// ```
/// use std::time::Duration;
/// use mcp_runtime::driver::Limits;
/// use mcp_runtime::transport::duplex;
///
/// let (near, _far) = duplex();
/// let patient = near.limits(Limits::new(Duration::from_secs(30), Duration::from_secs(30)));
/// # drop(patient);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// For the peer to take the last bytes, from when the session said that it has finished.
    pub flush: Option<Duration>,
    /// For the peer to close its side, from when this side was closed; what it still says until then is taken in.
    pub drain: Option<Duration>,
}

impl Limits {
    /// Waits as long as it takes.
    pub const NONE: Limits = Limits { flush: None, drain: None };

    /// Limits for both waits.
    pub const fn new(flush: Duration, drain: Duration) -> Self {
        Limits { flush: Some(flush), drain: Some(drain) }
    }
}

/// What happened to a direction of a [`Pump`].
#[derive(Debug)]
pub(crate) enum PumpEvent {
    /// The session has said everything; what is left is being written.
    Finishing,
    /// The writer is closed: all was written, or it failed. The endpoint has not been notified of a failure yet: the
    /// transport may know a better reason, or passes it on with [`Pump::report_failure`].
    OutputClosed,
    /// The reader has ended. The endpoint has not been notified yet: the transport may know a better reason, and passes
    /// it on with [`Pump::report_end`].
    InputEnded(End),
    /// The session was abandoned; both streams have been dropped.
    Abandoned,
}

/// Moves the bytes of one session.
#[derive(Debug)]
pub(crate) struct Pump<R, W> {
    session: Clocked,
    reader: Option<R>,
    writer: Option<W>,
    frames: FrameReader,
    queue: ByteQueue,
    /// Bytes taken from the queue; those before `written` are with the writer already.
    pending: Vec<u8>,
    written: usize,
    /// Bytes were given to the writer that it has not flushed.
    unflushed: bool,
    /// The session has finished or was abandoned.
    finished: bool,
    /// The event `OutputClosed` is still to be told.
    closed_untold: bool,
    /// The endpoint has been notified that the input has ended.
    end_reported: bool,
    failure: Option<Arc<io::Error>>,
    /// Writing failed, and the endpoint has not been notified.
    failure_untold: Option<io::Error>,
}

/// Carries the session of `endpoint` over a pair of streams to its end, and tells the endpoint how it ended.
#[expect(clippy::manual_async_fn, reason = "the future of an async function would hold the pump twice")]
pub(crate) fn run<R, W>(mut pump: Pump<R, W>, limits: Limits) -> impl Future<Output = ()>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    async move {
        let mut deadline = None;
        while !pump.is_over() {
            let event = match deadline {
                None => Some(pump.next().await),
                // Boxed, so that it takes no memory before the end.
                Some(deadline) => Box::pin(tokio::time::timeout_at(deadline, pump.next())).await.ok(),
            };
            match event {
                Some(PumpEvent::Finishing) => {
                    deadline = after(if pump.writer.is_some() { limits.flush } else { limits.drain });
                }
                // Where the writer has failed while the session goes on, what the peer still says is wanted all the
                // same.
                Some(PumpEvent::OutputClosed) => {
                    pump.report_failure();
                    if pump.finished {
                        deadline = after(limits.drain);
                    }
                }
                Some(PumpEvent::InputEnded(end)) => pump.report_end(end),
                Some(PumpEvent::Abandoned) => break,
                None if pump.writer.is_some() => {
                    pump.give_up_writing("Limits::flush");
                    deadline = after(limits.drain);
                }
                None => {
                    pump.report_end(End::GaveUp);
                    break;
                }
            }
        }
        let outcome = pump.outcome();
        pump.terminate(outcome);
    }
}

/// The moment `wait` from now.
pub(crate) fn after(wait: Option<Duration>) -> Option<Instant> {
    wait.and_then(|wait| Instant::now().checked_add(wait))
}

impl<R, W> Pump<R, W> {
    /// A pump between `endpoint` and the two streams; it moves nothing until it is polled.
    pub(crate) fn new(endpoint: Arc<dyn Endpoint>, reader: R, writer: W, framing: Framing) -> Self {
        Self::with_direct_output(endpoint, reader, writer, framing, None)
    }

    /// The same with a way to write that does not take the pump's task.
    pub(crate) fn with_direct_output(
        endpoint: Arc<dyn Endpoint>,
        reader: R,
        writer: W,
        framing: Framing,
        direct: Option<Box<dyn DirectOutput>>,
    ) -> Self {
        let queue = ByteQueue::new(framing, direct);
        endpoint.attach(Box::new(queue.clone()));
        Self {
            session: Clocked::new(endpoint),
            reader: Some(reader),
            writer: Some(writer),
            frames: FrameReader::new(framing),
            queue,
            pending: Vec::new(),
            written: 0,
            unflushed: false,
            finished: false,
            closed_untold: false,
            end_reported: false,
            failure: None,
            failure_untold: None,
        }
    }

    /// Whether both directions are closed.
    pub(crate) fn is_over(&self) -> bool {
        self.reader.is_none() && self.writer.is_none() && !self.closed_untold
    }

    /// Whether the reader has not ended yet.
    pub(crate) fn is_reading(&self) -> bool {
        self.reader.is_some()
    }

    /// Whether the writer is open still.
    pub(crate) fn is_writing(&self) -> bool {
        self.writer.is_some()
    }

    /// How a pair of streams has ended, as far as this pump saw it.
    pub(crate) fn outcome(&self) -> Outcome {
        self.failure.clone().map_or(Outcome::Closed, Outcome::Failed)
    }

    /// Tells the endpoint why the input has ended, and drops the reader. Only the first call counts.
    pub(crate) fn report_end(&mut self, mut end: End) {
        self.reader = None;
        if self.end_reported {
            return;
        }
        self.end_reported = true;
        self.session.endpoint().receive(Delivery::end_of(&mut self.frames), Instant::now().into_std());
        if let (End::Eof, Some(error)) = (&end, self.frames.take_error()) {
            end = End::Failed(error);
        }
        if let End::Failed(error) = &end {
            self.note(error);
        }
        self.session.endpoint().notify(TransportEvent::InputEnded(end));
    }

    /// Tells the endpoint that writing has failed, if it has and this was not told.
    pub(crate) fn report_failure(&mut self) {
        if let Some(error) = self.failure_untold.take() {
            self.session.endpoint().notify(TransportEvent::OutputFailed(error));
        }
    }

    /// Stops waiting for the writer, drops it, and tells the endpoint that its last bytes were not taken in the time
    /// that `setting` sets.
    pub(crate) fn give_up_writing(&mut self, setting: &str) {
        if self.writer.is_some() {
            self.fail_output(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the peer did not take the last messages in time: see `{setting}`"),
            ));
            self.closed_untold = false;
            self.report_failure();
        }
    }

    /// Drops both streams and tells the endpoint that the transport is gone.
    pub(crate) fn terminate(mut self, outcome: Outcome) {
        self.reader = None;
        self.writer = None;
        self.session.terminate(outcome);
    }

    /// Keeps the first error for the outcome.
    fn note(&mut self, error: &io::Error) {
        if self.failure.is_none() {
            self.failure = Some(Arc::new(duplicate(error)));
        }
    }

    fn fail_output(&mut self, error: io::Error) {
        self.writer = None;
        self.queue.close();
        self.pending = Vec::new();
        self.written = 0;
        self.unflushed = false;
        self.closed_untold = true;
        self.note(&error);
        self.failure_untold = Some(error);
    }
}

impl<R: AsyncBufRead + Unpin, W: AsyncWrite + Unpin> Pump<R, W> {
    /// Moves bytes until something happens that the transport must know. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> PumpEvent {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Moves bytes until something happens that the transport must know, or nothing can be moved.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<PumpEvent> {
        // Output that is at rest is polled again only if something came in: what other tasks say wakes this one.
        let mut output_rests = false;
        let mut deadline = None;
        for _ in 0..ROUNDS {
            // Input comes first, so that what the engine says in answer to it leaves in the same round.
            let read = match self.poll_input(context) {
                Poll::Ready(Some(event)) => return Poll::Ready(event),
                Poll::Ready(None) => true,
                Poll::Pending => false,
            };
            let mut wrote = false;
            if read || !output_rests {
                if std::mem::take(&mut self.closed_untold) {
                    return Poll::Ready(PumpEvent::OutputClosed);
                }
                let status = self.session.endpoint().status(context);
                if let Some(event) = status.finish.and_then(|finish| self.finish(finish)) {
                    return Poll::Ready(event);
                }
                deadline = status.deadline;
                wrote = self.poll_output(context).is_ready();
                output_rests = !wrote;
            }
            if !read && !wrote {
                ready!(self.session.poll_timer(context, deadline));
                output_rests = false;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads once.
    fn poll_input(&mut self, context: &mut Context<'_>) -> Poll<Option<PumpEvent>> {
        let Some(reader) = &mut self.reader else { return Poll::Pending };
        let end = match ready!(Pin::new(&mut *reader).poll_fill_buf(context)) {
            Ok([]) => End::Eof,
            Ok(bytes) => {
                let length = bytes.len();
                let now = Instant::now().into_std();
                self.session.endpoint().receive(Delivery::bytes(&mut self.frames, bytes), now);
                Pin::new(reader).consume(length);
                match self.frames.take_error() {
                    None => return Poll::Ready(None),
                    Some(error) => End::Failed(error),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Poll::Ready(None),
            Err(error) => End::Failed(error),
        };
        self.reader = None;
        Poll::Ready(Some(PumpEvent::InputEnded(end)))
    }

    /// Writes what the writer takes of what the session has said.
    fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Err(error) = ready!(self.poll_writer(context)) {
            self.fail_output(error);
        }
        Poll::Ready(())
    }

    /// The session is over. One that has finished may still be abandoned.
    fn finish(&mut self, finish: Finish) -> Option<PumpEvent> {
        match finish {
            Finish::Complete if self.finished => None,
            Finish::Complete => {
                self.finished = true;
                Some(PumpEvent::Finishing)
            }
            Finish::Abandoned => {
                self.finished = true;
                self.reader = None;
                self.writer = None;
                self.queue.close();
                Some(PumpEvent::Abandoned)
            }
        }
    }

    /// Writes, flushes, and at the end closes. `Ready` means that something moved.
    fn poll_writer(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else { return Poll::Pending };
        let mut writer = Pin::new(writer);
        if self.pending.is_empty() {
            self.queue.take_into(context, &mut self.pending);
            if self.pending.len() > KEEP {
                // There is room again, which may be long before the writer has taken all of this.
                self.session.endpoint().notify(TransportEvent::Wrote);
            }
        }
        if let Some(rest @ [_, ..]) = self.pending.get(self.written..) {
            return Poll::Ready(match ready!(writer.as_mut().poll_write(context, rest)) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                Ok(length) => {
                    self.written += length;
                    self.unflushed = true;
                    self.reclaim();
                    Ok(())
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                Err(error) => Err(error),
            });
        }
        if self.unflushed {
            ready!(writer.as_mut().poll_flush(context))?;
            self.unflushed = false;
            self.queue.flushed();
            self.session.endpoint().notify(TransportEvent::Wrote);
            return Poll::Ready(Ok(()));
        }
        if self.finished && self.queue.is_empty() {
            ready!(writer.as_mut().poll_shutdown(context))?;
            self.writer = None;
            self.closed_untold = true;
            return Poll::Ready(Ok(()));
        }
        // A peer that has said everything may wait for answers or be gone. Where the stream can tell, an empty write
        // fails in the second case, at once or when it comes to that.
        if self.reader.is_none()
            && let Poll::Ready(Err(error)) = writer.poll_write(context, &[])
            && error.kind() != io::ErrorKind::Interrupted
        {
            return Poll::Ready(Err(error));
        }
        Poll::Pending
    }

    /// Forgets written bytes. The memory stays for the next ones, unless little of it was needed.
    fn reclaim(&mut self) {
        if self.written < self.pending.len() {
            return;
        }
        if self.pending.capacity() > KEEP && self.pending.len() < self.pending.capacity() / 4 {
            self.pending = Vec::new();
        }
        self.pending.clear();
        self.written = 0;
    }
}

/// A second error that says the same: `io::Error` cannot be cloned, and both the endpoint and the outcome want it.
pub(crate) fn duplicate(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}
