//! Requests of this side: what the tasks that wait for them take, and how they get their results.

use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::Direction;
use mcp_protocol_machine::{Awaiting, RequestId};

use super::owners::calls::{Answer, Completed, Next, Sent};
use super::owners::context::Caller;
use super::owners::mailboxes::Notice;
use super::owners::order::Held;
use super::state::Engine;
use crate::error::Error;

impl Engine {
    /// Waits for the next report on a call; `None` once there is nothing but its result.
    pub(crate) fn poll_progress(&mut self, context: &Context<'_>, id: i64) -> Poll<Option<Box<str>>> {
        if self.waits_for_call(context, id) {
            return Poll::Pending;
        }
        Poll::Ready(self.calls.take_progress(id))
    }

    /// Waits for what a call brings.
    pub(crate) fn poll_call(&mut self, caller: Caller, context: &Context<'_>, id: i64) -> Poll<Sent> {
        if self.waits_for_call(context, id) {
            return Poll::Pending;
        }
        let sent = self.calls.take_next(id);
        Poll::Ready(
            sent.unwrap_or_else(|| Sent::Done(Err(self.lifecycle.closed(caller).unwrap_or(Error::Closed)))),
        )
    }

    /// Whether a call has brought nothing so far, or nothing that is not behind something else: the task at hand is
    /// woken later.
    fn waits_for_call(&mut self, context: &Context<'_>, id: i64) -> bool {
        if let Some(Next { came, is_ordered, mut turns }) = self.calls.next(id) {
            if is_ordered || self.held_back_for(context, &mut turns, Some((came, Held::Call(id)))) {
                return false;
            }
            self.calls.set_turns(id, turns);
        }
        self.calls.wait(id, context, &mut self.effects)
    }

    /// The caller has dropped its call.
    pub(crate) fn let_go(&mut self, caller: Caller, id: i64) {
        let running = self.calls.running(id).and_then(|message| self.rules.message(message));
        if running.is_some_and(|message| message.cancellable) {
            // If it can no longer be cancelled, its reply is dropped when it comes.
            let _ = self.cancel(caller, id, None);
        }
        let clock = self.calls.forget(id, &mut self.effects);
        self.timers.stop(clock);
        if self.is_step_of_sub_session(id) {
            self.calls.abandon(id);
        }
    }

    /// Whether a reply is still to come for a request that is a step of a sub-session, and has not opened it.
    fn is_step_of_sub_session(&self, id: i64) -> bool {
        let (checker, id) = (self.rules.checker(), RequestId::Number(id));
        let is_awaited = matches!(checker.awaiting(Direction::Receive, &id), Awaiting::Request(_));
        let sub_session = checker.sub_session_of(Direction::Send, &id).filter(|_| is_awaited);
        sub_session.is_some_and(|sub_session| checker.sub_session_opener(sub_session) != Some(&id))
    }

    /// Completes a call, unless it is complete.
    pub(super) fn complete(&mut self, id: i64, result: Result<Answer, Error>) {
        self.complete_at(id, 0, result);
    }

    /// The same with what the message at hand says, behind what came before it.
    pub(super) fn complete_in_order(&mut self, id: i64, result: Result<Answer, Error>) {
        self.complete_at(id, self.order.latest(), result);
    }

    fn complete_at(&mut self, id: i64, came: u64, result: Result<Answer, Error>) {
        let Some(Completed { clock, mailbox }) = self.calls.complete(id, result, came) else { return };
        self.timers.stop(clock);
        if came == 0 || self.may_wake(Held::Call(id)) {
            self.calls.wake(id, &mut self.effects);
        }
        if let Some(mailbox) = mailbox {
            self.notify_mailbox(mailbox, Notice::Answered(id));
        }
    }
}
