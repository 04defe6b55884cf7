//! Requests of this side, until their results are taken.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::task::{Context, Waker};

use mcp_protocol_machine::protocol::MessageIndex;
use mcp_protocol_machine::{IdTable, SubSessionNumber};

use super::mailboxes::MailboxId;
use super::timers::CallClock;
use super::turns::Turns;
use super::wakers::{Effects, keep};
use crate::budget::{Exhausted, Permit};
use crate::error::Error;

/// A call of this side.
#[derive(Debug)]
struct RunningCall {
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
    /// The sub-session in which it has opened an exchange, or another sub-session.
    within: Option<SubSessionNumber>,
}

impl RunningCall {
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
/// belongs to a request that is not a call any more, or never was one.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    next_id: i64,
    calls: IdTable<i64, RunningCall>,
    /// The linear requests whose replies are abandoned.
    abandoned: Vec<i64>,
}

/// What became of progress that a call received.
pub(crate) enum Progress {
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

/// A call that has got its result.
pub(crate) struct Completed {
    /// Its clock, which has stopped.
    pub(crate) clock: Option<Box<CallClock>>,
    /// The session without types that is to be notified.
    pub(crate) mailbox: Option<MailboxId>,
}

/// What a call has brought, and nothing has taken.
pub(crate) struct CallInput {
    /// The number of the message that has brought it; zero if it came from elsewhere.
    pub(crate) came: u64,
    /// It waits for no other message: none has brought it, or its mailbox was notified in order.
    pub(crate) is_ordered: bool,
    /// How often it was held back.
    pub(crate) turns: Turns,
}

impl Calls {
    /// The id of the next request.
    pub(crate) fn next_id(&self) -> i64 {
        self.next_id
    }

    /// Ids up to this one were used elsewhere.
    pub(crate) fn start_ids_at(&mut self, next: i64) {
        self.next_id = next;
    }

    /// The id of the next request is used up.
    pub(crate) fn use_id(&mut self) {
        self.next_id = self.next_id.wrapping_add(1);
    }

    /// A call was accepted.
    pub(crate) fn begin(
        &mut self,
        id: i64,
        message: MessageIndex,
        wants_progress: bool,
        bound: bool,
        within: Option<SubSessionNumber>,
    ) {
        let call = RunningCall {
            message,
            waker: None,
            result: None,
            came: 0,
            progress: wants_progress.then(VecDeque::new),
            turns: Turns::default(),
            clock: None,
            mailbox: None,
            bound,
            within,
        };
        self.calls.insert(id, call);
    }

    pub(crate) fn has(&self, id: i64) -> bool {
        self.calls.contains_key(&id)
    }

    /// Whether a call has its result.
    pub(crate) fn is_complete(&self, id: i64) -> bool {
        self.calls.get(&id).is_some_and(|call| call.result.is_some())
    }

    /// Whether the result of a call goes to a typed caller. `None`: the call does not exist.
    pub(crate) fn is_typed(&self, id: i64) -> Option<bool> {
        self.calls.get(&id).map(|call| call.mailbox.is_none())
    }

    /// Whether a call can be made once more in another epoch. `None`: the call does not exist.
    pub(crate) fn is_repeatable(&self, id: i64) -> Option<bool> {
        self.calls.get(&id).map(|call| call.result.is_none() && !call.bound)
    }

