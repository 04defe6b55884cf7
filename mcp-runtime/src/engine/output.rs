//! How messages of this side reach the transport, and how it learns that none follow.

use std::task::{Context, Poll};

use mcp_protocol_machine::RequestId;

use super::owners::lifecycle::SessionEnd;
use super::owners::wakers::Waiter;
use super::state::Engine;
use crate::driver::{Finish, MessageKind, Outlet, OutletNotice, RequestTag, RequestText, SessionStatus};
use crate::error::DisconnectReason;

impl Engine {
    pub(crate) fn attach(&mut self, outlet: Box<dyn Outlet>) {
        self.outbox.attach(outlet, &mut self.effects);
    }

    /// A peer that does not read must not make this side grow without limit.
    pub(super) fn check_output_limit(&mut self) {
        let waiting = self.outbox.unwritten().saturating_add(self.owed.waiting_bytes());
        if waiting > self.rules.options().output_limit {
            self.end(DisconnectReason::OutputFull(waiting));
        }
    }

    /// A message was composed: it leaves.
    pub(super) fn appended(&mut self, kind: MessageKind, in_reply_to: Option<RequestTag>) {
        self.appended_request(kind, in_reply_to, None);
    }

    /// The same for a request that was read.
    pub(super) fn appended_request(
        &mut self,
        kind: MessageKind,
        in_reply_to: Option<RequestTag>,
        request: Option<RequestText<'_>>,
    ) {
        self.outbox.said(kind, in_reply_to, self.lifecycle.epoch(), request, &mut self.effects);
        self.check_output_limit();
    }

    /// Waits until there is room in the output.
    pub(crate) fn poll_room(&mut self, context: &Context<'_>, waiter: &mut Waiter) -> Poll<()> {
        if self.lifecycle.is_live() && self.outbox.unwritten() > self.rules.options().output_high_water {
            self.outbox.waiting().register(context, waiter, &mut self.effects);
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Waits until there is room in the output for a reply. Where each message finds its way by itself, as over HTTP, a reply
    /// does not wait for what other connections have not taken: the transport has limits of its own.
    pub(crate) fn poll_reply_room(&mut self, context: &Context<'_>, waiter: &mut Waiter) -> Poll<()> {
        if self.outbox.may_route() { Poll::Ready(()) } else { self.poll_room(context, waiter) }
    }

    /// The transport has written something.
    pub(crate) fn wrote(&mut self) {
        self.outbox.wrote();
        if self.outbox.unwritten() <= self.rules.options().output_high_water {
            self.outbox.waiting().wake(&mut self.effects);
        }
        if self.lifecycle.is_abandoned() {
            self.effects.wake_driver();
        } else if !self.lifecycle.is_open() {
            self.lifecycle.waiting().wake(&mut self.effects);
        }
    }

    /// What the session wants of its transport.
    pub(crate) fn status(&mut self, context: &Context<'_>) -> SessionStatus {
        let finish = self.finish(context);
        SessionStatus::new().with_finish(finish).with_deadline(self.next_deadline())
    }

    /// Whether the session is over for its transport.
    pub(super) fn finish(&mut self, context: &Context<'_>) -> Option<Finish> {
        let written = self.lifecycle.is_written() || self.outbox.unwritten() == 0;
        if self.lifecycle.is_abandoned() && written {
            self.lifecycle.release();
            return Some(Finish::Abandoned);
        }
        if self.lifecycle.is_closing() && self.owed.is_empty() && !self.inbox.is_handing_out() {
            self.over(SessionEnd::Closed);
        }
        // The waker is kept also by a session that has finished: it may still be abandoned.
        self.effects.keep_driver(context);
        let answered = self.lifecycle.is_answering() && self.owed.is_empty();
        let complete = answered || self.lifecycle.is_closed() || self.lifecycle.is_disconnected();
        if complete && !self.outbox.waits_for_outlet() {
            self.lifecycle.written();
        }
        self.lifecycle.is_written().then_some(Finish::Complete)
    }

    /// Tasks that wait to write look again: for room, or for an abandoned reply.
    pub(crate) fn nudge(&mut self) {
        self.outbox.waiting().wake(&mut self.effects);
        self.inbox.wake_value(None, &mut self.effects);
    }

    /// The replies are not awaited any more to the requests whose sub-session the message at hand has ended.
    pub(super) fn end_awaiting(&mut self) {
        for id in self.rules.checker_mut().take_left() {
            self.outbox.not_awaited(&id, &mut self.effects);
        }
    }

    /// Has the transport end the connection on which the peer waits for the answer to a request.
    pub(crate) fn release_connection(&mut self, request: &RequestId) {
        if let Some(tag) = self.owed.tag(request) {
            self.outbox.note(OutletNotice::ReleaseConnection(tag), &mut self.effects);
        }
    }

    /// Whether a request of this side still waits for its reply.
    #[cfg(test)]
    pub(crate) fn awaits(&self, id: i64) -> bool {
        use mcp_protocol_machine::{Awaiting, protocol::Direction};

        let awaiting = self.rules.checker().awaiting(Direction::Receive, &RequestId::Number(id));
        self.lifecycle.is_open() && matches!(awaiting, Awaiting::Request(_))
    }
}
