//! Requests of this side: what the tasks that wait for them take, and how they get their results.

use std::task::{Context, Poll};
use std::time::Instant;

use mcp_protocol_machine::protocol::Direction;
use mcp_protocol_machine::{Awaiting, RequestId};

use super::open::OpenInbox;
use crate::engine::owners::calls::{Answer, CallInput, Completed, Progress, Sent};
use crate::engine::owners::context::Caller;
use crate::engine::owners::mailboxes::{MailboxId, Notice};
use crate::engine::owners::order::Held;
use crate::engine::owners::timers::Timers;
use crate::engine::owners::wakers::Waiter;
use crate::error::Error;
use crate::options::CallTimeouts;
use crate::report::{DropReason, Report};

/// The calls in the inbox, with the time that they may take.
///
/// Invariant: the clock of a call stops when the call gets its result, or is forgotten.
pub(crate) struct OpenCalls<'e> {
    open: OpenInbox<'e>,
    timers: &'e mut Timers,
}

impl<'e> OpenCalls<'e> {
    #[inline]
    pub(crate) fn new(open: OpenInbox<'e>, timers: &'e mut Timers) -> OpenCalls<'e> {
        OpenCalls { open, timers }
    }

    /// Waits for the next report on a call; `None` once there is nothing but its result.
    pub(crate) fn poll_progress(&mut self, context: &Context<'_>, id: i64) -> Poll<Option<Box<str>>> {
        if self.waits_for_call(context, id) {
            return Poll::Pending;
        }
        Poll::Ready(self.open.inbox.calls_mut().take_progress(id))
    }

    /// Waits for what a call brings.
    pub(crate) fn poll_call(&mut self, caller: Caller, context: &Context<'_>, id: i64) -> Poll<Sent> {
        if self.waits_for_call(context, id) {
            return Poll::Pending;
        }
        let sent = self.open.inbox.calls_mut().take_next(id);
        let closed = || Sent::Done(Err(self.open.lifecycle.closed(caller).unwrap_or(Error::Closed)));
        Poll::Ready(sent.unwrap_or_else(closed))
    }

    /// Whether a call has brought nothing so far, or nothing that is not behind something else: the task at hand is
    /// woken later.
    #[inline]
    fn waits_for_call(&mut self, context: &Context<'_>, id: i64) -> bool {
        if let Some(CallInput { came, is_ordered, mut turns }) = self.open.inbox.calls().next(id) {
            if is_ordered || self.open.held_back_for(context, &mut turns, Some((came, Held::Call(id)))) {
                return false;
            }
            self.open.inbox.calls_mut().set_turns(id, turns);
        }
        self.open.inbox.calls_mut().wait(id, context, self.open.effects)
    }

    /// The caller has dropped its call. The reply to a step of a sub-session that has not opened it is still to come, and
    /// is abandoned.
    pub(crate) fn forget_call(&mut self, id: i64) {
        let clock = self.open.inbox.calls_mut().forget(id, self.open.effects);
        self.timers.stop(clock);
        let (checker, name) = (self.open.rules.checker(), RequestId::Number(id));
        let is_awaited = matches!(checker.awaiting(Direction::Receive, &name), Awaiting::Request(_));
        let sub_session = checker.sub_session_of(Direction::Send, &name).filter(|_| is_awaited);
        if sub_session.is_some_and(|sub_session| checker.sub_session_opener(sub_session) != Some(&name)) {
            self.open.inbox.calls_mut().abandon(id);
        }
    }

    /// Completes a call, unless it is complete.
    pub(crate) fn complete(&mut self, id: i64, result: Result<Answer, Error>) {
        self.complete_at(id, 0, result);
    }

    /// The same with what the message at hand says, behind what came before it.
    pub(crate) fn complete_in_order(&mut self, id: i64, result: Result<Answer, Error>) {
        self.complete_at(id, self.open.inbox.latest(), result);
    }

    fn complete_at(&mut self, id: i64, came: u64, result: Result<Answer, Error>) {
        let Some(Completed { clock, mailbox }) = self.open.inbox.calls_mut().complete(id, result, came)
        else {
            return;
        };
        self.timers.stop(clock);
        if came == 0 {
            self.open.inbox.calls_mut().wake(id, self.open.effects);
        } else {
            self.open.came(Held::Call(id));
        }
        if let Some(mailbox) = mailbox {
            self.open.notify_mailbox(mailbox, Notice::Answered(id));
        }
    }

    /// Every call fails that has no result: no reply comes any more.
    pub(crate) fn fail_calls(&mut self) {
        let error = self.open.lifecycle.error().unwrap_or(Error::Closed);
        for (id, mailbox) in self.open.inbox.calls_mut().fail_all(&error, self.open.effects) {
            self.open.notify_mailbox(mailbox, Notice::Answered(id));
        }
    }

    /// Progress of a request of this side has come.
    pub(crate) fn progress_came(&mut self, id: i64, params: Option<&str>) {
        if let Some(clock) = self.open.inbox.calls_mut().clock_mut(id) {
            self.timers.restart(id, clock);
        }
        let most = self.open.rules.options().max_progress;
        let permit = self.open.inbox.count(params.map_or(0, str::len));
        let text = params.unwrap_or("null");
        let came = self.open.inbox.latest();
        match self.open.inbox.calls_mut().add_progress(id, came, text, permit, most) {
            Progress::NoCall => self.open.sub_session_reported(id, text),
            Progress::Unwanted => {}
            Progress::TooLarge(message) => {
                let message = self.open.rules.name(message);
                self.open.effects.report(Report::Dropped { message, cause: DropReason::TooManyBytes });
            }
            Progress::Queued { is_first, notify } => {
                // Behind other progress it is found with that.
                if is_first {
                    self.open.came(Held::Call(id));
                }
                if let Some(mailbox) = notify {
                    self.open.notify_mailbox(mailbox, Notice::Progress(id));
                }
            }
        }
    }

    /// A call that was just written may take so long, counted from when it was made.
    pub(crate) fn limit_call(&mut self, id: i64, started: Instant, timeouts: CallTimeouts) {
        if let Some(clock) = self.timers.start(id, started, timeouts, self.open.effects)
            && let Err(clock) = self.open.inbox.calls_mut().set_clock(id, clock)
        {
            self.timers.stop(Some(clock));
        }
    }

    /// A reply has arrived: whether it was abandoned. The task that waits for that goes on.
    pub(crate) fn abandoned_reply_came(&mut self, id: &RequestId) -> bool {
        let RequestId::Number(id) = id else { return false };
        let is_abandoned = self.open.inbox.calls_mut().take_abandoned(*id);
        if is_abandoned {
            self.open.inbox.wake_value(None, self.open.effects);
        }
        is_abandoned
    }

    /// The peer has lost the session: abandoned replies that the checker does not wait for any more will not come.
    pub(crate) fn forget_abandoned(&mut self) {
        let checker = self.open.rules.checker();
        self.open.inbox.calls_mut().keep_abandoned(|id| {
            let id = RequestId::Number(id);
            matches!(checker.awaiting(Direction::Receive, &id), Awaiting::Request(_))
        });
        self.open.inbox.wake_value(None, self.open.effects);
    }

    /// Waits until an abandoned reply has arrived.
    pub(crate) fn poll_abandoned(
        &mut self,
        caller: Caller,
        context: &Context<'_>,
        waiter: &mut Waiter,
        id: i64,
    ) -> Poll<Result<(), Error>> {
        if let Some(error) = self.open.lifecycle.closed(caller) {
            return Poll::Ready(Err(error));
        }
        if !self.open.inbox.calls().is_abandoned(id) {
            return Poll::Ready(Ok(()));
        }
        self.open.inbox.register_value(None, context, waiter, self.open.effects);
        Poll::Pending
    }

    /// The result of a call goes to a mailbox, and so does its progress.
    pub(crate) fn asked_by(&mut self, id: i64, key: MailboxId) {
        self.open.inbox.calls_mut().give_to(id, key);
    }

    /// The calls of a mailbox.
    pub(crate) fn calls_of(&self, key: MailboxId) -> Vec<i64> {
        self.open.inbox.calls().of_mailbox(key)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;
    use std::time::Duration;

    use super::*;
    use crate::engine::owners::inbox::open::tests::Parts;
    use crate::engine::tests::desk;
    use crate::options::Options;

    const SECOND: Duration = Duration::from_secs(1);

    /// A call that runs, and may take a second.
    fn call(parts: &mut Parts, now: Instant) -> i64 {
        let id = parts.inbox.calls().next_id();
        parts.inbox.calls_mut().use_id();
        parts.inbox.calls_mut().begin(id, desk::messages::LOOK, true, false, None);
        let timeouts = CallTimeouts { most: Some(SECOND), ..CallTimeouts::default() };
        parts.calls().limit_call(id, now, timeouts);
        id
    }

    fn poll(parts: &mut Parts, id: i64) -> Poll<Sent> {
        parts.calls().poll_call(Caller::ANY, &Context::from_waker(Waker::noop()), id)
    }

    #[test]
    fn the_clock_of_a_call_stops_with_its_result_or_its_caller() {
        let (mut parts, now) = (Parts::new(Options::new()), Instant::now());
        let (one, two) = (call(&mut parts, now), call(&mut parts, now));
        assert!(poll(&mut parts, one).is_pending());
        assert_eq!(parts.timers.first(), Some(now + SECOND));
        parts.calls().complete(one, Err(Error::Cancelled));
        assert!(parts.effects.take().is_some(), "the task is woken");
        assert!(matches!(poll(&mut parts, one), Poll::Ready(Sent::Done(Err(Error::Cancelled)))));
        assert!(parts.timers.first().is_some());
        parts.calls().forget_call(two);
        assert!(parts.timers.first().is_none() && parts.inbox.calls().is_empty());
    }

    #[test]
    fn progress_comes_before_the_result_and_the_first_result_counts() {
        let (mut parts, now) = (Parts::new(Options::new()), Instant::now());
        let id = call(&mut parts, now);
        parts.inbox.next_message();
        parts.calls().progress_came(id, Some("1"));
        parts.inbox.next_message();
        let answer = Answer { message: desk::messages::LOOK, text: "2".into() };
        parts.calls().complete_in_order(id, Ok(answer));
        parts.calls().complete(id, Err(Error::Closed));
        assert!(matches!(poll(&mut parts, id), Poll::Ready(Sent::Progress(report)) if *report == *"1"));
        assert!(matches!(poll(&mut parts, id), Poll::Ready(Sent::Done(Ok(answer))) if *answer.text == *"2"));
    }

    #[test]
    fn calls_fail_at_the_end_and_nothing_is_abandoned_any_more() {
        let (mut parts, now) = (Parts::new(Options::new()), Instant::now());
        let id = call(&mut parts, now);
        parts.inbox.calls_mut().abandon(9);
        let wait = |parts: &mut Parts| {
            let context = Context::from_waker(Waker::noop());
            parts.calls().poll_abandoned(Caller::ANY, &context, &mut Waiter::default(), 9)
        };
        assert!(wait(&mut parts).is_pending());
        assert!(parts.calls().abandoned_reply_came(&RequestId::Number(9)));
        assert!(matches!(wait(&mut parts), Poll::Ready(Ok(()))));
        parts.lifecycle.close();
        parts.calls().fail_calls();
        assert!(matches!(poll(&mut parts, id), Poll::Ready(Sent::Done(Err(Error::Closed)))));
        assert!(matches!(wait(&mut parts), Poll::Ready(Err(Error::Closed))));
    }
}
