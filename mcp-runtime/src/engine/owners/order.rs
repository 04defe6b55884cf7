//! The order in which the messages of the peer reach the program.
//!
//! A message has reached the program once its handler was polled, or once it stands in a queue that the program empties
//! by itself. What came later (a reply, a linear input, an input of a sub-session, progress) is held back until
//! everything before it has. Nothing is held back for a dispatcher that is at its limit, that is gone, or that is not
//! polled: its own task gets a few turns, any other task a few seconds.

use std::collections::{BTreeSet, VecDeque};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use mcp_protocol_machine::SubSessionNumber;
use tokio::task::Id;

use super::mailboxes::MailboxId;
use super::replicated::{Arrived, ReplicatedQueue, Scope};
use super::turns::Turns;
use super::wakers::Listener;

/// How long something is held back for a dispatcher that is not polled.
pub(crate) const POLL_TIMEOUT: Duration = Duration::from_secs(5);

/// Everything has reached the program.
const NO_BARRIER: u64 = u64::MAX;

/// A dispatcher, among those of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DispatcherKey(u64);

/// Something that runs the handlers of replicated inputs, as it saw itself when it was last polled.
#[derive(Debug)]
struct Dispatcher {
    key: DispatcherKey,
    /// Whose inputs it takes.
    scope: Scope,
    /// How many requests are worked on.
    handlers: usize,
    /// Whether a notification is worked on.
    notified: bool,
    /// The number of the message that it has taken, until the handler was polled.
    starting: Option<u64>,
    /// The task that polls it; none before it was polled.
    task: Option<TaskKey>,
    /// How often it was polled.
    polls: u64,
    /// It was not polled when it should have been: nothing waits for it until it is.
    stalled: bool,
}

impl Dispatcher {
    /// Whether it begins with an input, with so many handlers at most.
    fn takes(&self, arrived: &Arrived, most: usize) -> bool {
        let has_room = match (&arrived.id, &arrived.sub_session) {
            (_, Some(_)) => true,
            (Some(_), None) => self.handlers < most,
            (None, None) => !self.notified,
        };
        has_room && self.scope == arrived.scope
    }
}

/// Tells tasks apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskKey {
    Task(Id),
    /// The future that a thread blocks on is in no task.
    Thread(ThreadId),
}

impl TaskKey {
    pub(crate) fn current() -> TaskKey {
        tokio::task::try_id().map_or_else(|| TaskKey::Thread(thread::current().id()), TaskKey::Task)
    }
}

/// Who is woken once everything before a message has reached the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Held {
    /// The task that waits for a call.
    Call(i64),
    /// The task that waits for a linear input.
    Linear,
    /// The value of a sub-session.
    SubSession(SubSessionNumber),
    /// A session without types.
    Mailbox(MailboxId),
}

impl Held {
    /// The task that waits for an input of the linear channels, or of a sub-session.
    pub(crate) fn of_value(sub_session: Option<SubSessionNumber>) -> Held {
        sub_session.map_or(Held::Linear, Held::SubSession)
    }
}

/// What has reached the program, and what has not.
///
/// The *barrier* is the number of the first message that has not: what came before it is free, what came after it is
/// held. Invariant: `held` and `heard` are in the order of the messages.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// How many messages have come; says which of two came first.
    came: u64,
    dispatchers: Vec<Dispatcher>,
    next: u64,
    /// With the number of the message. No more than there are messages in the queues of those who wait.
    held: BTreeSet<(u64, Held)>,
    /// Reports that need no polling.
    heard: VecDeque<(u64, Listener, Box<str>)>,
    /// Since when something waits for dispatchers that were polled so often.
    since: Option<(Instant, u64)>,
}

impl Order {
    /// One more message has come.
    pub(crate) fn next_message(&mut self) {
        self.came = self.came.wrapping_add(1);
    }

    /// The number of the latest message.
    pub(crate) fn latest(&self) -> u64 {
        self.came
    }

    /// There is one more dispatcher.
    pub(crate) fn dispatcher_began(&mut self, scope: Scope) -> DispatcherKey {
        let key = DispatcherKey(self.next);
        self.next = self.next.wrapping_add(1);
        self.dispatchers.push(Dispatcher {
            key,
            scope,
            handlers: 0,
            notified: false,
            starting: None,
            task: None,
            polls: 0,
            stalled: false,
        });
        key
    }

    /// A dispatcher is gone, and nothing waits for it any more.
    pub(crate) fn dispatcher_left(&mut self, key: DispatcherKey) {
        self.dispatchers.retain(|dispatcher| dispatcher.key != key);
    }

    /// Whose inputs a dispatcher takes.
    pub(crate) fn scope(&self, key: DispatcherKey) -> Scope {
        self.dispatchers.iter().find(|dispatcher| dispatcher.key == key)?.scope
    }

