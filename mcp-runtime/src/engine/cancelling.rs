//! Requests that are given up: cancelled by this side, overdue, or dropped; or cancelled by the peer.
//!
//! The reply to a linear request that no task waits for any more is *abandoned*. The next step is not written before it has
//! arrived: the peer would read the step in another state.

use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{About, RequestId, SubSessionNumber};

use super::owners::context::Caller;
use super::owners::mailboxes::{MailboxId, Notice};
use super::owners::trace::ExchangeOutcome;
use super::owners::wakers::Waiter;
use super::state::Engine;
use crate::error::Error;
use crate::jsonrpc::{RpcError, path, write};
use crate::rules::cancelling;

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
    /// Cancels a request of this side. `extra` are further members of the notification.
    pub(crate) fn cancel(
        &mut self,
        caller: Caller,
        id: i64,
        extra: Option<&str>,
    ) -> Result<CancelOutcome, Error> {
        self.cancel_with(caller, id, extra, Error::Cancelled)
    }

    /// The same, and says what a call then ends with.
    pub(super) fn cancel_with(
        &mut self,
        caller: Caller,
        id: i64,
        extra: Option<&str>,
        error: Error,
    ) -> Result<CancelOutcome, Error> {
        let name = RequestId::Number(id);
        if self.inbox.calls().is_complete(id) || cancelling::is_past_cancel(&self.rules, &name) {
            return Ok(CancelOutcome::TooLate);
        }
        let _protocol = self.rules.protocol().clone();
        let Some((message, cancels)) = self.rules.cancels() else { return Ok(CancelOutcome::TooLate) };
        let list = cancelling::list_of_params(&self.rules, message, &cancels);
        let params = path::set(extra.or(list.as_deref()), &cancels.id, &write::id_text(&name))
            .map_err(|error| Error::payload(&self.rules.name(message), error))?;
        if let Some(sub_session) =
            cancelling::ended_by_cancel(&self.rules, &name).filter(|_| cancels.reply_error.is_none())
        {
            self.close_within(caller, sub_session, message);
        }
        if !self.notification(caller, message, &params, About::Request(&name))? {
            return Ok(CancelOutcome::TooLate);
        }
        if cancels.reply_error.is_some() {
            return Ok(CancelOutcome::ReplyFollows);
        }
        let outcome = if matches!(error, Error::Timeout { .. }) {
            ExchangeOutcome::Timeout
        } else {
            ExchangeOutcome::Cancelled
        };
        self.traces.over(Direction::Send, &name, outcome);
        self.calls().complete(id, Err(error));
        Ok(CancelOutcome::Ended)
    }

    /// No task waits for the reply to a linear request any more. The request is cancelled if it may be. If it still gets
    /// its reply, that is abandoned. Returns the id of the request then, unless the reply is here already.
    pub(crate) fn abandon_exchange(
        &mut self,
        caller: Caller,
        request: MessageIndex,
        id: i64,
        sub_session: Option<SubSessionNumber>,
        why: Option<&Error>,
    ) -> Option<i64> {
        if cancelling::is_cancellable(&self.rules, request) {
            let reason = why.and_then(|error| cancelling::reason(&self.rules, error));
            if matches!(self.cancel(caller, id, reason.as_deref()), Ok(CancelOutcome::Ended)) {
                return None;
            }
        }
        if self.inbox.forget_reply(id, sub_session) || !self.lifecycle.is_open() {
            return None;
        }
        self.inbox.calls_mut().abandon(id);
        Some(id)
    }

    /// Cancels a request for which a value may wait.
    pub(crate) fn cancel_awaited(
        &mut self,
        caller: Caller,
        id: i64,
        extra: Option<&str>,
    ) -> Result<CancelOutcome, Error> {
        let name = RequestId::Number(id);
        if self.rules.checker().is_cancelled(Direction::Send, &name) {
            // The end of its sub-session has cancelled it.
            return Ok(CancelOutcome::ReplyFollows);
        }
        let sub_session = self.rules.checker().sub_session_of(Direction::Send, &name);
        let outcome = self.cancel(caller, id, extra)?;
        if outcome == CancelOutcome::Ended {
            self.inbox.wake_value(sub_session, &mut self.effects);
        }
        Ok(outcome)
    }

    /// The caller has dropped its call.
    pub(crate) fn let_go(&mut self, caller: Caller, id: i64) {
        if self
            .inbox
            .calls()
            .running(id)
            .is_some_and(|message| cancelling::is_cancellable(&self.rules, message))
        {
            // If it can no longer be cancelled, its reply is dropped when it comes.
            let _ = self.cancel(caller, id, None);
        }
        self.calls().forget_call(id);
    }

    /// Closes a mailbox. Its calls are dropped, and the requests that it holds are answered with an error.
    pub(crate) fn mailbox_closed(&mut self, caller: Caller, key: MailboxId) {
        for id in self.inbox.calls().of_mailbox(key) {
            self.let_go(caller, id);
        }
        for id in self.owed.held_by(key) {
            // If the session is over, no task is waiting.
            let _ = self.reply_dropped(caller, &id);
        }
        self.inbox().close_mailbox(key);
        self.leave(None);
    }

    /// A call has taken too long: it is cancelled if it may be, and ends.
    pub(super) fn overdue(&mut self, id: i64) {
        let Some((message, clock)) = self.inbox.calls_mut().take_clock(id) else { return };
        let (after, what) = clock.reached();
        let error = Error::Timeout {
            message: self.rules.name(message),
            method: self.rules.method(message),
            after,
            what,
        };
        if cancelling::is_cancellable(&self.rules, message) {
            let reason = cancelling::reason(&self.rules, &error);
            // If it can no longer be cancelled, its reply is dropped when it comes.
            let _ = self.cancel_with(Caller::ANY, id, reason.as_deref(), error.clone());
        }
        // Where it was cancelled, that is recorded already.
        self.traces.over(Direction::Send, &RequestId::Number(id), ExchangeOutcome::Timeout);
        self.calls().complete(id, Err(error));
    }

    /// The peer has cancelled a request.
    pub(super) fn cancel_came(&mut self, id: &RequestId, reply_error: Option<i64>) {
        if reply_error.is_some() {
            return self.cancel_with_reply_came(id);
        }
        // It gets no reply, so the other replies of its batch need not wait for one.
        let to = self.owed.take_route(id);
        self.leave_batch(to.batch);
        self.traces.over(Direction::Receive, id, ExchangeOutcome::Cancelled);
        if let Some(removed) = self.inbox.take_request(id) {
            // No handler has begun to work on it.
            self.owed.end(id, &mut self.effects);
            self.outbox.settled(to.tag, &mut self.effects);
            if let Some((sub_session, _)) = removed.sub_session {
                self.leave_sub_session(Caller::ANY, sub_session);
            }
            self.inbox().reached();
        } else if self.tell_of_cancel(id) {
            self.outbox.settled(to.tag, &mut self.effects);
        }
    }

    /// The same where the request still gets its reply.
    fn cancel_with_reply_came(&mut self, id: &RequestId) {
        if let Some(removed) = self.inbox.take_request(id) {
            // No handler has begun to work on it, and none will.
            let error = cancelling::error(&self.rules);
            let _ = self.reply_error(Caller::ANY, id, &error);
            if let Some((sub_session, _)) = removed.sub_session {
                self.leave_sub_session(Caller::ANY, sub_session);
            }
            self.inbox().reached();
        } else {
            self.tell_of_cancel(id);
        }
    }

    /// Notifies the tasks that work on a request of its cancel. Returns `false` if none does.
    fn tell_of_cancel(&mut self, id: &RequestId) -> bool {
        let came = self.inbox.latest();
        let Some(mailbox) = self.owed.cancel(id, came, &mut self.effects) else { return false };
        if let Some(mailbox) = mailbox {
            self.inbox().notify_mailbox_of(mailbox, came, Notice::Cancelled(id.clone()));
        }
        true
    }

    /// What was to answer a request of the peer is gone: answers with an error, which says so, or that the peer has
    /// cancelled the request.
    pub(crate) fn reply_dropped(&mut self, caller: Caller, id: &RequestId) -> Result<(), Error> {
        let error = match self.owed.is_cancelled(id) {
            Some(true) => cancelling::error(&self.rules),
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
}
