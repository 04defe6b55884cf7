//! The order in which the messages of the peer reach the program.
//!
//! A message has reached the program once its handler was polled, or once it stands in a queue that the program empties by
//! itself. What came later (a reply, a linear input, an input of a sub-session, progress) is held back until everything
//! before it has. Nothing is held back for a dispatcher that is at its limit, that is gone, or that is not polled: its own
//! task gets a few turns, any other task a few seconds.

use std::collections::{BTreeSet, VecDeque};
use std::task::{Context, Poll};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use mcp_protocol_machine::SubSessionNumber;
use mcp_protocol_machine::protocol::Direction;
use tokio::task::Id;

use super::mailboxes::MailboxId;
use super::replicated::Arrived;
use super::state::Engine;
use super::wakers::{Listener, Waiter};
use crate::report::Report;

/// How long something is held back for a dispatcher that is not polled.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many turns of its own task a dispatcher has to be polled in.
const TURNS: u8 = 3;

/// Everything has reached the program.
const NO_BARRIER: u64 = u64::MAX;

/// A dispatcher, among those of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DispatcherKey(u64);

/// Something that runs the handlers of replicated inputs, as it saw itself when it was last polled.
#[derive(Debug)]
struct Dispatcher {
    key: DispatcherKey,
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
        match (&arrived.id, &arrived.sub_session) {
            (_, Some(_)) => true,
            (Some(_), None) => self.handlers < most,
            (None, None) => !self.notified,
        }
    }
}

/// Tells tasks apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskKey {
    Task(Id),
    /// The future that a thread blocks on is in no task.
    Thread(ThreadId),
}

impl TaskKey {
    fn current() -> TaskKey {
        tokio::task::try_id().map_or_else(|| TaskKey::Thread(thread::current().id()), TaskKey::Task)
    }
}

/// How often a future was polled without a result since the dispatchers of its task were last polled.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    polls: u64,
    passed: u8,
}

/// Who is woken once everything before a message has reached the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Held {
    /// The task that waits for a call.
    Call(i64),
    /// The task that waits for a linear input.
    Linear,
    /// The value of a sub-session.
    SubSession(SubSessionNumber),
    /// A session without types.
    Mailbox(MailboxId),
}

/// What has reached the program, and what has not.
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
    pub(super) fn next_message(&mut self) {
        self.came = self.came.wrapping_add(1);
    }

    /// The number of the latest message.
    pub(super) fn latest(&self) -> u64 {
        self.came
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

    /// Something else is polled in the task of a dispatcher: the handler of what it has taken was, or is being polled
    /// and waits for this. Whether there was one.
    fn begin_in(&mut self, task: TaskKey) -> bool {
        let here = self.dispatchers.iter_mut().filter(|dispatcher| dispatcher.task == Some(task));
        here.filter_map(|dispatcher| dispatcher.starting.take()).count() > 0
    }

    /// How often those were polled that are in a task, or all of them.
    fn polls(&self, task: Option<TaskKey>) -> u64 {
        let polls = self.live().filter(|dispatcher| task.is_none() || dispatcher.task == task);
        polls.fold(0, |sum, dispatcher| sum.wrapping_add(dispatcher.polls))
    }
}

