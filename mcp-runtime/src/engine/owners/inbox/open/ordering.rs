//! What has reached the program, and what is held back until more has.

use std::task::{Context, Poll};
use std::time::Instant;

use super::OpenInbox;
use crate::engine::owners::order::{Held, POLL_TIMEOUT, TaskKey};
use crate::engine::owners::turns::Turns;
use crate::engine::owners::wakers::Waiter;
use crate::report::Report;

impl OpenInbox<'_> {
    /// A message has come: wakes the task that waits for it, now or as soon as the message is free.
    #[inline]
    pub(in super::super) fn came(&mut self, held: Held) {
        let most = self.most_handlers();
        if self.inbox.dispatch.may_wake(held, most) {
            self.wake(held);
        }
    }

    fn wake(&mut self, held: Held) {
        match held {
            Held::Call(id) => self.inbox.calls.wake(id, self.effects),
            Held::Linear => self.inbox.values.wake(None, self.effects),
            Held::SubSession(sub_session) => self.inbox.values.wake(Some(sub_session), self.effects),
            Held::Mailbox(key) => self.inbox.mailboxes.wake(key, self.effects),
        }
    }

    /// More has reached the program than before: the tasks that waited for that are woken.
    pub(crate) fn reached(&mut self) {
        if self.inbox.dispatch.order().holds_back() {
            let barrier = self.inbox.dispatch.barrier(self.most_handlers());
            while let Some(held) = self.inbox.dispatch.take_free(barrier) {
                self.wake(held);
            }
            self.inbox.dispatch.hear_free(barrier, self.effects);
        }
        if !self.lifecycle.is_open() && !self.inbox.dispatch.is_handing_out() {
            self.lifecycle.waiting().wake(self.effects);
            self.effects.wake_driver();
        }
    }

    /// A future has looked for a message which is held back. `true`: it is no longer.
    pub(crate) fn held_back_for(
        &mut self,
        context: &Context<'_>,
        turns: &mut Turns,
        held: Option<(u64, Held)>,
    ) -> bool {
        let is_free = |inbox: &OpenInbox<'_>| {
            held.is_some_and(|(came, _)| inbox.inbox.dispatch.is_free(came, inbox.most_handlers()))
        };
        if is_free(self) {
            return true;
        }
        let here = TaskKey::current();
        if self.inbox.dispatch.order_mut().begin_in(here) {
            self.reached();
            if is_free(self) {
                return true;
            }
        }
        if self.inbox.dispatch.could_begin(here, self.most_handlers()) {
            // The task polls this future, but maybe not the dispatcher: that is so where one of them is in a branch of
            // a `select!`, and the other in parallel. Then only this future can let it have its turn.
            if !self.inbox.dispatch.order().leave_turn(here, turns) {
                self.inbox.dispatch.order_mut().stall(Some(here));
                self.reached();
                return held.is_none() || is_free(self);
            }
            self.effects.wake(context.waker().clone());
        }
        if self.inbox.dispatch.order_mut().hold(held) {
            // There is a deadline now.
            self.effects.wake_driver();
        }
        false
    }

    /// When dispatchers are no longer waited for.
    pub(crate) fn order_deadline(&mut self) -> Option<Instant> {
        let dispatch = &mut self.inbox.dispatch;
        let waits = dispatch.order().holds_back() || (!self.lifecycle.is_open() && dispatch.is_handing_out());
        dispatch.order_mut().deadline(waits, self.now)
    }

    /// Waits no longer for dispatchers that were not polled in all the time that they had.
    pub(crate) fn stop_waiting_for_dispatchers(&mut self, now: Instant) {
        if self.inbox.dispatch.order_mut().take_expired(now) {
            self.inbox.dispatch.order_mut().stall(None);
            self.reached();
            self.effects.report(Report::NotServed { after: POLL_TIMEOUT });
        }
    }

    /// Waits until nothing waits for a dispatcher any more, in a session that is over.
    pub(crate) fn poll_settled(&mut self, context: &Context<'_>, waiter: &mut Waiter) -> Poll<()> {
        if self.order_deadline().is_none() {
            return Poll::Ready(());
        }
        self.lifecycle.waiting().register(context, waiter, self.effects);
        Poll::Pending
    }
}