    /// A dispatcher is polled: what it has taken before has begun. Whether there was something.
    pub(crate) fn dispatcher_polled(&mut self, key: DispatcherKey, handlers: usize, notified: bool) -> bool {
        let Some(dispatcher) = self.get_mut(key) else { return false };
        dispatcher.handlers = handlers;
        dispatcher.notified = notified;
        dispatcher.task = Some(TaskKey::current());
        dispatcher.polls = dispatcher.polls.wrapping_add(1);
        dispatcher.stalled = false;
        dispatcher.starting.take().is_some()
    }

    /// The place of the input that a dispatcher takes next, with so many handlers at most.
    #[inline]
    pub(crate) fn next_for(
        &mut self,
        key: DispatcherKey,
        inputs: &ReplicatedQueue,
        most: usize,
    ) -> Option<usize> {
        let starting = self.starting();
        let dispatcher = self.get_mut(key)?;
        let (place, arrived) =
            inputs.iter().enumerate().find(|(_, arrived)| dispatcher.takes(arrived, most))?;
        if starting.is_some_and(|starting| starting < arrived.came) {
            // Another one has taken an earlier one, and not begun.
            return None;
        }
        dispatcher.starting = Some(arrived.came);
        Some(place)
    }

    /// The number of the first message that has not reached the program.
    #[inline]
    pub(crate) fn barrier(&self, inputs: &ReplicatedQueue, most: usize) -> u64 {
        if self.dispatchers.is_empty() {
            return NO_BARRIER;
        }
        let taken = |arrived: &&Arrived| self.live().any(|dispatcher| dispatcher.takes(arrived, most));
        let waits = inputs.iter().find(taken).map(|arrived| arrived.came);
        waits.into_iter().chain(self.starting()).min().unwrap_or(NO_BARRIER)
    }

    /// Whether a message is taken only after another one, which a dispatcher has not begun with.
    pub(crate) fn is_behind_start(&self, came: u64) -> bool {
        self.starting().is_some_and(|starting| starting < came)
    }

    /// The latest message is for a task: whether that is woken at once. If not, it is held until the barrier has
    /// passed the message.
    pub(crate) fn may_wake(&mut self, held: Held, barrier: u64) -> bool {
        let free = self.came < barrier;
        if !free {
            self.held.insert((self.came, held));
        }
        free
    }

    /// Something is held back for a future, which is woken later. Whether there is a deadline now, and was none.
    pub(crate) fn hold(&mut self, held: Option<(u64, Held)>) -> bool {
        self.held.extend(held);
        self.since.is_none()
    }

    /// Keeps the report that the latest message is, until the barrier has passed it. No more than `most` wait: returns
    /// the listener of the oldest if there are more.
    pub(crate) fn hear_later(
        &mut self,
        listener: Listener,
        report: Box<str>,
        most: usize,
    ) -> Option<Listener> {
        let oldest = if self.heard.len() >= most { self.heard.pop_front() } else { None };
        self.heard.push_back((self.came, listener, report));
        oldest.map(|(_, listener, _)| listener)
    }

    /// Whether something is held back.
    pub(crate) fn holds_back(&self) -> bool {
        !self.held.is_empty() || !self.heard.is_empty()
    }

    /// Takes what the barrier has passed.
    pub(crate) fn take_held(&mut self, barrier: u64) -> Option<Held> {
        self.held.first().filter(|(came, _)| *came < barrier)?;
        self.held.pop_first().map(|(_, held)| held)
    }

    /// Takes a report that the barrier has passed.
    pub(crate) fn take_heard(&mut self, barrier: u64) -> Option<(Listener, Box<str>)> {
        self.heard.front().filter(|(came, ..)| *came < barrier)?;
        self.heard.pop_front().map(|(_, listener, report)| (listener, report))
    }

    /// Something else is polled in the task of a dispatcher: the handler of what it has taken was, or is being polled
    /// and waits for this. Whether there was one.
    pub(crate) fn begin_in(&mut self, task: TaskKey) -> bool {
        let here = self.dispatchers.iter_mut().filter(|dispatcher| dispatcher.task == Some(task));
        here.filter_map(|dispatcher| dispatcher.starting.take()).count() > 0
    }

    /// Whether a dispatcher in a task would begin with something if it were polled now.
    pub(crate) fn could_begin(&self, task: TaskKey, inputs: &ReplicatedQueue, most: usize) -> bool {
        let mut here = self.live().filter(|dispatcher| dispatcher.task == Some(task));
        self.starting().is_none()
            && here.any(|dispatcher| inputs.iter().any(|arrived| dispatcher.takes(arrived, most)))
    }

    /// A future leaves a turn to the dispatchers of its task, if they have not had enough of them.
    pub(crate) fn leave_turn(&self, task: TaskKey, turns: &mut Turns) -> bool {
        turns.pass(self.polls(Some(task)))
    }

    /// Nothing waits for the dispatchers of a task, or for any, until they are polled.
    pub(crate) fn stall(&mut self, task: Option<TaskKey>) {
        for dispatcher in &mut self.dispatchers {
            dispatcher.stalled |= task.is_none() || dispatcher.task == task;
        }
    }

    /// Whether a dispatcher is there that will take what waits in the queue.
    pub(crate) fn is_served(&self) -> bool {
        self.live().next().is_some()
    }

