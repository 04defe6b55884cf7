//! Messages reach the program in the order in which they came: what is held back for dispatchers, and until when.

use std::task::{Context, Poll};
use std::time::Instant;

use mcp_protocol_machine::protocol::Direction;

use super::owners::order::{DispatcherKey, Held, POLL_TIMEOUT, TaskKey};
use super::owners::replicated::Scope;
use super::owners::turns::Turns;
use super::owners::wakers::{Listener, Waiter};
use super::state::Engine;
use crate::report::Report;

impl Engine {
    /// There is one more dispatcher.
    pub(crate) fn dispatcher_began(&mut self, scope: Scope) -> DispatcherKey {
        self.order.dispatcher_began(scope)
    }

    /// A dispatcher is gone, and nothing waits for it any more.
    pub(crate) fn dispatcher_left(&mut self, key: DispatcherKey) {
        self.order.dispatcher_left(key);
        self.replicated.waiting().wake(&mut self.effects);
        self.reached();
    }

    /// A dispatcher is polled: what it has taken before has begun.
    pub(super) fn dispatcher_polled(&mut self, key: DispatcherKey, handlers: usize, notified: bool) {
        let begun = self.order.dispatcher_polled(key, handlers, notified);
        if begun && self.replicated.has_several_attendants() {
            // Others that take inputs have waited for that.
            self.replicated.waiting().wake(&mut self.effects);
        }
    }

    /// Each request of this side that waits for its reply makes room for one more handler: the peer may have to ask
    /// something before it can answer.
    pub(super) fn most_handlers(&self) -> usize {
        self.rules.options().max_handlers.max(1).saturating_add(self.rules.checker().running(Direction::Send))
    }

    /// The number of the first message that has not reached the program.
    pub(super) fn barrier(&self) -> u64 {
        self.order.barrier(&self.replicated, self.most_handlers())
    }

    /// A message has come: whether the task that waits for it is woken at once. If not, that is done later.
    pub(super) fn may_wake(&mut self, held: Held) -> bool {
        let barrier = self.barrier();
        self.order.may_wake(held, barrier)
    }

    /// A report on a sub-session has come, which is heard at once or later.
    pub(super) fn hear_in_order(&mut self, listener: Listener, report: Box<str>) {
        if self.order.latest() < self.barrier() {
            return self.effects.tell(listener, report);
        }
        if let Some(oldest) = self.order.hear_later(listener, report, self.rules.options().max_progress) {
            self.effects.let_go(oldest);
        }
    }

    /// A future has looked for a message which is held back. `true`: it is no longer.
    pub(super) fn held_back_for(
        &mut self,
        context: &Context<'_>,
        turns: &mut Turns,
        held: Option<(u64, Held)>,
    ) -> bool {
        let is_free = |engine: &Engine| held.is_some_and(|(came, _)| came < engine.barrier());
        if is_free(self) {
            return true;
        }
        let here = TaskKey::current();
        if self.order.begin_in(here) {
            self.reached();
            if is_free(self) {
                return true;
            }
        }
        if self.order.could_begin(here, &self.replicated, self.most_handlers()) {
            // The task polls this future, but maybe not the dispatcher: that is so where one of them is in a branch of
            // a `select!`, and the other in parallel. Then only this future can let it have its turn.
            if !self.order.leave_turn(here, turns) {
                self.order.stall(Some(here));
                self.reached();
                return held.is_none() || is_free(self);
            }
            self.effects.wake(context.waker().clone());
        }
        if self.order.hold(held) {
            // There is a deadline now.
            self.effects.wake_driver();
        }
        false
    }

    /// Waits until nothing waits for a dispatcher any more, in a session that is over.
    pub(crate) fn poll_settled(&mut self, context: &Context<'_>, waiter: &mut Waiter) -> Poll<()> {
        if self.order_deadline().is_none() {
            return Poll::Ready(());
        }
        self.lifecycle.waiting().register(context, waiter, &mut self.effects);
        Poll::Pending
    }

    /// More has reached the program than before: who waited for that goes on.
    pub(super) fn reached(&mut self) {
        if self.order.holds_back() {
            let barrier = self.barrier();
            while let Some(held) = self.order.take_held(barrier) {
                self.wake_held(held);
            }
            while let Some((listener, report)) = self.order.take_heard(barrier) {
                self.effects.tell(listener, report);
            }
        }
        if !self.lifecycle.is_open() && !self.is_handing_out() {
            self.lifecycle.waiting().wake(&mut self.effects);
            self.effects.wake_driver();
        }
    }

    fn wake_held(&mut self, held: Held) {
        match held {
            Held::Call(id) => self.calls.wake(id, &mut self.effects),
            Held::Linear => self.linear.waiting().wake(&mut self.effects),
            Held::SubSession(sub_session) => self.sub_sessions.wake(sub_session, &mut self.effects),
            Held::Mailbox(key) => self.mailboxes.wake(key, &mut self.effects),
        }
    }

    /// Whether something has come that a dispatcher still has to begin with, now or when it has room.
    pub(super) fn is_handing_out(&self) -> bool {
        self.order.is_handing_out(&self.replicated)
    }

    /// When dispatchers are no longer waited for.
    pub(crate) fn order_deadline(&mut self) -> Option<Instant> {
        let waits = self.order.holds_back() || (!self.lifecycle.is_open() && self.is_handing_out());
        self.order.deadline(waits, self.timers.now())
    }

    /// Waits no longer for dispatchers that were not polled in all the time that they had.
    pub(super) fn stop_waiting_for_dispatchers(&mut self, now: Instant) {
        if self.order.take_expired(now) {
            self.order.stall(None);
            self.reached();
            self.report(Report::NotServed { after: POLL_TIMEOUT });
        }
    }
}
