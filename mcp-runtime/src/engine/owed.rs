//! Requests of the peer: whether their replies are still wanted.

use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::Direction;
use mcp_protocol_machine::{Awaiting, RequestId};

use super::owners::context::Caller;
use super::owners::mailboxes::Notice;
use super::owners::trace::Outcome;
use super::owners::wakers::Waiter;
use super::state::Engine;
use crate::error::Error;
use crate::jsonrpc::RpcError;

/// What has become of a request of this side that was to be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelOutcome {
    /// The cancel was written and has ended the exchange.
    Ended,
    /// The cancel was written, and the request still gets its reply.
    ReplyFollows,
    /// It has its reply, or nothing cancels it: nothing was written.
    TooLate,
}

impl Engine {
    /// The peer has cancelled a request.
    pub(super) fn cancel_came(&mut self, id: &RequestId, reply_error: Option<i64>) {
        if reply_error.is_some() {
            return self.cancel_with_reply_came(id);
        }
        // It gets no reply, so the other replies of its batch need not wait for one.
        let to = self.owed.take_route(id);
        self.leave_batch(to.batch);
        self.traces.over(Direction::Receive, id, Outcome::Cancelled);
        if let Some(removed) = self.replicated.take_request(id) {
            // No handler has begun to work on it.
            self.owed.end(id, &mut self.effects);
            self.outbox.settled(to.tag, &mut self.effects);
            if let Some((sub_session, _)) = removed.sub_session {
                self.leave_sub_session(Caller::ANY, sub_session);
            }
            self.reached();
        } else if self.tell_of_cancel(id) {
            self.outbox.settled(to.tag, &mut self.effects);
        }
    }

    /// The same where the request still gets its reply.
    fn cancel_with_reply_came(&mut self, id: &RequestId) {
        if let Some(removed) = self.replicated.take_request(id) {
            // No handler has begun to work on it, and none will.
            let error = self.cancelled_error();
            let _ = self.reply_error(Caller::ANY, id, &error);
            if let Some((sub_session, _)) = removed.sub_session {
                self.leave_sub_session(Caller::ANY, sub_session);
            }
            self.reached();
        } else {
            self.tell_of_cancel(id);
        }
    }

    /// Notifies the tasks that work on a request of its cancel. Returns `false` if none does.
    fn tell_of_cancel(&mut self, id: &RequestId) -> bool {
        let Some(mailbox) = self.owed.cancel(id, &mut self.effects) else { return false };
        if let Some(mailbox) = mailbox {
            self.notify_mailbox(mailbox, Notice::Cancelled(id.clone()));
        }
        true
    }

    /// Whether a request of the peer that it has cancelled still gets its reply.
    pub(crate) fn is_reply_awaited(&self, id: &RequestId) -> bool {
        matches!(self.rules.checker().awaiting(Direction::Send, id), Awaiting::Request(_))
    }

    /// The error that says that a request was given up because the peer has cancelled it.
    pub(crate) fn cancelled_error(&self) -> RpcError {
        let code = self.rules.cancels().and_then(|(_, cancels)| cancels.reply_error);
        RpcError::new(code.unwrap_or(RpcError::INTERNAL_ERROR), "the request was cancelled")
    }

    /// What was to answer a request of the peer is gone: answers with an error, which says so, or that the peer has
    /// cancelled the request.
    pub(crate) fn reply_dropped(&mut self, caller: Caller, id: &RequestId) -> Result<(), Error> {
        let error = match self.owed.is_cancelled(id) {
            Some(true) => self.cancelled_error(),
            _ => RpcError::internal_error("the request was dropped unanswered"),
        };
        self.reply_error(caller, id, &error)
    }

    /// Whether a request of the peer was cancelled, or its answer is not wanted any more.
    pub(crate) fn is_cancelled(&self, caller: Caller, id: Option<&RequestId>) -> bool {
        if self.lifecycle.is_over() || self.lifecycle.is_lost(caller) {
            return true;
        }
        // Once this side has closed the session, only requests that are still to be answered are worked on.
        id.and_then(|id| self.owed.is_cancelled(id)).unwrap_or(self.lifecycle.is_closing())
    }

    /// Waits until a request of the peer is cancelled.
    pub(crate) fn poll_cancelled(
        &mut self,
        caller: Caller,
        context: &Context<'_>,
        waiter: &mut Waiter,
        id: Option<&RequestId>,
    ) -> Poll<()> {
        if self.is_cancelled(caller, id) {
            return Poll::Ready(());
        }
        let waits = id.is_some_and(|id| self.owed.register(id, context, waiter, &mut self.effects));
        if !waits {
            // It is answered. That can no longer be undone, but the session can still end.
            self.lifecycle.waiting().register(context, waiter, &mut self.effects);
        }
        Poll::Pending
    }

    /// A request will not be answered.
    pub(super) fn forget_owed(&mut self, id: Option<&RequestId>) {
        let Some(ended) = id.and_then(|id| self.owed.end(id, &mut self.effects)) else { return };
        self.leave_batch(ended.to.batch);
        self.outbox.settled(ended.to.tag, &mut self.effects);
    }
}
