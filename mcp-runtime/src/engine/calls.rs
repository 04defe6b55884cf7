//! Calls of this side, from when they are written until somebody has taken their results.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use mcp_protocol_machine::IdTable;
use mcp_protocol_machine::protocol::MessageIndex;

use super::context::Caller;
use super::mailboxes::{MailboxId, Notice};
use super::order::{Held, Turns};
use super::state::Engine;
use super::timers::Clock;
use super::wakers::keep;
use crate::budget::Permit;
use crate::error::Error;

/// A call of this side.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(super) message: MessageIndex,
    pub(super) waker: Option<Waker>,
    pub(super) result: Option<Result<Answer, Error>>,
    /// The number of the message that has brought the result; zero if it came from elsewhere.
    pub(super) came: u64,
    /// Progress that has come in and not been taken, if anyone wants it, with the numbers of the messages.
    pub(super) progress: Option<VecDeque<(u64, Box<str>, Permit)>>,
    /// How often it was polled while it was held back.
    pub(super) turns: Turns,
    /// How long it may take, if there is an end to that.
    pub(super) clock: Option<Box<Clock>>,
    /// The session without types that waits for it, if one does.
    pub(super) mailbox: Option<MailboxId>,
    /// The caller works on something of this epoch: in another one the call means nothing.
    pub(super) bound: bool,
}

/// The calls by id.
pub(crate) type Calls = IdTable<i64, Pending>;

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Which of the replies it is.
    pub(crate) message: MessageIndex,
    pub(crate) text: Box<str>,
}

/// What became of a call so far.
#[derive(Debug)]
pub(crate) enum Sent {
    /// It is complete.
    Done(Result<Answer, Error>),
    /// A report came in; there may be more.
    Progress(Box<str>),
}

impl Engine {
    /// Waits for the next report on a call; `None` once there is nothing but its result.
    pub(crate) fn poll_progress(&mut self, context: &Context<'_>, id: i64) -> Poll<Option<Box<str>>> {
        match self.next_of_call(context, id) {
            Some(Sent::Progress(progress)) => Poll::Ready(Some(progress)),
            Some(Sent::Done(result)) => {
                if let Some(pending) = self.calls.get_mut(&id) {
                    pending.result = Some(result);
                }
                Poll::Ready(None)
            }
            None if self.calls.contains_key(&id) => Poll::Pending,
            None => Poll::Ready(None),
        }
    }

    /// Waits for what a call brings.
    pub(crate) fn poll_call(&mut self, caller: Caller, context: &Context<'_>, id: i64) -> Poll<Sent> {
        match self.next_of_call(context, id) {
            Some(sent) => {
                if matches!(sent, Sent::Done(_)) {
                    self.calls.remove(&id);
                }
                Poll::Ready(sent)
            }
            None if self.calls.contains_key(&id) => Poll::Pending,
            None => Poll::Ready(Sent::Done(Err(self.closed(caller).unwrap_or(Error::Closed)))),
        }
    }

    /// Takes what a call has brought, in the order in which it came. `None`: nothing so far, or nothing that is not
    /// behind something else; the task at hand is woken later.
    fn next_of_call(&mut self, context: &Context<'_>, id: i64) -> Option<Sent> {
        let pending = self.calls.get(&id)?;
        let reported = pending.progress.as_ref().and_then(|progress| progress.front());
        let came = reported.map(|(came, ..)| *came).or(pending.result.as_ref().map(|_| pending.came));
        // A session without types has seen to the order already.
        let (mut turns, seen_to) = (pending.turns, pending.mailbox.is_some());
        let free = came.is_some_and(|came| {
            seen_to || came == 0 || self.held_back_for(context, &mut turns, Some((came, Held::Call(id))))
        });
        let pending = self.calls.get_mut(&id)?;
        pending.turns = turns;
        if !free {
            self.wait_for_call(context, id);
            return None;
        }
        match pending.progress.as_mut().and_then(VecDeque::pop_front) {
            Some((_, progress, _)) => Some(Sent::Progress(progress)),
            None => pending.result.take().map(Sent::Done),
        }
    }

    fn wait_for_call(&mut self, context: &Context<'_>, id: i64) {
        let Some(pending) = self.calls.get_mut(&id) else { return };
        keep(&mut pending.waker, context, &mut self.effects);
    }

    /// The caller has dropped its call.
    pub(crate) fn let_go(&mut self, caller: Caller, id: i64) {
        let Some(pending) = self.calls.get(&id) else { return };
        let running = pending.result.is_none();
        let cancellable = self.message(pending.message).is_some_and(|message| message.cancellable);
        if running && cancellable {
            // If it can no longer be cancelled, its reply is dropped when it comes.
            let _ = self.cancel(caller, id, None);
        }
        let Some(pending) = self.calls.remove(&id) else { return };
        self.timers.stop(pending.clock);
        if let Some(waker) = pending.waker {
            self.effects.drop_waker(waker);
        }
    }

    /// Completes a call, unless it is complete.
    pub(super) fn complete(&mut self, id: i64, result: Result<Answer, Error>) {
        self.complete_at(id, 0, result);
    }

    /// The same with what the message at hand says, behind what came before it.
    pub(super) fn complete_in_order(&mut self, id: i64, result: Result<Answer, Error>) {
        self.complete_at(id, self.came, result);
    }

    fn complete_at(&mut self, id: i64, came: u64, result: Result<Answer, Error>) {
        let Some(pending) = self.calls.get_mut(&id).filter(|pending| pending.result.is_none()) else {
            return;
        };
        pending.result = Some(result);
        pending.came = came;
        self.timers.stop(pending.clock.take());
        let mailbox = pending.mailbox;
        if came == 0 || self.may_wake(Held::Call(id)) {
            self.wake_call(id);
        }
        if let Some(mailbox) = mailbox {
            self.notify_mailbox(mailbox, Notice::Answered(id));
        }
    }

    /// Wakes the task that waits for a call.
    pub(super) fn wake_call(&mut self, id: i64) {
        if let Some(waker) = self.calls.get_mut(&id).and_then(|pending| pending.waker.take()) {
            self.effects.wake(waker);
        }
    }
}
