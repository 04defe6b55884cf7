//! Abandoned replies: those to linear requests that no task waits for any more.
//!
//! The next step is not written before such a reply has arrived: the peer would read it in another state.

use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{Awaiting, RequestId, SubSessionNumber};

use super::owed::CancelOutcome;
use super::owners::context::Caller;
use super::owners::wakers::Waiter;
use super::state::Engine;
use crate::error::Error;

impl Engine {
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
        if self.rules.message(request).is_some_and(|message| message.cancellable) {
            let reason = why.and_then(|error| self.reason(error));
            if matches!(self.cancel(caller, id, reason.as_deref()), Ok(CancelOutcome::Ended)) {
                return None;
            }
        }
        if self.forget_reply(id, sub_session) || !self.lifecycle.is_open() {
            return None;
        }
        self.calls.abandon(id);
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
        match sub_session {
            _ if outcome != CancelOutcome::Ended => {}
            Some(sub_session) => self.sub_sessions.wake(sub_session, &mut self.effects),
            None => self.linear.waiting().wake(&mut self.effects),
        }
        Ok(outcome)
    }

    /// A reply has arrived: whether it was abandoned.
    pub(super) fn abandoned_reply_came(&mut self, id: &RequestId) -> bool {
        let RequestId::Number(id) = id else { return false };
        let is_abandoned = self.calls.take_abandoned(*id);
        if is_abandoned {
            self.linear.waiting().wake(&mut self.effects);
        }
        is_abandoned
    }

    /// The peer has lost the session: what the checker does not wait for any more will not come.
    pub(super) fn forget_abandoned(&mut self) {
        let checker = &self.rules.checker();
        self.calls.keep_abandoned(|id| {
            let id = RequestId::Number(id);
            matches!(checker.awaiting(Direction::Receive, &id), Awaiting::Request(_))
        });
        self.linear.waiting().wake(&mut self.effects);
    }

    /// Waits until an abandoned reply has arrived.
    pub(crate) fn poll_abandoned(
        &mut self,
        caller: Caller,
        context: &Context<'_>,
        waiter: &mut Waiter,
        id: i64,
    ) -> Poll<Result<(), Error>> {
        if let Some(error) = self.lifecycle.closed(caller) {
            return Poll::Ready(Err(error));
        }
        if !self.calls.is_abandoned(id) {
            return Poll::Ready(Ok(()));
        }
        self.linear.waiting().register(context, waiter, &mut self.effects);
        Poll::Pending
    }
}
