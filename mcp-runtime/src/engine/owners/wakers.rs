//! Tasks to be woken, and everything else that is done outside of the engine's lock: a waker, and code that reads
//! reports, may call into the engine again.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};

use mcp_protocol_machine::protocol::Text;
use tracing::Span;

use super::turns::Turns;
use crate::driver::MalformedReports;
use crate::options::Options;
use crate::panics::contained;
use crate::report::{DropReason, LimitedReport, RepeatedViolations, Report};

/// One waiting future, shared by the future and the lists that it stands in.
#[derive(Debug, Default)]
struct Slot(Mutex<Waits>);

/// What a future waits with, and where.
#[derive(Debug, Default)]
struct Waits {
    /// None while it waits for nothing.
    waker: Option<Waker>,
    /// The lists that the slot stands in: as many as the future waits for things, which is seldom more than one.
    lists: Lists,
}

/// Numbers of lists. One takes no allocation.
#[derive(Debug, Default)]
struct Lists {
    one: Option<ListNumber>,
    others: Vec<ListNumber>,
}

impl Lists {
    fn has(&self, list: ListNumber) -> bool {
        self.one == Some(list) || self.others.contains(&list)
    }

    fn add(&mut self, list: ListNumber) {
        match self.one {
            None => self.one = Some(list),
            Some(_) => self.others.push(list),
        }
    }

