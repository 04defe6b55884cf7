//! The byte pump: one task moves bytes between an [`Endpoint`] and a pair of streams.
//!
//! In come a reader, a writer and an endpoint; out go [`PumpEvent`]s for the transport, which decides what an end of
//! one direction means. Reading and writing are polled side by side, so that a blocked writer never stops the
//! reading, nor the other way round. It refuses to wait without the transport's word: how long the last bytes may
//! take and how long late input is welcome is the transport's business (see [`Limits`]).

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::time::{Instant, Sleep};

use super::delivery::Delivery;
use super::endpoint::{Endpoint, Output};
use super::framing::{FrameReader, Framing};
use crate::error::{End, Outcome};

/// How many outgoing bytes are collected before the writer must have taken some.
const COALESCE: usize = 64 * 1024;

/// A buffer of up to this size is kept while the session is idle.
const KEEP: usize = 4 * 1024;

/// How many rounds of work one poll does before other tasks of the thread get their turn.
const ROUNDS: usize = 32;

/// How long a transport waits at the end of a session. `None` waits without limit.
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
pub enum PumpEvent {
    /// The session has said everything; what is left is being written.
    Finishing,
    /// The writer is closed: all was written, or it failed. The endpoint has not been told of a failure yet: the
    /// transport may know a better reason, or passes it on with [`Pump::report_failure`].
    OutputClosed,
    /// The reader has ended. The endpoint has not been told yet: the transport may know a better reason, and passes
    /// it on with [`Pump::report_end`].
    InputEnded(End),
    /// The session was abandoned; both streams have been dropped.
    Abandoned,
}

/// Moves the bytes of one session.
#[derive(Debug)]
pub struct Pump<E: Endpoint, R, W> {
    endpoint: E,
    reader: Option<R>,
    writer: Option<W>,
    framing: Framing,
    frames: FrameReader,
    /// Messages taken from the endpoint that are not framed yet; empty between polls.
    messages: Vec<u8>,
    /// Bytes taken from the endpoint; those before `written` are with the writer already.
    pending: Vec<u8>,
    written: usize,
    /// The most that `pending` held since it last ran empty, by which its memory is judged.
    longest: usize,
    /// Bytes were given to the writer that it has not flushed.
    unflushed: bool,
    /// The endpoint has finished or was abandoned.
    finished: bool,
    /// The event `OutputClosed` is still to be told.
    closed_untold: bool,
    /// The endpoint has been told that the input has ended.
    end_reported: bool,
    timer: Option<Pin<Box<Sleep>>>,
    failure: Option<Arc<io::Error>>,
    /// Writing failed, and the endpoint has not been told.
    failure_untold: Option<io::Error>,
    terminated: bool,
}

