//! The time of a session, and what waits for it. The transport tells the time; nothing here reads a clock.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::wakers::{Effects, keep};
use crate::error::TimeoutKind;
use crate::options::CallTimeouts;

/// The time of a running call.
#[derive(Debug)]
pub(crate) struct CallClock {
    timeouts: CallTimeouts,
    started: Instant,
    heard: Instant,
    alarm: AlarmKey,
}

impl CallClock {
    /// How long the call has taken, and of which limit that is too much, once its alarm has rung.
    pub(crate) fn reached(&self) -> (Duration, TimeoutKind) {
        self.timeouts.reached(self.started, self.heard)
    }
}

/// What happens at an instant.
#[derive(Debug)]
pub(crate) enum Alarm {
    /// A call has taken too long.
    Call(i64),
    /// A task looks again.
    Task(Option<Waker>),
}

/// Names an alarm: its instant, and a number for those of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AlarmKey(Instant, u64);

/// What time it is, and all alarms, the soonest first.
///
/// Invariant: the transport comes back no later than at `promised`, and is woken when an alarm is set that is sooner.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// The latest instant that the transport has told; the engine has no other clock.
    now: Option<Instant>,
    alarms: BTreeMap<AlarmKey, Alarm>,
    next: u64,
    /// When the transport comes back, for all it was told.
    promised: Option<Instant>,
}

impl Timers {
    pub(crate) fn now(&self) -> Option<Instant> {
        self.now
    }

    pub(crate) fn set_now(&mut self, now: Instant) {
        self.now = Some(now);
    }

    /// Asks for the task that polls the alarm to be woken at an instant.
    pub(crate) fn set_alarm(&mut self, at: Instant, effects: &mut Effects) -> AlarmKey {
        self.set(at, Alarm::Task(None), effects)
    }

    /// Waits for an alarm.
    pub(crate) fn poll_alarm(
        &mut self,
        key: AlarmKey,
        context: &Context<'_>,
        effects: &mut Effects,
    ) -> Poll<()> {
        let Some(Alarm::Task(waker)) = self.alarms.get_mut(&key) else { return Poll::Ready(()) };
        keep(waker, context, effects);
        Poll::Pending
    }

    /// No task waits for an alarm any more.
    pub(crate) fn clear_alarm(&mut self, key: AlarmKey, effects: &mut Effects) {
        if let Some(Alarm::Task(Some(waker))) = self.alarms.remove(&key) {
            // A waker that is let go of may run code, which is done unlocked.
            effects.drop_waker(waker);
        }
    }

    /// A call may take so long, counted from when it was made. `None`: as long as it likes.
    pub(crate) fn start(
        &mut self,
        call: i64,
        started: Instant,
        timeouts: CallTimeouts,
        effects: &mut Effects,
    ) -> Option<Box<CallClock>> {
        let deadline = timeouts.deadline(started, started)?;
        let alarm = self.set(deadline, Alarm::Call(call), effects);
        Some(Box::new(CallClock { timeouts, started, heard: started, alarm }))
    }

    /// A report on a call has come in; the time may start again.
    pub(crate) fn restart(&mut self, call: i64, clock: &mut CallClock) {
        let Some(now) = self.now.filter(|_| clock.timeouts.reset_on_progress) else { return };
        // What is heard late in a burst does not count less than what was heard before.
        clock.heard = clock.heard.max(now);
        if let Some(deadline) = clock.timeouts.deadline(clock.started, clock.heard)
            && self.alarms.remove(&clock.alarm).is_some()
        {
            // It is later than before, so the transport need not learn of it.
            clock.alarm = self.insert(deadline, Alarm::Call(call));
        }
    }

    fn set(&mut self, at: Instant, alarm: Alarm, effects: &mut Effects) -> AlarmKey {
        if self.promised.is_none_or(|promised| at < promised) {
            // The transport has gone to sleep until later.
            effects.wake_driver();
        }
        self.insert(at, alarm)
    }

    fn insert(&mut self, at: Instant, alarm: Alarm) -> AlarmKey {
        let key = AlarmKey(at, self.next);
        self.next = self.next.wrapping_add(1);
        self.alarms.insert(key, alarm);
        key
    }