    /// Whether something has come that a dispatcher still has to begin with, now or when it has room.
    pub(crate) fn is_handing_out(&self, inputs: &ReplicatedQueue) -> bool {
        self.live().any(|dispatcher| dispatcher.starting.is_some() || !inputs.is_empty(dispatcher.scope))
    }

    /// When dispatchers are no longer waited for, if anything waits for them.
    pub(crate) fn deadline(&mut self, waits: bool, now: Option<Instant>) -> Option<Instant> {
        if !waits {
            self.since = None;
            return None;
        }
        let polls = self.polls(None);
        let (since, _) = *self.since.get_or_insert((now?, polls));
        since.checked_add(POLL_TIMEOUT)
    }

    /// Whether something has waited long enough for dispatchers, and none of them was polled in that time.
    pub(crate) fn take_expired(&mut self, now: Instant) -> bool {
        let Some((since, polls)) = self.since else { return false };
        if since.checked_add(POLL_TIMEOUT).is_none_or(|until| now < until) {
            return false;
        }
        self.since = None;
        self.polls(None) == polls && self.is_served()
    }

    fn get_mut(&mut self, key: DispatcherKey) -> Option<&mut Dispatcher> {
        self.dispatchers.iter_mut().find(|dispatcher| dispatcher.key == key)
    }

    /// Those that something waits for.
    fn live(&self) -> impl Iterator<Item = &Dispatcher> {
        self.dispatchers.iter().filter(|dispatcher| !dispatcher.stalled)
    }

    /// The number of the first message whose handler is about to be polled.
    fn starting(&self) -> Option<u64> {
        self.live().filter_map(|dispatcher| dispatcher.starting).min()
    }

    /// How often those were polled that are in a task, or all of them.
    fn polls(&self, task: Option<TaskKey>) -> u64 {
        let polls = self.live().filter(|dispatcher| task.is_none() || dispatcher.task == task);
        polls.fold(0, |sum, dispatcher| sum.wrapping_add(dispatcher.polls))
    }
}

#[cfg(test)]
mod tests {
    use mcp_protocol_machine::RequestId;
    use mcp_protocol_machine::protocol::MessageIndex;

    use super::*;
    use crate::budget::Permit;
    use crate::epoch::Epoch;

    /// The next message, a request that handlers take.
    fn request(order: &mut Order, inputs: &mut ReplicatedQueue) {
        order.next_message();
        inputs.insert(Arrived {
            message: MessageIndex(0),
            id: Some(RequestId::Number(1)),
            token: None,
            scope: None,
            sub_session: None,
            payload: None,
            permit: Permit::default(),
            extension: None,
            at: Instant::now(),
            came: order.latest(),
            epoch: Epoch::FIRST,
        });
    }

    #[test]
    fn what_came_later_is_held_until_the_handler_was_polled() {
        let (mut order, mut inputs) = (Order::default(), ReplicatedQueue::default());
        let key = order.dispatcher_began(None);
        request(&mut order, &mut inputs);
        order.next_message();
        let barrier = order.barrier(&inputs, 1);
        assert!(barrier == 1 && !order.may_wake(Held::Linear, barrier) && order.holds_back());
        order.dispatcher_polled(key, 0, false);
        assert_eq!(order.next_for(key, &inputs, 1), Some(0));
        assert!(inputs.take(0).is_some() && order.take_held(order.barrier(&inputs, 1)).is_none());
        assert!(order.is_handing_out(&inputs), "the handler was not polled");
        assert!(order.dispatcher_polled(key, 1, false));
        assert_eq!(order.take_held(order.barrier(&inputs, 1)), Some(Held::Linear));
        assert!(!order.holds_back() && !order.is_handing_out(&inputs));
    }

    #[test]
    fn nothing_is_held_for_a_dispatcher_without_room_or_one_that_is_gone() {
        let (mut order, mut inputs) = (Order::default(), ReplicatedQueue::default());
        let key = order.dispatcher_began(None);
        request(&mut order, &mut inputs);
        assert_eq!(order.barrier(&inputs, 1), 1);
        assert_eq!(order.barrier(&inputs, 0), NO_BARRIER, "it has no room");
        order.dispatcher_left(key);
        assert_eq!(order.barrier(&inputs, 1), NO_BARRIER);
    }

    #[test]
    fn a_dispatcher_that_is_not_polled_is_waited_for_so_long() {
        let (mut order, now) = (Order::default(), Instant::now());
        let key = order.dispatcher_began(None);
        assert_eq!(order.deadline(true, Some(now)), Some(now + POLL_TIMEOUT));
        assert!(!order.take_expired(now), "there is time left");
        assert!(order.take_expired(now + POLL_TIMEOUT));
        order.stall(None);
        assert!(!order.is_served());
        assert!(order.deadline(true, Some(now)).is_some());
        order.dispatcher_polled(key, 0, false);
        assert!(order.is_served() && !order.take_expired(now + POLL_TIMEOUT), "it was polled");
        assert_eq!(order.deadline(false, Some(now)), None);
    }
}