    /// The result and the progress of a call go to a mailbox.
    pub(crate) fn give_to(&mut self, id: i64, mailbox: MailboxId) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.mailbox = Some(mailbox);
            call.progress.get_or_insert_default();
        }
    }

    /// The calls of a mailbox, in the order of their ids.
    pub(crate) fn of_mailbox(&self, mailbox: MailboxId) -> Vec<i64> {
        let of = self.calls.iter().filter(|(_, call)| call.mailbox == Some(mailbox));
        let mut calls: Vec<i64> = of.map(|(id, _)| *id).collect();
        calls.sort_unstable();
        calls
    }

    /// Sets the clock of a call that has no result. Returns the clock otherwise.
    pub(crate) fn set_clock(&mut self, id: i64, clock: Box<CallClock>) -> Result<(), Box<CallClock>> {
        match self.calls.get_mut(&id).filter(|call| call.result.is_none()) {
            Some(call) => {
                call.clock = Some(clock);
                Ok(())
            }
            None => Err(clock),
        }
    }

    pub(crate) fn clock_mut(&mut self, id: i64) -> Option<&mut CallClock> {
        self.calls.get_mut(&id)?.clock.as_deref_mut()
    }

    /// The clock of a call has run out: what was called, and the clock.
    pub(crate) fn take_clock(&mut self, id: i64) -> Option<(MessageIndex, Box<CallClock>)> {
        let call = self.calls.get_mut(&id)?;
        Some((call.message, call.clock.take()?))
    }

    /// Keeps progress for a call, of which no more than `most` waits: the oldest goes first.
    pub(crate) fn add_progress(
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
    pub(crate) fn fail_all(&mut self, error: &Error, effects: &mut Effects) -> Vec<(i64, MailboxId)> {
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

    /// A call gets its result, which came with that message, unless it has one.
    pub(crate) fn complete(
        &mut self,
        id: i64,
        result: Result<Answer, Error>,
        came: u64,
    ) -> Option<Completed> {
        let call = self.calls.get_mut(&id)?;
        let clock = call.complete(result, came)?;
        Some(Completed { clock, mailbox: call.mailbox })
    }

    /// What a call has brought first of what was not taken. `None`: the call does not exist, or has brought nothing.
    pub(crate) fn next(&self, id: i64) -> Option<CallInput> {
        let call = self.calls.get(&id)?;
        let reported = call.progress.as_ref().and_then(|progress| progress.front());
        let came = reported.map(|(came, ..)| *came).or(call.result.as_ref().map(|_| call.came))?;
        Some(CallInput { came, is_ordered: call.mailbox.is_some() || came == 0, turns: call.turns })
    }

    /// What a call has brought was held back once more.
    pub(crate) fn set_turns(&mut self, id: i64, turns: Turns) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.turns = turns;
        }
    }

    /// Takes progress of a call.
    pub(crate) fn take_progress(&mut self, id: i64) -> Option<Box<str>> {
        let (_, progress, _) = self.calls.get_mut(&id)?.progress.as_mut()?.pop_front()?;
        Some(progress)
    }

    /// Takes progress of a call, or else its result, with which the call is over.
    pub(crate) fn take_next(&mut self, id: i64) -> Option<Sent> {
        let Entry::Occupied(mut entry) = self.calls.entry(id) else { return None };
        let call = entry.get_mut();
        if let Some((_, progress, _)) = call.progress.as_mut().and_then(VecDeque::pop_front) {
            return Some(Sent::Progress(progress));
        }
        let result = call.result.take()?;
        entry.remove();
        Some(Sent::Done(result))
    }

    /// A task waits for what a call brings. Returns `false` if the call does not exist.
    pub(crate) fn wait(&mut self, id: i64, context: &Context<'_>, effects: &mut Effects) -> bool {
        let Some(call) = self.calls.get_mut(&id) else { return false };
        keep(&mut call.waker, context, effects);
        true
    }

    /// Wakes the task that waits for a call.
    pub(crate) fn wake(&mut self, id: i64, effects: &mut Effects) {
        if let Some(waker) = self.calls.get_mut(&id).and_then(|call| call.waker.take()) {
            effects.wake(waker);
        }
    }

    /// The message of a call that has no result.
    pub(crate) fn running(&self, id: i64) -> Option<MessageIndex> {
        self.calls.get(&id).filter(|call| call.result.is_none()).map(|call| call.message)
    }

    /// The calls without a result that have opened something in one of these sub-sessions, in the order of their ids.
    pub(crate) fn running_within(
        &self,
        which: impl Fn(SubSessionNumber) -> bool,
    ) -> Vec<(i64, MessageIndex)> {
        let running = self.calls.iter().filter(|(_, call)| call.result.is_none());
        let within = running.filter(|(_, call)| call.within.is_some_and(&which));
        let mut within: Vec<(i64, MessageIndex)> = within.map(|(id, call)| (*id, call.message)).collect();
        within.sort_unstable();
        within
    }

    /// The caller has dropped its call. Returns its clock.
    pub(crate) fn forget(&mut self, id: i64, effects: &mut Effects) -> Option<Box<CallClock>> {
        let call = self.calls.remove(&id)?;
        if let Some(waker) = call.waker {
            effects.drop_waker(waker);
        }
        call.clock
    }

    /// The reply to a linear request is abandoned.
    pub(crate) fn abandon(&mut self, id: i64) {
        self.abandoned.push(id);
    }

    pub(crate) fn is_abandoned(&self, id: i64) -> bool {
        self.abandoned.contains(&id)
    }

    /// A reply has come. Returns whether it was abandoned.
    pub(crate) fn take_abandoned(&mut self, id: i64) -> bool {
        let place = self.abandoned.iter().position(|abandoned| *abandoned == id);
        place.map(|place| self.abandoned.swap_remove(place)).is_some()
    }

    /// Forgets the abandoned replies that will not come.
    pub(crate) fn keep_abandoned(&mut self, comes: impl Fn(i64) -> bool) {
        self.abandoned.retain(|id| comes(*id));
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::owners::mailboxes::Mailboxes;

    const MESSAGE: MessageIndex = MessageIndex(0);

    fn begun(calls: &mut Calls, wants_progress: bool) -> i64 {
        let id = calls.next_id();
        calls.use_id();
        calls.begin(id, MESSAGE, wants_progress, false, None);
        id
    }

    #[test]
    fn the_oldest_progress_goes_first_and_is_not_notified_twice() {
        let (mut calls, mut mailboxes) = (Calls::default(), Mailboxes::default());
        calls.start_ids_at(5);
        let (id, key) = (begun(&mut calls, false), mailboxes.open());
        let none = || Ok(Permit::default());
        assert!(id == 5 && matches!(calls.add_progress(id, 1, "1", none(), 1), Progress::Unwanted));
        calls.give_to(id, key);
        let first = calls.add_progress(id, 2, "2", none(), 1);
        assert!(matches!(first, Progress::Queued { is_first: true, notify: Some(_) }));
        let second = calls.add_progress(id, 3, "3", none(), 1);
        assert!(matches!(second, Progress::Queued { is_first: true, notify: None }));
        assert!(calls.next(id).is_some_and(|next| next.came == 3 && next.is_ordered));
        assert_eq!(calls.take_progress(id).as_deref(), Some("3"));
        assert!(calls.next(id).is_none() && calls.of_mailbox(key) == [5]);
        assert!(matches!(calls.add_progress(9, 4, "4", none(), 1), Progress::NoCall));
    }

    #[test]
    fn a_call_is_complete_once_and_over_when_its_result_is_taken() {
        let (mut calls, mut effects) = (Calls::default(), Effects::default());
        let (one, two) = (begun(&mut calls, false), begun(&mut calls, false));
        assert!(calls.is_repeatable(one) == Some(true) && calls.running(one) == Some(MESSAGE));
        assert!(calls.complete(one, Err(Error::Cancelled), 0).is_some());
        assert!(calls.complete(one, Err(Error::Closed), 0).is_none(), "the first result counts");
        assert!(calls.is_complete(one) && calls.is_repeatable(one) == Some(false));
        assert!(calls.running(one).is_none() && calls.take_next(two).is_none());
        assert!(matches!(calls.take_next(one), Some(Sent::Done(Err(Error::Cancelled)))));
        assert!(!calls.has(one) && !calls.wait(one, &Context::from_waker(Waker::noop()), &mut effects));
    }

    #[test]
    fn at_the_end_calls_fail_and_nothing_is_abandoned() {
        let (mut calls, mut effects) = (Calls::default(), Effects::default());
        let id = begun(&mut calls, false);
        calls.abandon(8);
        calls.abandon(9);
        calls.keep_abandoned(|id| id == 9);
        assert!(!calls.take_abandoned(8) && calls.is_abandoned(9));
        assert!(calls.fail_all(&Error::Closed, &mut effects).is_empty(), "no mailbox waits for it");
        assert!(calls.is_complete(id) && !calls.is_abandoned(9));
    }
}
