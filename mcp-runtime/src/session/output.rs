//! What waits to be written, and how the transport takes it.
//!
//! In: whole lines. Out: the same, to the transport's task or directly to its peer. Refuses to grow: a peer that does not
//! read ends the session, and callers wait for room before that.

use std::task::{Context, Poll};

use super::engine::Engine;
use super::lifecycle::SessionEnd;
use super::wakers::{Waiter, keep};
use crate::driver::{DirectOutput, MessageKind, Output, RequestTag, WrittenNow};
use crate::error::Reason;

/// A buffer of up to this many bytes is kept while nothing is to be written.
const KEPT_OUTPUT: usize = 4 * 1024;

impl Engine {
    /// Something was appended to the output, or the session came closer to its end: the transport is woken.
    pub(super) fn wake_driver(&mut self) {
        if let Some(waker) = self.driver.take() {
            self.effects.wake(waker);
        }
    }

    /// A peer that does not read must not make this side grow without limit.
    pub(super) fn held_back(&mut self) {
        let waiting = self.unwritten().saturating_add(self.batches.bytes());
        if waiting > self.options.output_limit {
            self.end(Reason::OutputFull(waiting));
        }
    }

    /// A line was appended to the output.
    pub(super) fn appended(&mut self, kind: MessageKind, about: Option<RequestTag>) {
        let gone = self.let_message_out(kind, about);
        self.held_back();
        if !gone && !self.write_directly() {
            self.wake_driver();
        }
    }

    pub(crate) fn direct_output_offered(&mut self, output: Box<dyn DirectOutput>) {
        self.direct = Some(output);
        self.messages.not_wanted();
    }

    /// Writes what waits without the transport's task, if that is possible; whether nothing is left.
    fn write_directly(&mut self) -> bool {
        let ready = self.lifecycle.is_open() && !self.unconfirmed;
        if !ready || std::mem::replace(&mut self.direct_used, true) {
            return false;
        }
        let Some(direct) = &mut self.direct else { return false };
        let bytes = self.output.get(self.output_start..).unwrap_or_default();
        let Ok(WrittenNow { length, reader }) = direct.write_now(bytes) else { return false };
        if let Some(reader) = reader {
            self.effects.wake(reader);
        }
        self.output_start = self.output_start.saturating_add(length);
        let nothing_left = self.output_length() == 0;
        if nothing_left {
            self.output_start = 0;
            if self.output.capacity() > KEPT_OUTPUT && self.output.len() < self.output.capacity() / 4 {
                self.output = Vec::new();
            }
            self.output.clear();
        }
        nothing_left
    }

    pub(super) fn output_length(&self) -> usize {
        self.output.len().saturating_sub(self.output_start)
    }

    /// The output, and what the transport holds back.
    pub(super) fn unwritten(&self) -> usize {
        self.output_length().saturating_add(self.messages.waiting())
    }

    /// Waits until there is room in the output.
    pub(crate) fn poll_room(&mut self, context: &Context<'_>, waiter: &mut Waiter) -> Poll<()> {
        if self.lifecycle.is_live() && self.unwritten() > self.options.output_high_water {
            self.output_waiting.register(context, waiter, &mut self.effects);
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Everything that was handed out has been written.
    pub(crate) fn wrote(&mut self) {
        self.unconfirmed = false;
        if self.unwritten() <= self.options.output_high_water {
            self.output_waiting.wake(&mut self.effects);
        }
        if self.lifecycle.is_abandoned() {
            self.wake_driver();
        } else if !self.lifecycle.is_open() {
            self.closing_waiting.wake(&mut self.effects);
        }
    }

    /// Hands out bytes, or the word that there will be none.
    pub(crate) fn poll_output(
        &mut self,
        context: &Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Output> {
        if room > 0 {
            self.messages.not_wanted();
        }
        let nothing_left = self.unwritten() == 0 && !self.unconfirmed;
        if self.lifecycle.is_abandoned() && (nothing_left || self.lifecycle.is_written()) {
            self.lifecycle.release();
            return Poll::Ready(Output::Abandoned);
        }
        if self.lifecycle.is_closing() && self.owed.is_empty() && !self.is_handing_out() {
            self.over(SessionEnd::Closed);
        }
        if self.lifecycle.is_written() {
            self.keep_driver(context);
            return Poll::Ready(Output::Finished);
        }
        if room > 0 && self.output_length() > 0 {
            self.hand_out(into, room);
            self.unconfirmed = true;
            return Poll::Ready(Output::Bytes);
        }
        let answered = self.lifecycle.is_answering() && self.owed.is_empty();
        let complete = answered || self.lifecycle.is_closed() || self.lifecycle.is_disconnected();
        if complete && self.output_length() == 0 {
            self.lifecycle.written();
            self.keep_driver(context);
            return Poll::Ready(Output::Finished);
        }
        self.direct_used = false;
        self.keep_driver(context);
        Poll::Pending
    }

    /// Keeps the transport's waker. One that has finished is woken, too: the session may still be let go of.
    fn keep_driver(&mut self, context: &Context<'_>) {
        keep(&mut self.driver, context, &mut self.effects);
    }

    /// Appends whole lines until `room` bytes or more have been added.
    fn hand_out(&mut self, into: &mut Vec<u8>, room: usize) {
        if self.output_length() <= room {
            if into.is_empty() && self.output_start == 0 {
                std::mem::swap(into, &mut self.output);
            } else {
                into.extend_from_slice(self.output.get(self.output_start..).unwrap_or_default());
            }
            self.output.clear();
            self.output_start = 0;
        } else {
            let waiting = self.output.get(self.output_start..).unwrap_or_default();
            let rest = waiting.get(room.saturating_sub(1)..).unwrap_or_default();
            let line = memchr::memchr(b'\n', rest).map_or(waiting.len(), |end| room.max(1) + end);
            into.extend_from_slice(waiting.get(..line).unwrap_or(waiting));
            self.output_start = self.output_start.saturating_add(line).min(self.output.len());
            if self.output_start >= self.output.len() {
                self.output.clear();
                self.output_start = 0;
            } else if self.output_start > self.output.len() / 2 {
                // Moving at most as much as was handed out keeps the cost of a byte constant.
                self.output.drain(..self.output_start);
                self.output_start = 0;
            }
        }
        if self.output_length() <= self.options.output_high_water {
            self.output_waiting.wake(&mut self.effects);
        }
    }

    /// Tasks that wait to write look again: for room, or for an abandoned reply.
    pub(crate) fn nudge(&mut self) {
        self.output_waiting.wake(&mut self.effects);
        self.linear_waiting.wake(&mut self.effects);
    }
}
