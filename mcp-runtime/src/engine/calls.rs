//! Requests of this side, until their results are taken.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use mcp_protocol_machine::IdTable;
use mcp_protocol_machine::protocol::MessageIndex;

use super::context::Caller;
use super::mailboxes::{MailboxId, Notice};
use super::order::{Held, Turns};
use super::state::Engine;
use super::timers::CallClock;
use super::wakers::{Effects, keep};
use crate::budget::{Exhausted, Permit};
use crate::error::Error;

/// A call of this side.
#[derive(Debug)]
struct Pending {
    message: MessageIndex,
    waker: Option<Waker>,
    result: Option<Result<Answer, Error>>,
    /// The number of the message that has brought the result; zero if it came from elsewhere.
    came: u64,
    /// Progress that has come in and not been taken, if the caller wants it, with the numbers of the messages.
    progress: Option<VecDeque<(u64, Box<str>, Permit)>>,
    /// How often it was polled while it was held back.
    turns: Turns,
    /// How long it may take, if there is an end to that.
    clock: Option<Box<CallClock>>,
    /// The session without types that waits for it, if one does.
    mailbox: Option<MailboxId>,
    /// The caller works on something of this epoch: in another one the call means nothing.
    bound: bool,
}

impl Pending {
    /// The call gets its result, unless it has one. Its clock stops.
    fn complete(&mut self, result: Result<Answer, Error>, came: u64) -> Option<Option<Box<CallClock>>> {
        if self.result.is_some() {
            return None;
        }
        self.result = Some(result);
        self.came = came;
        Some(self.clock.take())
    }
}

/// The requests of this side for which more is kept than the checker keeps: calls, until their results are taken, and
/// abandoned replies.
///
/// Invariants: ids count up, so none is used twice. A call has a clock only while it has no result. An abandoned reply
/// belongs to a request that is not a call.
#[derive(Debug, Default)]
pub(super) struct Calls {
    next_id: i64,
    calls: IdTable<i64, Pending>,
    /// The linear requests whose replies are abandoned.
    abandoned: Vec<i64>,
}

/// What became of progress that a call received.
pub(super) enum Progress {
    /// The call does not exist.
    NoCall,
    /// The caller does not want it.
    Unwanted,
    /// It has too many bytes; this is the message that was called.
    TooLarge(MessageIndex),
    /// It waits to be taken.
    Queued {
        /// Nothing waited before it.
        is_first: bool,
        /// The session without types that is to be notified.
        notify: Option<MailboxId>,
    },
}

impl Calls {
    /// The id of the next request.
    pub(super) fn next_id(&self) -> i64 {
        self.next_id
    }

    /// The session began elsewhere, where ids up to this one were used.
    pub(super) fn start_ids_at(&mut self, next: i64) {
        self.next_id = next;
    }

    /// The id of the next request is used up.
    pub(super) fn use_id(&mut self) {
        self.next_id = self.next_id.wrapping_add(1);
    }

    /// A call was accepted.
    pub(super) fn begin(&mut self, id: i64, message: MessageIndex, wants_progress: bool, bound: bool) {
        let call = Pending {
            message,
            waker: None,
            result: None,
            came: 0,
            progress: wants_progress.then(VecDeque::new),
            turns: Turns::default(),
            clock: None,
            mailbox: None,
            bound,
        };
        self.calls.insert(id, call);
    }

    pub(super) fn has(&self, id: i64) -> bool {
        self.calls.contains_key(&id)
    }

    /// Whether a call has its result.
    pub(super) fn is_complete(&self, id: i64) -> bool {
        self.calls.get(&id).is_some_and(|call| call.result.is_some())
    }

    /// Whether the result of a call goes to a typed caller.
    pub(super) fn is_typed(&self, id: i64) -> bool {
        self.calls.get(&id).is_some_and(|call| call.mailbox.is_none())
    }

    /// Whether a call can be made once more in another epoch. `None`: the call does not exist.
    pub(super) fn is_repeatable(&self, id: i64) -> Option<bool> {
        self.calls.get(&id).map(|call| call.result.is_none() && !call.bound)
    }

