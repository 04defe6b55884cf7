//! How a session ends. Whatever ends it wakes every task that waits for it.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::owners::lifecycle::{GracePeriods, SessionEnd, Tick};
use super::owners::owed::AnsweredBy;
use super::owners::replicated::Arrived;
use super::owners::timers::Alarm;
use super::owners::wakers::Waiter;
use super::state::Engine;
use crate::driver::{End, Outcome, OutletNotice};
use crate::error::{DisconnectReason, Error};
use crate::options::Options;

impl Engine {
    /// This side closes the session: what is to be written is written, what handlers are working on is answered if
    /// that does not take too long, what still comes is dropped.
    pub(crate) fn close(&mut self) {
        if !self.lifecycle.is_live() {
            return;
        }
        // What a value would have had to answer is not waited for, nor a request that no handler will see. What the
        // handlers of a dispatcher will see is handed out to them, and notifications stay for the task that takes them.
        if !self.inbox.is_served() {
            self.drop_untaken_of(Arrived::is_asked);
        }
        for id in self.owed.ids(|owed| owed.answered_by != AnsweredBy::Handler) {
            self.forget_owed(Some(&id));
        }
        if (self.owed.is_empty() && !self.inbox.is_handing_out())
            || self.rules.options().close_grace.is_zero()
        {
            return self.over(SessionEnd::Closed);
        }
        self.lifecycle.close();
        self.inbox.early_mut().clear();
        self.traces.end(&self.lifecycle, false);
        self.fail_calls();
        self.inbox.clear_linear();
        self.inbox.sub_sessions_mut().end_all(false, &mut self.effects);
        self.wake_everyone();
    }

    /// This side lets go of the session in whatever state it is.
    pub(crate) fn abandon(&mut self) {
        if self.lifecycle.is_open() {
            self.over(SessionEnd::Abandoned);
        } else if self.lifecycle.is_answering() {
            // The peer has said everything already. What handlers are working on is still answered; what a session
            // value would have had to answer is not.
            self.inbox.early_mut().clear();
            self.inbox.clear_linear();
            self.owed.end_all(|owed| owed.answered_by == AnsweredBy::Channel, &mut self.effects);
            self.lifecycle.waiting().wake(&mut self.effects);
            self.effects.wake_driver();
        }
    }

    /// The session is over for a reason that is not this side's will.
    pub(crate) fn end(&mut self, reason: DisconnectReason) {
        if self.lifecycle.is_live() {
            self.outbox.discard(&mut self.effects);
            self.over(SessionEnd::Disconnected(reason));
        } else if self.lifecycle.is_closing() {
            self.over(SessionEnd::Closed);
        }
    }

    /// There is one more session value.
    pub(crate) fn value_made(&mut self) {
        self.lifecycle.value_made();
    }

    /// A session value is gone, for others that stand for its parts.
    pub(crate) fn value_gone(&mut self) {
        self.lifecycle.value_gone();
    }

    /// A session value is gone. `needed`: the session cannot go on without it.
    pub(crate) fn value_dropped(&mut self, needed: bool) {
        let is_last = self.lifecycle.value_gone();
        if needed || is_last {
            self.abandon();
        }
    }

    /// A session value was closed. The session is closed with it if the other channels are at an end, too, or with
    /// the last value.
    pub(crate) fn value_closed(&mut self) {
        let is_last = self.lifecycle.value_gone();
        if is_last || self.rules.checker().quiescent() {
            self.close();
        }
    }

    /// Waits until everything that was to be written has been written, or never will be.
    pub(crate) fn poll_drained(&mut self, context: &Context<'_>, waiter: &mut Waiter) -> Poll<()> {
        let lifecycle = &self.lifecycle;
        let lost = lifecycle.is_disconnected() || lifecycle.is_abandoned() || lifecycle.outcome().is_some();
        if lost || self.outbox.unwritten() == 0 {
            return Poll::Ready(());
        }
        self.lifecycle.waiting().register(context, waiter, &mut self.effects);
        Poll::Pending
    }