    /// When the first one is due.
    pub(crate) fn first(&self) -> Option<Instant> {
        self.alarms.first_key_value().map(|(key, _)| key.0)
    }

    /// Notes when the transport comes back, if anything is to be done at all, and says when that is. Once it was told
    /// an instant it keeps that, also if what was due then is done already: waking it for every call that comes and
    /// goes would cost more than one idle turn.
    pub(crate) fn promise(&mut self, due: Option<Instant>) -> Option<Instant> {
        self.promised = due.into_iter().chain(self.promised).min();
        self.promised
    }

    /// The transport has come back.
    pub(crate) fn kept(&mut self, now: Instant) {
        self.promised = self.promised.filter(|promised| *promised > now);
    }

    /// Takes one that is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Alarm> {
        let first = self.alarms.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// No call runs any more.
    pub(crate) fn forget_calls(&mut self) {
        self.alarms.retain(|_, alarm| matches!(alarm, Alarm::Task(_)));
    }

    /// A call is complete.
    pub(crate) fn stop(&mut self, clock: Option<Box<CallClock>>) {
        if let Some(clock) = clock {
            self.alarms.remove(&clock.alarm);
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.alarms.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_transport_is_woken_only_for_what_is_sooner_than_promised() {
        let (mut timers, mut effects) = (Timers::default(), Effects::default());
        let now = Instant::now();
        let mut woken = |timers: &mut Timers, at: Instant| {
            effects.keep_driver(&Context::from_waker(Waker::noop()));
            timers.set_alarm(at, &mut effects);
            effects.take().is_some()
        };
        assert!(woken(&mut timers, now + 2 * SECOND), "nothing was promised");
        let due = timers.first();
        assert_eq!(timers.promise(due), Some(now + 2 * SECOND));
        assert!(!woken(&mut timers, now + 3 * SECOND));
        assert!(woken(&mut timers, now + SECOND));
        assert_eq!(timers.promise(Some(now + SECOND)), Some(now + SECOND));
        assert_eq!(timers.promise(None), Some(now + SECOND), "a promise is kept");
        timers.kept(now + SECOND);
        assert_eq!(timers.promise(None), None);
    }

    #[test]
    fn alarms_ring_in_their_order_and_once() {
        let (mut timers, mut effects, now) = (Timers::default(), Effects::default(), Instant::now());
        let late = timers.set_alarm(now + SECOND, &mut effects);
        let timeouts = CallTimeouts { most: Some(SECOND / 2), ..CallTimeouts::default() };
        let clock = timers.start(7, now, timeouts, &mut effects);
        assert!(clock.is_some() && timers.take_due(now).is_none());
        assert!(timers.poll_alarm(late, &Context::from_waker(Waker::noop()), &mut effects).is_pending());
        assert!(matches!(timers.take_due(now + SECOND), Some(Alarm::Call(7))));
        assert!(matches!(timers.take_due(now + SECOND), Some(Alarm::Task(Some(_)))));
        assert!(timers.take_due(now + SECOND).is_none());
        assert!(timers.poll_alarm(late, &Context::from_waker(Waker::noop()), &mut effects).is_ready());
        assert!(timers.start(8, now, CallTimeouts::default(), &mut effects).is_none(), "it has no end");
    }

    #[test]
    fn a_report_starts_the_time_again_and_not_the_whole() {
        let (mut timers, mut effects, now) = (Timers::default(), Effects::default(), Instant::now());
        let timeouts =
            CallTimeouts { timeout: Some(SECOND), most: Some(2 * SECOND), reset_on_progress: true };
        let mut clock = timers.start(7, now, timeouts, &mut effects).unwrap();
        timers.set_now(now + SECOND / 2);
        timers.restart(7, &mut clock);
        assert_eq!(timers.first(), Some(now + SECOND / 2 + SECOND));
        timers.set_now(now + SECOND + SECOND / 4);
        timers.restart(7, &mut clock);
        assert_eq!(timers.first(), Some(now + 2 * SECOND), "the whole time is not longer");
        timers.stop(Some(clock));
        assert!(timers.is_empty());
    }
}