    /// The result and the progress of a call go to a mailbox.
    pub(super) fn give_to(&mut self, id: i64, mailbox: MailboxId) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.mailbox = Some(mailbox);
            call.progress.get_or_insert_default();
        }
    }

    /// The calls of a mailbox, in the order of their ids.
    pub(super) fn of_mailbox(&self, mailbox: MailboxId) -> Vec<i64> {
        let of = self.calls.iter().filter(|(_, call)| call.mailbox == Some(mailbox));
        let mut calls: Vec<i64> = of.map(|(id, _)| *id).collect();
        calls.sort_unstable();
        calls
    }

    /// Sets the clock of a call that has no result. Returns the clock otherwise.
    pub(super) fn set_clock(&mut self, id: i64, clock: Box<CallClock>) -> Result<(), Box<CallClock>> {
        match self.calls.get_mut(&id).filter(|call| call.result.is_none()) {
            Some(call) => {
                call.clock = Some(clock);
                Ok(())
            }
            None => Err(clock),
        }
    }

    pub(super) fn clock_mut(&mut self, id: i64) -> Option<&mut CallClock> {
        self.calls.get_mut(&id)?.clock.as_deref_mut()
    }

    /// The clock of a call has run out: what was called, and the clock.
    pub(super) fn take_clock(&mut self, id: i64) -> Option<(MessageIndex, Box<CallClock>)> {
        let call = self.calls.get_mut(&id)?;
        Some((call.message, call.clock.take()?))
    }

    /// Keeps progress for a call, of which no more than `most` waits: the oldest goes first.
    pub(super) fn add_progress(
        &mut self,
        id: i64,
        came: u64,
        text: &str,
        permit: Result<Permit, Exhausted>,
        most: usize,
    ) -> Progress {
        let Some(call) = self.calls.get_mut(&id) else { return Progress::NoCall };
        let Some(progress) = &mut call.progress else { return Progress::Unwanted };
        let Ok(permit) = permit else { return Progress::TooLarge(call.message) };
        // A mailbox was notified of the one that goes, and finds this one by that notice.
        let is_notified = progress.len() >= most && progress.pop_front().is_some();
        let is_first = progress.is_empty();
        progress.push_back((came, text.into(), permit));
        Progress::Queued { is_first, notify: call.mailbox.filter(|_| !is_notified) }
    }

    /// No reply comes any more: every call fails that has no result, and nothing is abandoned. Returns the calls whose
    /// mailboxes are to be notified, in the order of their ids.
    pub(super) fn fail_all(&mut self, error: &Error, effects: &mut Effects) -> Vec<(i64, MailboxId)> {
        self.abandoned.clear();
        let mut notify = Vec::new();
        for (id, call) in &mut self.calls {
            if call.complete(Err(error.clone()), 0).is_some() {
                if let Some(waker) = call.waker.take() {
                    effects.wake(waker);
                }
                notify.extend(call.mailbox.map(|mailbox| (*id, mailbox)));
            }
        }
        notify.sort_unstable();
        notify
    }

    /// The reply to a linear request is abandoned.
    pub(super) fn abandon(&mut self, id: i64) {
        self.abandoned.push(id);
    }

    pub(super) fn is_abandoned(&self, id: i64) -> bool {
        self.abandoned.contains(&id)
    }

    /// A reply has come. Returns whether it was abandoned.
    pub(super) fn take_abandoned(&mut self, id: i64) -> bool {
        let place = self.abandoned.iter().position(|abandoned| *abandoned == id);
        place.map(|place| self.abandoned.swap_remove(place)).is_some()
    }

    /// Forgets the abandoned replies that will not come.
    pub(super) fn keep_abandoned(&mut self, comes: impl Fn(i64) -> bool) {
        self.abandoned.retain(|id| comes(*id));
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

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
                if let Some(pending) = self.calls.calls.get_mut(&id) {
                    pending.result = Some(result);
                }
                Poll::Ready(None)
            }
            None if self.calls.has(id) => Poll::Pending,
            None => Poll::Ready(None),
        }
    }

    /// Waits for what a call brings.
    pub(crate) fn poll_call(&mut self, caller: Caller, context: &Context<'_>, id: i64) -> Poll<Sent> {
        match self.next_of_call(context, id) {
            Some(sent) => {
                if matches!(sent, Sent::Done(_)) {
                    self.calls.calls.remove(&id);
                }
                Poll::Ready(sent)
            }
            None if self.calls.has(id) => Poll::Pending,
            None => Poll::Ready(Sent::Done(Err(self.closed(caller).unwrap_or(Error::Closed)))),
        }
    }

    /// Takes what a call has brought, in the order in which it came. `None`: nothing so far, or nothing that is not
    /// behind something else; the task at hand is woken later.
    fn next_of_call(&mut self, context: &Context<'_>, id: i64) -> Option<Sent> {
        let pending = self.calls.calls.get(&id)?;
        let reported = pending.progress.as_ref().and_then(|progress| progress.front());
        let came = reported.map(|(came, ..)| *came).or(pending.result.as_ref().map(|_| pending.came));
        // A session without types has seen to the order already.
        let (mut turns, seen_to) = (pending.turns, pending.mailbox.is_some());
        let free = came.is_some_and(|came| {
            seen_to || came == 0 || self.held_back_for(context, &mut turns, Some((came, Held::Call(id))))
        });
        let pending = self.calls.calls.get_mut(&id)?;
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
        let Some(pending) = self.calls.calls.get_mut(&id) else { return };
        keep(&mut pending.waker, context, &mut self.effects);
    }

    /// The caller has dropped its call.
    pub(crate) fn let_go(&mut self, caller: Caller, id: i64) {
        let Some(pending) = self.calls.calls.get(&id) else { return };
        let running = pending.result.is_none();
        let cancellable = self.message(pending.message).is_some_and(|message| message.cancellable);
        if running && cancellable {
            // If it can no longer be cancelled, its reply is dropped when it comes.
            let _ = self.cancel(caller, id, None);
        }
        let Some(pending) = self.calls.calls.remove(&id) else { return };
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
        self.complete_at(id, self.order.latest(), result);
    }

    fn complete_at(&mut self, id: i64, came: u64, result: Result<Answer, Error>) {
        let Some(call) = self.calls.calls.get_mut(&id) else { return };
        let Some(clock) = call.complete(result, came) else { return };
        let mailbox = call.mailbox;
        self.timers.stop(clock);
        if came == 0 || self.may_wake(Held::Call(id)) {
            self.wake_call(id);
        }
        if let Some(mailbox) = mailbox {
            self.notify_mailbox(mailbox, Notice::Answered(id));
        }
    }

    /// Wakes the task that waits for a call.
    pub(super) fn wake_call(&mut self, id: i64) {
        if let Some(waker) = self.calls.calls.get_mut(&id).and_then(|pending| pending.waker.take()) {
            self.effects.wake(waker);
        }
    }
}