/// Carries the session of `endpoint` over a pair of streams to its end, and tells the endpoint how it ended.
pub async fn run<E, R, W>(endpoint: E, reader: R, writer: W, framing: Framing, limits: Limits)
where
    E: Endpoint,
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut pump = Pump::new(endpoint, reader, writer, framing);
    let mut deadline = None;
    while !pump.is_over() {
        let event = match deadline {
            None => Some(pump.next().await),
            Some(deadline) => tokio::time::timeout_at(deadline, pump.next()).await.ok(),
        };
        match event {
            Some(PumpEvent::Finishing) => {
                deadline = after(if pump.writer.is_some() { limits.flush } else { limits.drain });
            }
            // Where the writer has failed while the session goes on, what the peer still says is wanted all the same.
            Some(PumpEvent::OutputClosed) => {
                pump.report_failure();
                if pump.finished {
                    deadline = after(limits.drain);
                }
            }
            Some(PumpEvent::InputEnded(end)) => pump.report_end(end),
            Some(PumpEvent::Abandoned) => break,
            None if pump.writer.is_some() => {
                pump.give_up_writing();
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

/// The moment `wait` from now.
pub(crate) fn after(wait: Option<Duration>) -> Option<Instant> {
    wait.and_then(|wait| Instant::now().checked_add(wait))
}

impl<E: Endpoint, R, W> Pump<E, R, W> {
    /// A pump between `endpoint` and the two streams; it moves nothing until it is polled.
    pub fn new(endpoint: E, reader: R, writer: W, framing: Framing) -> Self {
        Self {
            endpoint,
            reader: Some(reader),
            writer: Some(writer),
            framing,
            frames: FrameReader::new(framing),
            messages: Vec::new(),
            pending: Vec::new(),
            written: 0,
            longest: 0,
            unflushed: false,
            finished: false,
            closed_untold: false,
            end_reported: false,
            timer: None,
            failure: None,
            failure_untold: None,
            terminated: false,
        }
    }

    /// Whether both directions are closed.
    pub fn is_over(&self) -> bool {
        self.reader.is_none() && self.writer.is_none() && !self.closed_untold
    }

    /// Whether the reader has not ended yet.
    pub fn is_reading(&self) -> bool {
        self.reader.is_some()
    }

    /// Whether the writer is open still.
    pub fn is_writing(&self) -> bool {
        self.writer.is_some()
    }

    /// How a pair of streams has ended, as far as this pump saw it.
    pub fn outcome(&self) -> Outcome {
        self.failure.clone().map_or(Outcome::Closed, Outcome::Failed)
    }

    /// Tells the endpoint why the input has ended, and drops the reader. Only the first call counts.
    pub fn report_end(&mut self, mut end: End) {
        self.reader = None;
        if self.end_reported {
            return;
        }
        self.end_reported = true;
        self.endpoint.receive(Delivery::end_of(&mut self.frames), Instant::now().into_std());
        if let (End::Eof, Some(error)) = (&end, self.frames.take_error()) {
            end = End::Failed(error);
        }
        if let End::Failed(error) = &end {
            self.note(error);
        }
        self.endpoint.input_ended(end);
    }

    /// Tells the endpoint that writing has failed, if it has and this was not told.
    pub fn report_failure(&mut self) {
        if let Some(error) = self.failure_untold.take() {
            self.endpoint.output_failed(error);
        }
    }

    /// Stops waiting for the writer, drops it, and tells the endpoint that its last bytes were not taken in time.
    pub fn give_up_writing(&mut self) {
        if self.writer.is_some() {
            self.fail_output(io::Error::new(
                io::ErrorKind::TimedOut,
                "the peer did not take the last messages in time",
            ));
            self.closed_untold = false;
            self.report_failure();
        }
    }

    /// Drops both streams and tells the endpoint that the transport is gone.
    pub fn terminate(mut self, outcome: Outcome) {
        self.reader = None;
        self.writer = None;
        self.terminated = true;
        self.endpoint.terminated(outcome);
    }

    /// Keeps the first error for the outcome.
    fn note(&mut self, error: &io::Error) {
        if self.failure.is_none() {
            self.failure = Some(Arc::new(duplicate(error)));
        }
    }

    fn fail_output(&mut self, error: io::Error) {
        self.writer = None;
        self.pending = Vec::new();
        self.written = 0;
        self.unflushed = false;
        self.closed_untold = true;
        self.note(&error);
        self.failure_untold = Some(error);
    }
}

impl<E: Endpoint, R: AsyncBufRead + Unpin, W: AsyncWrite + Unpin> Pump<E, R, W> {
    /// Moves bytes until something happens that the transport must know. Dropping the future loses nothing.
    pub async fn next(&mut self) -> PumpEvent {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Moves bytes until something happens that the transport must know, or nothing can be moved.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<PumpEvent> {
        for _ in 0..ROUNDS {
            let mut moved = false;
            // Input comes first, so that what the engine says in answer to it leaves in the same round.
            match self.poll_input(context) {
                Poll::Ready(Some(event)) => return Poll::Ready(event),
                Poll::Ready(None) => moved = true,
                Poll::Pending => {}
            }
            match self.poll_output(context) {
                Poll::Ready(Some(event)) => return Poll::Ready(event),
                Poll::Ready(None) => moved = true,
                Poll::Pending => {}
            }
            if !moved && self.poll_timer(context).is_pending() {
                return Poll::Pending;
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
                self.endpoint.receive(Delivery::bytes(&mut self.frames, bytes), Instant::now().into_std());
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

    /// Takes what the endpoint has, and writes what the writer takes.
    fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<Option<PumpEvent>> {
        if std::mem::take(&mut self.closed_untold) {
            return Poll::Ready(Some(PumpEvent::OutputClosed));
        }
        let mut moved = false;
        match self.poll_endpoint(context) {
            Poll::Ready(Some(event)) => return Poll::Ready(Some(event)),
            Poll::Ready(None) => moved = true,
            Poll::Pending => {}
        }
        match self.poll_writer(context) {
            Poll::Ready(Ok(())) => moved = true,
            Poll::Ready(Err(error)) => {
                self.fail_output(error);
                moved = true;
            }
            Poll::Pending => {}
        }
        if moved { Poll::Ready(None) } else { Poll::Pending }
    }

    /// Asks the endpoint for output. A session that has finished may still be abandoned, so it is asked on.
    fn poll_endpoint(&mut self, context: &mut Context<'_>) -> Poll<Option<PumpEvent>> {
        let queued = self.pending.len() - self.written;
        let room = match self.writer {
            Some(_) if !self.finished => COALESCE.saturating_sub(queued),
            _ => 0,
        };
        let polled = match self.framing {
            Framing::Lines => self.endpoint.poll_output(context, &mut self.pending, room),
            framing => {
                let polled = self.endpoint.poll_output(context, &mut self.messages, room);
                framing.write(&std::mem::take(&mut self.messages), &mut self.pending);
                polled
            }
        };
        match ready!(polled) {
            Output::Bytes => {
                self.longest = self.longest.max(self.pending.len());
                Poll::Ready(None)
            }
            Output::Finished if self.finished => Poll::Pending,
            Output::Finished => {
                self.finished = true;
                Poll::Ready(Some(PumpEvent::Finishing))
            }
            Output::Abandoned => {
                self.finished = true;
                self.reader = None;
                self.writer = None;
                Poll::Ready(Some(PumpEvent::Abandoned))
            }
        }
    }

    /// Writes, flushes, and at the end closes. `Ready` means that something moved.
    fn poll_writer(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else { return Poll::Pending };
        let mut writer = Pin::new(writer);
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
            self.endpoint.wrote();
            return Poll::Ready(Ok(()));
        }
        if self.finished {
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

    /// Forgets written bytes. The memory stays for the next ones, unless little of it was needed lately.
    fn reclaim(&mut self) {
        if self.written == self.pending.len() {
            self.pending.clear();
            self.written = 0;
            if self.pending.capacity() > KEEP && self.longest < self.pending.capacity() / 4 {
                self.pending = Vec::new();
            }
            self.longest = 0;
        } else if self.written >= COALESCE {
            self.pending.drain(..self.written);
            self.written = 0;
        }
    }

    /// Tells the endpoint the time when its deadline has come.
    fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.endpoint.next_deadline() else { return Poll::Pending };
        let deadline = Instant::from_std(deadline);
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        // A timer that is set too early costs one idle wake; moving it at every change would cost more.
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        loop {
            ready!(timer.as_mut().poll(context));
            let now = Instant::now();
            if now >= deadline {
                self.endpoint.tick(now.into_std());
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
    }
}

impl<E: Endpoint, R, W> Drop for Pump<E, R, W> {
    /// A pump that is dropped half-way still ends its session, so that nobody waits for it in vain.
    fn drop(&mut self) {
        if !self.terminated {
            self.endpoint.terminated(Outcome::Dropped);
        }
    }
}

/// A second error that says the same: `io::Error` cannot be cloned, and both the endpoint and the outcome want it.
pub(crate) fn duplicate(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}
