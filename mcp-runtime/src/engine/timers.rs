//! The time of a session, and what waits for it. The transport tells the time; nothing here reads a clock.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::Direction;

use super::context::Caller;
use super::state::Engine;
use super::trace::Outcome;
use super::wakers::{Effects, keep};
use crate::error::Error;
use crate::options::CallTimeouts;

/// The time of a running call.
#[derive(Debug)]
pub(crate) struct CallClock {
    timeouts: CallTimeouts,
    started: Instant,
    heard: Instant,
    alarm: AlarmKey,
}

/// What happens at an instant.
#[derive(Debug)]
enum Alarm {
    /// A call has taken too long.
    Call(i64),
    /// A task looks again.
    Task(Option<Waker>),
}

/// Names an alarm: its instant, and a number for those of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AlarmKey(Instant, u64);

/// All alarms, the soonest first.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// The latest instant that the transport has told; the engine has no other clock.
    now: Option<Instant>,
    /// The transport's task, while it waits for the end of the session or a deadline.
    driver: Option<Waker>,
    alarms: BTreeMap<AlarmKey, Alarm>,
    next: u64,
    /// When the transport comes back, for all it was told.
    promised: Option<Instant>,
}

impl Timers {
    pub(super) fn now(&self) -> Option<Instant> {
        self.now
    }

    pub(super) fn set_now(&mut self, now: Instant) {
        self.now = Some(now);
    }

    /// Keeps the transport's task, to be woken when the session comes closer to its end or a deadline becomes sooner.
    pub(super) fn keep_driver(&mut self, context: &Context<'_>, effects: &mut Effects) {
        keep(&mut self.driver, context, effects);
    }

    pub(super) fn wake_driver(&mut self, effects: &mut Effects) {
        if let Some(waker) = self.driver.take() {
            effects.wake(waker);
        }
    }

    fn set(&mut self, at: Instant, alarm: Alarm) -> AlarmKey {
        let key = AlarmKey(at, self.next);
        self.next = self.next.wrapping_add(1);
        self.alarms.insert(key, alarm);
        key
    }

    /// When the first one is due.
    pub(super) fn first(&self) -> Option<Instant> {
        self.alarms.first_key_value().map(|(key, _)| key.0)
    }

    /// Notes when the transport comes back, if anything is to be done at all, and says when that is. Once it was told
    /// an instant it keeps that, also if what was due then is done already: waking it for every call that comes and
    /// goes would cost more than one idle turn.
    pub(super) fn promise(&mut self, due: Option<Instant>) -> Option<Instant> {
        self.promised = due.into_iter().chain(self.promised).min();
        self.promised
    }

    /// The transport has come back.
    pub(super) fn kept(&mut self, now: Instant) {
        self.promised = self.promised.filter(|promised| *promised > now);
    }

    fn take_due(&mut self, now: Instant) -> Option<Alarm> {
        let first = self.alarms.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// No call runs any more.
    pub(super) fn forget_calls(&mut self) {
        self.alarms.retain(|_, alarm| matches!(alarm, Alarm::Task(_)));
    }

    /// A call is complete.
    pub(super) fn stop(&mut self, clock: Option<Box<CallClock>>) {
        if let Some(clock) = clock {
            self.alarms.remove(&clock.alarm);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.alarms.is_empty()
    }
}

impl Engine {
    fn set(&mut self, at: Instant, alarm: Alarm) -> AlarmKey {
        if self.timers.promised.is_none_or(|promised| at < promised) {
            // The transport has gone to sleep until later.
            self.wake_driver();
        }
        self.timers.set(at, alarm)
    }

    /// Asks for the task that polls the alarm to be woken at an instant.
    pub(crate) fn set_alarm(&mut self, at: Instant) -> AlarmKey {
        self.set(at, Alarm::Task(None))
    }

    /// Waits for an alarm.
    pub(crate) fn poll_alarm(&mut self, context: &Context<'_>, key: AlarmKey) -> Poll<()> {
        let Some(Alarm::Task(waker)) = self.timers.alarms.get_mut(&key) else { return Poll::Ready(()) };
        keep(waker, context, &mut self.effects);
        Poll::Pending
    }

    /// No task waits for an alarm any more.
    pub(crate) fn clear_alarm(&mut self, key: AlarmKey) {
        if let Some(Alarm::Task(Some(waker))) = self.timers.alarms.remove(&key) {
            // A waker that is let go of may run code, which is done unlocked.
            self.effects.drop_waker(waker);
        }
    }

    /// A call that was just written may take so long, counted from when it was made.
    pub(crate) fn limit_call(&mut self, id: i64, started: Instant, timeouts: CallTimeouts) {
        let Some(deadline) = timeouts.deadline(started, started) else { return };
        let alarm = self.set(deadline, Alarm::Call(id));
        let clock = Box::new(CallClock { timeouts, started, heard: started, alarm });
        if let Err(clock) = self.calls.set_clock(id, clock) {
            self.timers.stop(Some(clock));
        }
    }

    /// A report on a call has come in; the time may start again.
    pub(super) fn restart_timeout(&mut self, id: i64) {
        let Some(now) = self.timers.now() else { return };
        let Some(clock) = self.calls.clock_mut(id) else { return };
        if !clock.timeouts.reset_on_progress {
            return;
        }
        // What is heard late in a burst does not count less than what was heard before.
        clock.heard = clock.heard.max(now);
        if let Some(deadline) = clock.timeouts.deadline(clock.started, clock.heard)
            && self.timers.alarms.remove(&clock.alarm).is_some()
        {
            clock.alarm = self.timers.set(deadline, Alarm::Call(id));
        }
    }

    /// Does everything that is due.
    pub(super) fn ring(&mut self, now: Instant) {
        while let Some(alarm) = self.timers.take_due(now) {
            match alarm {
                Alarm::Call(id) => self.overdue(id),
                Alarm::Task(waker) => {
                    if let Some(waker) = waker {
                        self.effects.wake(waker);
                    }
                }
            }
        }
    }

    /// A call has taken too long: it is cancelled if it may be, and ends.
    fn overdue(&mut self, id: i64) {
        let Some((message, clock)) = self.calls.take_clock(id) else { return };
        let (after, what) = clock.timeouts.reached(clock.started, clock.heard);
        let error = Error::Timeout { message: self.name(message), method: self.method(message), after, what };
        if self.message(message).is_some_and(|message| message.cancellable) {
            let reason = self.reason(&error);
            // If it can no longer be cancelled, its reply is dropped when it comes.
            let _ = self.cancel_with(Caller::ANY, id, reason.as_deref(), error.clone());
        }
        // Where it was cancelled, that is recorded already.
        self.trace_over(Direction::Send, &RequestId::Number(id), Outcome::Timeout);
        self.complete(id, Err(error));
    }

    /// What a cancel says in addition to the id of the request.
    pub(crate) fn reason(&self, error: &Error) -> Option<String> {
        let field = self.options.cancel_reason?;
        let (_, place) = self.names.cancels(&self.protocol)?;
        // The id may stand at the place that the reason would have.
        let free = place.first().is_some_and(|first| **first != *field);
        free.then(|| serde_json::json!({ field: error.to_string() }).to_string())
    }
}