impl Engine {
    /// There is one more dispatcher.
    pub(crate) fn dispatcher_began(&mut self) -> DispatcherKey {
        let key = DispatcherKey(self.order.next);
        self.order.next = self.order.next.wrapping_add(1);
        self.order.dispatchers.push(Dispatcher {
            key,
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
        self.order.dispatchers.retain(|dispatcher| dispatcher.key != key);
        self.replicated.waiting().wake(&mut self.effects);
        self.reached();
    }

    /// A dispatcher is polled: what it has taken before has begun.
    pub(super) fn dispatcher_polled(&mut self, key: DispatcherKey, handlers: usize, notified: bool) {
        let Some(dispatcher) = self.order.get_mut(key) else { return };
        dispatcher.handlers = handlers;
        dispatcher.notified = notified;
        dispatcher.task = Some(TaskKey::current());
        dispatcher.polls = dispatcher.polls.wrapping_add(1);
        dispatcher.stalled = false;
        let begun = dispatcher.starting.take().is_some();
        if begun && self.replicated.attendants() > 1 {
            // Others that take inputs have waited for that.
            self.replicated.waiting().wake(&mut self.effects);
        }
    }

    /// The place of the input that a dispatcher takes next.
    pub(super) fn next_for(&mut self, key: DispatcherKey) -> Option<usize> {
        let most = self.most_handlers();
        let starting = self.order.starting();
        let dispatcher = self.order.get_mut(key)?;
        let mut inputs = self.replicated.iter().enumerate();
        let (place, came) = inputs
            .find(|(_, arrived)| dispatcher.takes(arrived, most))
            .map(|(place, arrived)| (place, arrived.came))?;
        if starting.is_some_and(|starting| starting < came) {
            // Another one has taken an earlier one, and not begun.
            return None;
        }
        dispatcher.starting = Some(came);
        Some(place)
    }

    /// Each request of this side that waits for its reply makes room for one more handler: the peer may have to ask
    /// something before it can answer.
    pub(super) fn most_handlers(&self) -> usize {
        self.options.max_handlers.max(1).saturating_add(self.checker.running(Direction::Send))
    }

    /// The number of the first message that has not reached the program.
    pub(super) fn barrier(&self) -> u64 {
        if self.order.dispatchers.is_empty() {
            return NO_BARRIER;
        }
        let most = self.most_handlers();
        let waits = self
            .replicated
            .iter()
            .find(|arrived| self.order.live().any(|dispatcher| dispatcher.takes(arrived, most)));
        let waits = waits.map(|arrived| arrived.came);
        waits.into_iter().chain(self.order.starting()).min().unwrap_or(NO_BARRIER)
    }

    /// Whether an input is taken only after another one, which a dispatcher has not begun with.
    pub(super) fn is_behind_start(&self, arrived: &Arrived) -> bool {
        self.order.starting().is_some_and(|starting| starting < arrived.came)
    }

    /// A message has come: whether the task that waits for it is woken at once. If not, that is done later.
    pub(super) fn may_wake(&mut self, held: Held) -> bool {
        let free = self.order.latest() < self.barrier();
        if !free {
            self.order.held.insert((self.order.latest(), held));
        }
        free
    }

    /// A report on a sub-session has come, which is heard at once or later.
    pub(super) fn hear_in_order(&mut self, listener: Listener, report: Box<str>) {
        if self.order.latest() < self.barrier() {
            return self.effects.tell(listener, report);
        }
        if self.order.heard.len() >= self.options.max_progress
            && let Some((_, oldest, _)) = self.order.heard.pop_front()
        {
            self.effects.let_go(oldest);
        }
        self.order.heard.push_back((self.order.latest(), listener, report));
    }

    /// A future has looked for a message which is held back. `true`: it is no longer.
    pub(super) fn held_back_for(
        &mut self,
        context: &Context<'_>,
        turns: &mut Turns,
        held: Option<(u64, Held)>,
    ) -> bool {
        if held.is_some_and(|(came, _)| came < self.barrier()) {
            return true;
        }
        let here = TaskKey::current();
        if self.order.begin_in(here) {
            self.reached();
            if held.is_some_and(|(came, _)| came < self.barrier()) {
                return true;
            }
        }
        if self.could_begin(here) {
            // The task polls this future, but maybe not the dispatcher: that is so where one of them is in a branch of
            // a `select!`, and the other in parallel. Then only this future can let it have its turn.
            let polls = self.order.polls(Some(here));
            if turns.polls != polls {
                *turns = Turns { polls, passed: 0 };
            }
            if turns.passed >= TURNS {
                self.stall(|dispatcher| dispatcher.task == Some(here));
                return held.is_none_or(|(came, _)| came < self.barrier());
            }
            turns.passed += 1;
            self.effects.wake(context.waker().clone());
        }
        self.order.held.extend(held);
        if self.order.since.is_none() {
            // There is a deadline now.
            self.wake_driver();
        }
        false
    }

    /// Whether a dispatcher in a task would begin with something if it were polled now.
    fn could_begin(&self, task: TaskKey) -> bool {
        let most = self.most_handlers();
        let mut here = self.order.live().filter(|dispatcher| dispatcher.task == Some(task));
        self.order.starting().is_none()
            && here.any(|dispatcher| self.replicated.iter().any(|arrived| dispatcher.takes(arrived, most)))
    }

    /// Waits until nothing waits for a dispatcher any more, in a session that is over.
    pub(crate) fn poll_settled(&mut self, context: &Context<'_>, waiter: &mut Waiter) -> Poll<()> {
        if self.order_deadline().is_none() {
            return Poll::Ready(());
        }
        self.lifecycle.waiting().register(context, waiter, &mut self.effects);
        Poll::Pending
    }

    /// Nothing waits for some dispatchers until they are polled.
    fn stall(&mut self, which: impl Fn(&Dispatcher) -> bool) {
        for dispatcher in self.order.dispatchers.iter_mut().filter(|dispatcher| which(dispatcher)) {
            dispatcher.stalled = true;
        }
        self.reached();
    }

    /// More has reached the program than before: who waited for that goes on.
    pub(super) fn reached(&mut self) {
        if !self.order.held.is_empty() || !self.order.heard.is_empty() {
            let barrier = self.barrier();
            while self.order.held.first().is_some_and(|(came, _)| *came < barrier) {
                if let Some((_, held)) = self.order.held.pop_first() {
                    self.wake_held(held);
                }
            }
            while self.order.heard.front().is_some_and(|(came, ..)| *came < barrier) {
                if let Some((_, listener, report)) = self.order.heard.pop_front() {
                    self.effects.tell(listener, report);
                }
            }
        }
        if !self.lifecycle.is_open() && !self.is_handing_out() {
            self.lifecycle.waiting().wake(&mut self.effects);
            self.wake_driver();
        }
    }

    fn wake_held(&mut self, held: Held) {
        match held {
            Held::Call(id) => self.wake_call(id),
            Held::Linear => self.linear.waiting().wake(&mut self.effects),
            Held::SubSession(sub_session) => self.wake_sub_session(sub_session),
            Held::Mailbox(key) => self.wake_mailbox(key),
        }
    }

    /// Whether a dispatcher is there that will take what waits in the queue.
    pub(super) fn is_served(&self) -> bool {
        self.order.live().next().is_some()
    }

    /// Whether something has come that a dispatcher still has to begin with, now or when it has room.
    pub(super) fn is_handing_out(&self) -> bool {
        self.is_served() && (!self.replicated.is_empty() || self.order.starting().is_some())
    }

    /// When dispatchers are no longer waited for.
    pub(crate) fn order_deadline(&mut self) -> Option<Instant> {
        let held = !self.order.held.is_empty() || !self.order.heard.is_empty();
        if !held && (self.lifecycle.is_open() || !self.is_handing_out()) {
            self.order.since = None;
            return None;
        }
        let (now, polls) = (self.timers.now()?, self.order.polls(None));
        let (since, _) = *self.order.since.get_or_insert((now, polls));
        since.checked_add(PATIENCE)
    }

    /// Waits no longer for dispatchers that were not polled in all the time that they had.
    pub(super) fn lose_patience(&mut self, now: Instant) {
        let Some((since, polls)) = self.order.since else { return };
        if since.checked_add(PATIENCE).is_none_or(|until| now < until) {
            return;
        }
        self.order.since = None;
        if self.order.polls(None) == polls && self.is_served() {
            self.stall(|_| true);
            self.report(Report::NotServed { after: PATIENCE });
        }
    }
}