    /// Waits until the peer has said everything and has its answers, or the session is over.
    pub(crate) fn poll_ended(&mut self, context: &Context<'_>, waiter: &mut Waiter) -> Poll<()> {
        let answers = !self.lifecycle.is_over() && !self.owed.is_empty();
        if !self.lifecycle.is_open() && !answers {
            return self.poll_drained(context, waiter);
        }
        self.lifecycle.waiting().register(context, waiter, &mut self.effects);
        Poll::Pending
    }

    /// Waits until the peer has closed its side, or the session is over.
    pub(crate) fn poll_peer_closed(&mut self, context: &Context<'_>, waiter: &mut Waiter) -> Poll<()> {
        if self.lifecycle.is_open() {
            self.lifecycle.waiting().register(context, waiter, &mut self.effects);
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Waits until the session is over or this side closes it, from when on handlers have their grace period.
    pub(crate) fn poll_ending(&mut self, context: &Context<'_>, waiter: &mut Waiter) -> Poll<()> {
        if self.lifecycle.is_live() {
            self.lifecycle.waiting().register(context, waiter, &mut self.effects);
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    pub(super) fn over(&mut self, end: SessionEnd) {
        self.effects.report_counted();
        self.lifecycle.end(end);
        self.inbox.early_mut().clear();
        self.traces.end(&self.lifecycle, true);
        self.rules.checker_mut().close();
        self.fail_calls();
        let ended = self.lifecycle.is_disconnected();
        if ended {
            // What the peer has told before its end still counts; what it has asked cannot be answered any more.
            self.inbox.take_replicated(|arrived| arrived.id.is_some());
        } else {
            // What the peer has told before its end still counts here, too.
            let closed = self.lifecycle.is_closed();
            let attended = self.inbox.is_attended(None);
            let kept = |arrived: &Arrived| closed && (attended || arrived.scope.is_some());
            self.drop_untaken_of(|arrived| !kept(arrived) || arrived.is_asked());
            self.inbox.clear_linear();
        }
        self.inbox.sub_sessions_mut().end_all(ended, &mut self.effects);
        self.leave_batches(!ended);
        self.owed.end_all(|_| true, &mut self.effects);
        self.inbox().reached();
        self.wake_everyone();
    }

    fn fail_calls(&mut self) {
        self.timers.forget_calls();
        self.outbox.note(OutletNotice::NoneAwaited, &mut self.effects);
        self.calls().fail_calls();
    }

    pub(super) fn wake_everyone(&mut self) {
        self.inbox().wake_everyone();
        self.outbox.waiting().wake(&mut self.effects);
        self.lifecycle.waiting().wake(&mut self.effects);
        self.effects.wake_driver();
    }

    /// The peer will say nothing more.
    pub(crate) fn input_ended(&mut self, why: End) {
        if !self.lifecycle.is_open() {
            return;
        }
        let reason = DisconnectReason::from(why);
        if matches!(reason, DisconnectReason::PeerClosed) {
            // The peer may have asked and closed at once, as `echo … | server` does: it gets its answers.
            self.lifecycle.peer_closed();
            self.traces.end(&self.lifecycle, false);
            self.inbox.sub_sessions_mut().end_all(true, &mut self.effects);
            self.fail_calls();
            self.wake_everyone();
        } else {
            self.end(reason);
        }
    }

    /// Nothing more can be written.
    pub(crate) fn output_failed(&mut self, error: io::Error) {
        // A session that was closed before may have its last lines here still. They are never taken, so nothing waits
        // for them.
        self.outbox.discard(&mut self.effects);
        self.outbox.waiting().wake(&mut self.effects);
        self.lifecycle.waiting().wake(&mut self.effects);
        // What the peer has sent before it went away still counts, so the linear inputs stay; but nothing can be
        // answered, and callers should know at once. A peer that had said everything has only stopped to wait for answers.
        let reason = match self.lifecycle.is_answering() {
            true => DisconnectReason::PeerClosed,
            false => DisconnectReason::Failed(Arc::new(error)),
        };
        self.end(reason);
        self.lifecycle.written();
        self.effects.wake_driver();
    }

    /// The transport is gone.
    pub(crate) fn terminated(&mut self, outcome: Outcome) {
        // A transport that took too long is dropped, and says so after that was noted.
        if self.lifecycle.outcome().is_some() {
            return;
        }
        let reason = DisconnectReason::from(&outcome);
        if self.lifecycle.is_answering() {
            self.end(DisconnectReason::PeerClosed);
        }
        self.end(reason);
        self.outbox.transport_gone();
        self.lifecycle.gone(outcome);
        self.wake_everyone();
    }

    /// Waits until the transport is gone.
    pub(crate) fn poll_terminated(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
    ) -> Poll<Result<Outcome, Error>> {
        if self.inbox.is_handing_out() && !self.lifecycle.is_open() {
            let passed = self.inbox().held_back_for(context, &mut waiter.turns, None);
            if !passed || self.lifecycle.outcome().is_none() {
                self.lifecycle.waiting().register(context, waiter, &mut self.effects);
                return Poll::Pending;
            }
        }
        let Some(outcome) = self.lifecycle.outcome() else {
            self.lifecycle.waiting().register(context, waiter, &mut self.effects);
            return Poll::Pending;
        };
        Poll::Ready(match outcome {
            Outcome::Failed(_) | Outcome::Dropped | Outcome::TimedOut(_) => {
                Err(Error::Disconnected { reason: DisconnectReason::from(outcome) })
            }
            outcome => Ok(outcome.clone()),
        })
    }

    /// When the engine wants to know the time.
    pub(super) fn next_deadline(&mut self) -> Option<Instant> {
        if self.lifecycle.is_over() && !self.lifecycle.is_parting() {
            // What waits for a dispatcher waits for nothing else any more.
            return self.inbox().order_deadline();
        }
        let answered = self.lifecycle.is_answering() && self.owed.is_empty();
        let grace = if answered { None } else { self.lifecycle.deadline(self.timers.now()) };
        let unattended = if self.lifecycle.is_live() {
            self.inbox.unattended_deadline(self.rules.options().unattended_after)
        } else {
            None
        };
        let own = [grace, unattended, self.inbox().order_deadline()].into_iter().flatten().min();
        let due = own.into_iter().chain(self.timers.first()).min();
        self.timers.promise(due)
    }

    /// Does everything that is due.
    pub(super) fn ring(&mut self, now: Instant) {
        while let Some(alarm) = self.timers.take_due(now) {
            match alarm {
                Alarm::Call(id) => self.overdue(id),
                Alarm::Task(Some(waker)) => self.effects.wake(waker),
                Alarm::Task(None) => {}
            }
        }
    }

    /// Takes note of the time.
    pub(crate) fn tick(&mut self, now: Instant) {
        self.timers.set_now(now);
        self.timers.kept(now);
        self.ring(now);
        self.inbox().stop_waiting_for_dispatchers(now);
        if self.lifecycle.is_live() {
            self.refuse_unattended(now);
        }
        let Options { answer_grace, close_grace, abandon_grace, .. } = *self.rules.options();
        let periods =
            GracePeriods { answering: answer_grace, closing: close_grace, abandoned: abandon_grace };
        match self.lifecycle.tick(now, periods) {
            Tick::Nothing => {}
            Tick::Started => self.effects.wake_driver(),
            Tick::Expired => self.grace_over(),
        }
    }

    /// The time is over that a session had to come to its end.
    fn grace_over(&mut self) {
        if self.lifecycle.is_answering() {
            if !self.owed.is_empty() {
                // What was answered before is still written.
                self.over(SessionEnd::Disconnected(DisconnectReason::PeerClosed));
            }
        } else if self.lifecycle.is_closing() {
            if self.inbox.is_served() {
                self.drop_untaken();
            }
            self.over(SessionEnd::Closed);
        } else {
            self.lifecycle.release();
            self.effects.wake_driver();
        }
    }
}
