//! Replicated inputs and their dispatchers, which decide what has reached the program.

use mcp_protocol_machine::protocol::Direction;

use super::order::{DispatcherKey, Held, Order, TaskKey};
use super::replicated::{Arrived, ReplicatedQueue, Scope};
use super::wakers::{Effects, Listener};
use crate::rules::Rules;

/// How many handlers a dispatcher runs at most. Each request of this side that waits for its reply makes room for one
/// more: the peer may have to ask something before it can answer.
pub(crate) fn most_handlers(rules: &Rules) -> usize {
    rules.options().max_handlers.max(1).saturating_add(rules.checker().running(Direction::Send))
}

/// The replicated inputs, and the order in which all messages reach the program.
///
/// Invariant: a message is free once no dispatcher is to begin with an earlier one. What is not free is held in `order`,
/// until [`Dispatch::take_free`] and [`Dispatch::hear_free`] return it.
#[derive(Debug, Default)]
pub(crate) struct Dispatch {
    queue: ReplicatedQueue,
    order: Order,
}

impl Dispatch {
    pub(crate) fn queue(&self) -> &ReplicatedQueue {
        &self.queue
    }

    pub(crate) fn queue_mut(&mut self) -> &mut ReplicatedQueue {
        &mut self.queue
    }

    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    pub(crate) fn order_mut(&mut self) -> &mut Order {
        &mut self.order
    }

    /// A dispatcher is gone, and nothing waits for it any more.
    pub(crate) fn left(&mut self, key: DispatcherKey, effects: &mut Effects) {
        self.order.dispatcher_left(key);
        self.queue.waiting().wake(effects);
    }

    /// A dispatcher is polled: what it has taken before has begun.
    #[inline]
    pub(crate) fn polled(
        &mut self,
        key: DispatcherKey,
        handlers: usize,
        notified: bool,
        effects: &mut Effects,
    ) {
        let begun = self.order.dispatcher_polled(key, handlers, notified);
        if begun && self.queue.has_several_attendants() {
            // Others that take inputs have waited for that.
            self.queue.waiting().wake(effects);
        }
    }

    /// Takes the next input for a dispatcher.
    #[inline]
    pub(crate) fn take_next(&mut self, key: DispatcherKey, most: usize) -> Option<Arrived> {
        let place = self.order.next_for(key, &self.queue, most)?;
        self.queue.take(place)
    }

    /// The number of the next input of a scope, if there is one that may be taken.
    pub(crate) fn first(&self, scope: Scope) -> Option<u64> {
        let came = self.queue.first(scope)?.came;
        (!self.order.is_behind_start(came)).then_some(came)
    }

    /// Whether a message is free.
    #[inline]
    pub(crate) fn is_free(&self, came: u64, most: usize) -> bool {
        came < self.order.barrier(&self.queue, most)
    }

    /// A message has come: whether the task that waits for it is woken at once. If not, that is done later.
    #[inline]
    pub(crate) fn may_wake(&mut self, held: Held, most: usize) -> bool {
        let barrier = self.order.barrier(&self.queue, most);
        self.order.may_wake(held, barrier)
    }

    /// A report on a sub-session has come, which is heard at once or later.
    pub(crate) fn hear(
        &mut self,
        listener: Listener,
        report: Box<str>,
        rules: &Rules,
        effects: &mut Effects,
    ) {
        if self.is_free(self.order.latest(), most_handlers(rules)) {
            return effects.tell(listener, report);
        }
        if let Some(oldest) = self.order.hear_later(listener, report, rules.options().max_progress) {
            effects.let_go(oldest);
        }
    }

    /// Takes the next task that waits for something which is free.
    pub(crate) fn take_free(&mut self, barrier: u64) -> Option<Held> {
        self.order.take_held(barrier)
    }

    /// Has the reports heard that are free.
    pub(crate) fn hear_free(&mut self, barrier: u64, effects: &mut Effects) {
        while let Some((listener, report)) = self.order.take_heard(barrier) {
            effects.tell(listener, report);
        }
    }

    /// Whether a dispatcher in a task would begin with something if it were polled now.
    pub(crate) fn could_begin(&self, task: TaskKey, most: usize) -> bool {
        self.order.could_begin(task, &self.queue, most)
    }

    /// The number of the first message that is not free.
    #[inline]
    pub(crate) fn barrier(&self, most: usize) -> u64 {
        self.order.barrier(&self.queue, most)
    }

    /// Whether something has come that a dispatcher still has to begin with, now or when it has room.
    pub(crate) fn is_handing_out(&self) -> bool {
        self.order.is_handing_out(&self.queue)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use mcp_protocol_machine::RequestId;
    use mcp_protocol_machine::protocol::MessageIndex;

    use super::*;
    use crate::budget::Permit;
    use crate::epoch::Epoch;

    /// The next message, a request that handlers take.
    fn request(dispatch: &mut Dispatch, scope: Scope) {
        dispatch.order_mut().next_message();
        let came = dispatch.order().latest();
        dispatch.queue_mut().insert(Arrived {
            message: MessageIndex(0),
            id: Some(RequestId::Number(1)),
            token: None,
            scope,
            sub_session: None,
            payload: None,
            permit: Permit::default(),
            extension: None,
            at: Instant::now(),
            came,
            epoch: Epoch::FIRST,
        });
    }

    #[test]
    fn what_is_not_free_is_held_until_it_is() {
        let (mut dispatch, mut effects) = (Dispatch::default(), Effects::default());
        let key = dispatch.order_mut().dispatcher_began(None);
        request(&mut dispatch, None);
        dispatch.order_mut().next_message();
        assert!(!dispatch.is_free(2, 1) && !dispatch.may_wake(Held::Call(7), 1));
        assert!(dispatch.take_next(key, 1).is_some_and(|taken| taken.came == 1));
        assert_eq!(dispatch.take_free(dispatch.barrier(1)), None, "the handler was not polled");
        dispatch.polled(key, 1, false, &mut effects);
        assert_eq!(dispatch.take_free(dispatch.barrier(1)), Some(Held::Call(7)));
        assert!(dispatch.is_free(2, 1) && !dispatch.is_handing_out());
    }

    #[test]
    fn others_take_only_what_no_dispatcher_has_to_begin_before() {
        let (mut dispatch, mut effects) = (Dispatch::default(), Effects::default());
        let key = dispatch.order_mut().dispatcher_began(None);
        request(&mut dispatch, None);
        request(&mut dispatch, None);
        assert_eq!(dispatch.first(None), Some(1));
        assert!(dispatch.take_next(key, 1).is_some());
        assert_eq!(dispatch.first(None), None, "the dispatcher has not begun with the first");
        dispatch.left(key, &mut effects);
        assert_eq!(dispatch.first(None), Some(2));
    }
}