    fn remove(&mut self, list: ListNumber) {
        self.one = self.one.filter(|one| *one != list);
        self.others.retain(|other| *other != list);
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one waiting future among the tasks that wait. The future owns it and waits in no other: whatever it
/// waits for, and however often it is polled, there is one waker of it, and none once it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    slot: Option<Arc<Slot>>,
    /// How often it was polled while what it waits for was held back.
    pub(crate) turns: Turns,
}

impl Waiter {
    /// Waits no longer; the waker is dropped unlocked.
    pub(crate) fn leave(&mut self, effects: &mut Effects) {
        let slot = self.slot.take();
        if let Some(waker) = slot.and_then(|slot| slot.lock().waker.take()) {
            effects.drop_waker(waker);
        }
    }
}

/// Which list of waiting futures it is, of all in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListNumber(u64);

impl ListNumber {
    fn next() -> ListNumber {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        ListNumber(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The futures that wait for the same thing, first come first.
///
/// Invariants: a slot that lives stands here once if its own `lists` name this list, and not at all otherwise. So to
/// register again takes the same time however many wait. Slots of futures that were dropped are removed before the list
/// grows, so it is never more than about twice as long as the futures that wait. Others wait only behind a first.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// `None` before the first future waits. Each request of the peer has a list, in which seldom one does.
    number: Option<ListNumber>,
    /// Seldom more than one future waits. It takes no allocation.
    first: Option<Weak<Slot>>,
    others: Vec<Weak<Slot>>,
}

impl Waiting {
    /// Adds the future at hand, with the waker of the task that polls it now.
    pub(crate) fn register(&mut self, context: &Context<'_>, waiter: &mut Waiter, effects: &mut Effects) {
        let slot = waiter.slot.get_or_insert_with(Arc::default);
        let mut waits = slot.lock();
        keep(&mut waits.waker, context, effects);
        let number = *self.number.get_or_insert_with(ListNumber::next);
        if waits.lists.has(number) {
            return;
        }
        waits.lists.add(number);
        drop(waits);
        let slot = Arc::downgrade(slot);
        let is_gone = |other: &Weak<Slot>| other.strong_count() == 0;
        if self.others.is_empty() && self.first.as_ref().is_none_or(is_gone) {
            self.first = Some(slot);
            return;
        }
        if self.others.len() == self.others.capacity() {
            self.others.retain(|other| !is_gone(other));
        }
        self.others.push(slot);
    }

    /// Hands all of them over to be woken.
    pub(crate) fn wake(&mut self, effects: &mut Effects) {
        // A session that ends wakes all of its lists, and most are empty.
        let Some(first) = self.first.take() else { return };
        for slot in std::iter::once(first).chain(self.others.drain(..)).filter_map(|slot| slot.upgrade()) {
            let mut waits = slot.lock();
            if let Some(number) = self.number {
                waits.lists.remove(number);
            }
            if let Some(waker) = waits.waker.take() {
                effects.wake(waker);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.first.iter().count() + self.others.len()
    }
}

/// Keeps the waker of the task at hand. The one that it replaces is dropped later, for that may run code.
///
/// It is not woken: two wakers of one task need not know of each other that they are, and a task that wakes itself
/// with each poll is never at rest.
pub(crate) fn keep(place: &mut Option<Waker>, context: &Context<'_>, effects: &mut Effects) {
    if place.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
        return;
    }
    if let Some(replaced) = place.replace(context.waker().clone()) {
        effects.drop_waker(replaced);
    }
}

/// What is called with each report of the peer on a request.
pub(crate) type OnProgress = Box<dyn FnMut(&str) -> Result<(), serde_json::Error> + Send>;

/// Hears the reports on a sub-session whose opener has its reply.
#[derive(Clone)]
pub(crate) struct Listener {
    on_progress: Arc<Mutex<OnProgress>>,
    /// The request that opened the sub-session, by its name in the `.session` file.
    message: Text,
}

impl Listener {
    pub(crate) fn new(on_progress: OnProgress, message: Text) -> Listener {
        Listener { on_progress: Arc::new(Mutex::new(on_progress)), message }
    }

    /// Hears a report, in the task that reads from the peer: a panic ends the hearing, and nothing else.
    fn hear(&self, report: &str, options: &Options) {
        let heard = contained(|| match self.on_progress.lock() {
            Ok(mut on_progress) => on_progress(report),
            // It has panicked before, and may be in no state to hear more.
            Err(_) => Ok(()),
        });
        match heard {
            Ok(Ok(())) => {}
            Ok(Err(error)) => options.report(&Report::unreadable(self.message.clone(), &error)),
            Err(text) => options.report(&Report::Panicked { message: self.message.clone(), text }),
        }
    }

    /// Lets go of it, which may run code of the program.
    fn leave(self, options: &Options) {
        let message = self.message.clone();
        if let Err(text) = contained(|| drop(self)) {
            options.report(&Report::Panicked { message, text });
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Listener").field("message", &self.message).finish_non_exhaustive()
    }
}

/// What is to be done once the engine is unlocked, and the transport's task.
///
/// Invariant: the task is woken at most once for each time that it was kept.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// The transport's task, while it waits for the end of the session or a deadline.
    driver: Option<Waker>,
    pending: PendingEffects,
    /// How much is said of texts that are not messages.
    malformed: MalformedReports,
    /// How much is said of violations.
    violations: RepeatedViolations,
}

/// What is to be done once the engine is unlocked.
///
/// Invariant: the first place is filled before the second.
#[derive(Debug, Default)]
pub(crate) struct PendingEffects {
    // Most of the time there are at most two tasks to wake, the driver's and one other, and nothing else: that is small
    // enough to be moved with every message.
    first: Option<Waker>,
    second: Option<Waker>,
    /// Everything else, as far as there is any.
    rest: Option<Box<RareEffects>>,
}

#[derive(Debug, Default)]
struct RareEffects {
    wakers: Vec<Waker>,
    /// Wakers that no task waits with any more.
    dropped: Vec<Waker>,
    reports: Vec<Report>,
    heard: Vec<(Listener, Box<str>)>,
    /// Listeners to be dropped: they may own a part of this session, whose drop calls into the engine.
    let_go: Vec<Listener>,
}

impl Effects {
    /// Nothing is to be done yet.
    pub(crate) fn new(malformed: MalformedReports) -> Effects {
        Effects { malformed, ..Effects::default() }
    }

    /// Keeps the transport's task, to be woken when the session comes closer to its end or a deadline becomes sooner.
    pub(crate) fn keep_driver(&mut self, context: &Context<'_>) {
        let mut driver = self.driver.take();
        keep(&mut driver, context, self);
        self.driver = driver;
    }

    /// The session came closer to its end, or a deadline became sooner: the transport's task is woken.
    pub(crate) fn wake_driver(&mut self) {
        if let Some(waker) = self.driver.take() {
            self.wake(waker);
        }
    }

    /// Wakes a task.
    pub(crate) fn wake(&mut self, waker: Waker) {
        if self.pending.first.is_none() {
            self.pending.first = Some(waker);
        } else if self.pending.second.is_none() {
            self.pending.second = Some(waker);
        } else {
            self.rest().wakers.push(waker);
        }
    }

    /// Drops a waker without waking its task.
    pub(crate) fn drop_waker(&mut self, waker: Waker) {
        self.rest().dropped.push(waker);
    }

    /// Reports something.
    pub(crate) fn report(&mut self, report: Report) {
        let report = match report {
            Report::Malformed { .. } => match self.malformed.another() {
                LimitedReport::Whole => Some(report),
                LimitedReport::Count(count) => Some(Report::ManyMalformed { count }),
                LimitedReport::Nothing => None,
            },
            Report::Violation(violation) => self.violations.another(violation),
            other => Some(other),
        };
        if let Some(report) = report {
            self.rest().reports.push(report);
        }
    }

    /// How many reports there are.
    pub(crate) fn report_count(&self) -> usize {
        self.pending.rest.as_ref().map_or(0, |rest| rest.reports.len())
    }

    /// Of the reports behind the first ones, those that say the same of a message that was dropped become one.
    pub(crate) fn merge_dropped(&mut self, first: usize) {
        let Some(rest) = &mut self.pending.rest else { return };
        let later = rest.reports.split_off(first.min(rest.reports.len()));
        let mut counts: HashMap<(Text, DropReason), u64> = HashMap::new();
        for report in &later {
            if let Report::Dropped { message, cause } = report {
                let count = counts.entry((message.clone(), *cause)).or_default();
                *count = count.saturating_add(1);
            }
        }
        for report in later {
            let Report::Dropped { message, cause } = report else {
                rest.reports.push(report);
                continue;
            };
            // The first of each name says it for all.
            match counts.remove(&(message.clone(), cause)) {
                Some(1) => rest.reports.push(Report::Dropped { message, cause }),
                Some(count) => rest.reports.push(Report::ManyDropped { message, cause, count }),
                None => {}
            }
        }
    }

    /// The session is over: reports what was only counted.
    pub(crate) fn report_counted(&mut self) {
        if let Some(count) = self.malformed.rest() {
            self.rest().reports.push(Report::ManyMalformed { count });
        }
        let violations = self.violations.rest();
        if !violations.is_empty() {
            self.rest().reports.extend(violations);
        }
    }

    /// Hands progress of the peer to a listener.
    pub(crate) fn tell(&mut self, listener: Listener, report: Box<str>) {
        self.rest().heard.push((listener, report));
    }

    /// Drops a listener.
    pub(crate) fn let_go(&mut self, listener: Listener) {
        self.rest().let_go.push(listener);
    }

    fn rest(&mut self) -> &mut RareEffects {
        self.pending.rest.get_or_insert_default()
    }

    /// Takes everything out, to be run unlocked; nothing where there is nothing to do, as after most questions.
    pub(crate) fn take(&mut self) -> Option<PendingEffects> {
        if self.pending.first.is_none() && self.pending.rest.is_none() {
            return None;
        }
        Some(std::mem::take(&mut self.pending))
    }
}

impl PendingEffects {
    /// Does it. Tasks are woken before listeners hear progress, which may take a while.
    pub(crate) fn run(self, options: &Options, session: &Span) {
        let PendingEffects { first, second, rest } = self;
        if let Some(rest) = &rest
            && !rest.reports.is_empty()
        {
            session.in_scope(|| rest.reports.iter().for_each(|report| options.report(report)));
        }
        if let Some(waker) = first {
            waker.wake();
        }
        if let Some(waker) = second {
            waker.wake();
        }
        let Some(rest) = rest else { return };
        let RareEffects { wakers, dropped, reports: _, heard, let_go } = *rest;
        wakers.into_iter().for_each(Waker::wake);
        drop(dropped);
        if heard.is_empty() && let_go.is_empty() {
            return;
        }
        session.in_scope(|| {
            for (listener, report) in heard {
                listener.hear(&report, options);
                // It may be the last that is left of it.
                listener.leave(options);
            }
            let_go.into_iter().for_each(|listener| listener.leave(options));
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn run(effects: &mut Effects) {
        if let Some(pending) = effects.take() {
            pending.run(&Options::new(), &Span::none());
        }
    }

    #[test]
    fn the_transport_is_woken_once_for_each_time_that_it_waits() {
        let (mut effects, count) = (Effects::default(), Arc::new(Count::default()));
        let waker = Waker::from(Arc::clone(&count));
        effects.wake_driver();
        assert!(effects.take().is_none(), "nothing waits");
        effects.keep_driver(&Context::from_waker(&waker));
        effects.keep_driver(&Context::from_waker(&waker));
        assert!(effects.take().is_none(), "it is the same task");
        effects.wake_driver();
        effects.wake_driver();
        run(&mut effects);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        effects.keep_driver(&Context::from_waker(&waker));
        run(&mut effects);
        effects.wake_driver();
        run(&mut effects);
        assert_eq!(count.0.load(Ordering::Relaxed), 2, "it stays while other things are done");
    }

    #[test]
    fn a_future_that_waits_stands_in_a_list_once() {
        let (mut effects, mut waiting, count) =
            (Effects::default(), Waiting::default(), Arc::new(Count::default()));
        let waker = Waker::from(Arc::clone(&count));
        let (mut first, mut second) = (Waiter::default(), Waiter::default());
        for waiter in [&mut first, &mut second] {
            waiting.register(&Context::from_waker(&waker), waiter, &mut effects);
            waiting.register(&Context::from_waker(&waker), waiter, &mut effects);
        }
        assert_eq!(waiting.len(), 2);
        second.leave(&mut effects);
        waiting.wake(&mut effects);
        run(&mut effects);
        assert_eq!((count.0.load(Ordering::Relaxed), waiting.len()), (1, 0), "the second has left");
    }
}
