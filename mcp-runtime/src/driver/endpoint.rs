//! What the engine of one session offers the transport that carries it.

use std::fmt;
use std::io;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::delivery::Delivery;
use super::outlet::{Outlet, Received};
use crate::error::{End, Error, Outcome, Reason};
use crate::report::Report;

/// What the engine of one session offers the transport that carries it.
///
/// The implementor is a cheap shared handle; all methods may be called from any thread, and none of them blocks. The
/// instants are the transport's clock: `tokio::time::Instant::now().into_std()`, so that tests can hold the time
/// still.
pub trait Endpoint: Send + Sync + 'static {
    /// Offers a way to write that does not take the transport's task.
    ///
    /// The endpoint uses it only while every byte that it gave to [`poll_output`](Self::poll_output) is confirmed by
    /// [`wrote`](Self::wrote), so the two ways never mix up the order of bytes. A transport that has no such way
    /// offers none.
    fn offer_direct_output(&self, output: Box<dyn DirectOutput>) {
        drop(output);
    }

    /// Offers to take whole messages, each with what it is about, in place of
    /// [`poll_output`](Self::poll_output)'s bytes. That is then asked with no room, for the end of the session only.
    fn offer_outlet(&self, outlet: Box<dyn Outlet>) {
        drop(outlet);
    }

    /// Tells that a request of this side could not be delivered, or that no reply to it will come.
    fn request_failed(&self, id: i64, error: Error) {
        let _ = (id, error);
    }

    /// Whether a request of this side still waits for its reply.
    fn awaits(&self, id: i64) -> bool {
        let _ = id;
        false
    }

    /// Whether the session was begun elsewhere, so that nothing will be said here that could name it.
    fn is_resumed(&self) -> bool {
        false
    }

    /// Tells that the session cannot go on, and why.
    fn failed(&self, reason: Reason) {
        let _ = reason;
    }

    /// Reports something that does not end the session.
    fn report(&self, report: Report) {
        let _ = report;
    }

    /// The version of the protocol that was agreed on, once it was; in a session that began elsewhere, from the start.
    fn agreed_version(&self) -> Option<String> {
        None
    }

    /// The version of the protocol that a reply of the peer announces, if it announces one.
    fn announced_version(&self, reply: &[u8]) -> Option<String> {
        let _ = reply;
        None
    }

    /// Tells that the peer has lost the session, and that the transport has reconnected: `result` is the reply to
    /// `request`, the first of the handshake; both are empty if the handshake has none. A new epoch begins. Of the running
    /// requests only those go on that the transport sends again, as [`awaits`](Self::awaits) says; for others it calls
    /// [`request_failed`](Self::request_failed).
    fn reconnected(&self, request: &[u8], result: &[u8]) {
        let _ = (request, result);
    }

    /// What is to be said to a request that the peer makes while the beginning of the session is said once more, before
    /// [`reconnected`](Self::reconnected): it is no part of the session yet.
    fn answer_aside(&self, message: &[u8]) -> Option<Vec<u8>> {
        let _ = message;
        None
    }

    /// Takes messages of the peer. Each of the requests that were accepted is settled once.
    ///
    /// It takes all of them, always: the reader never waits for a slow consumer.
    fn receive(&self, delivery: Delivery<'_>, now: Instant) -> Received;

    /// Tells that nothing more will come in. Called once at most, and [`receive`](Self::receive) not again after it.
    fn input_ended(&self, why: End);

    /// Asks for outgoing bytes: appends whole lines to `into` until it has added `room` bytes or more, or has no
    /// more.
    ///
    /// With `room` 0 nothing is appended; the transport then cannot take more now and only wants to know whether the
    /// session was abandoned. On `Pending` the waker is kept, and woken when there is output, when the session was
    /// finished or abandoned, and when [`next_deadline`](Self::next_deadline) became sooner than it was.
    /// [`Output::Finished`] is returned again by every later call, unless the session is abandoned meanwhile; the
    /// waker is kept with it too, so that the transport hears of that. [`Output::Abandoned`] is final.
    fn poll_output(&self, context: &mut Context<'_>, into: &mut Vec<u8>, room: usize) -> Poll<Output>;

    /// Tells that all bytes taken by [`poll_output`](Self::poll_output) so far have been handed to the operating
    /// system or to the peer.
    fn wrote(&self);

    /// Tells that writing failed; bytes taken and not confirmed by [`wrote`](Self::wrote) are lost. Called once at
    /// most. Nothing is asked from [`poll_output`](Self::poll_output) with room afterwards.
    fn output_failed(&self, error: io::Error);

    /// When [`tick`](Self::tick) wants to be called, if time matters to the session at all.
    fn next_deadline(&self) -> Option<Instant>;

    /// Tells the time, at or after the deadline; the next deadline is then a later one, or none.
    fn tick(&self, now: Instant);

    /// Tells that the transport is gone and how. The last call, made exactly once, also when the transport's future
    /// is dropped before it has run to its end.
    fn terminated(&self, outcome: Outcome);
}

/// A way to write at once, from whatever task has something to say.
///
/// A message that is written so saves two changes of tasks, which on a connection within one machine is most of what
/// a call takes.
pub trait DirectOutput: Send + fmt::Debug {
    /// Writes as much as can be taken without waiting, perhaps nothing. After an error nothing was written; the
    /// transport's own task will meet the same error, and tells it.
    fn write_now(&mut self, bytes: &[u8]) -> io::Result<WrittenNow>;
}

/// What [`DirectOutput::write_now`] did.
#[derive(Debug)]
pub struct WrittenNow {
    /// How many bytes were taken.
    pub length: usize,
    /// The task that waits for them, if this has to wake it. It is woken once the session is unlocked.
    pub reader: Option<Waker>,
}

/// What [`Endpoint::poll_output`] had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// At least one line was appended; there may be more.
    Bytes,
    /// The session has said everything: write what is left, then close the write side. Late input is still welcome.
    Finished,
    /// What is left to be written, or may still come, is not wanted any more: drop both directions at once.
    Abandoned,
}
