//! What is due: alarms of tasks, and calls that have taken too long.

use std::task::{Context, Poll};
use std::time::Instant;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::Direction;

use super::owners::context::Caller;
use super::owners::timers::{Alarm, AlarmKey};
use super::owners::trace::Outcome;
use super::state::Engine;
use crate::error::Error;
use crate::options::CallTimeouts;

impl Engine {
    /// Asks for the task that polls the alarm to be woken at an instant.
    pub(crate) fn set_alarm(&mut self, at: Instant) -> AlarmKey {
        self.timers.set_alarm(at, &mut self.effects)
    }

    /// Waits for an alarm.
    pub(crate) fn poll_alarm(&mut self, context: &Context<'_>, key: AlarmKey) -> Poll<()> {
        self.timers.poll_alarm(key, context, &mut self.effects)
    }

    /// No task waits for an alarm any more.
    pub(crate) fn clear_alarm(&mut self, key: AlarmKey) {
        self.timers.clear_alarm(key, &mut self.effects);
    }

    /// A call that was just written may take so long, counted from when it was made.
    pub(crate) fn limit_call(&mut self, id: i64, started: Instant, timeouts: CallTimeouts) {
        if let Some(clock) = self.timers.start(id, started, timeouts, &mut self.effects)
            && let Err(clock) = self.calls.set_clock(id, clock)
        {
            self.timers.stop(Some(clock));
        }
    }

    /// A report on a call has come in; the time may start again.
    pub(super) fn restart_timeout(&mut self, id: i64) {
        if let Some(clock) = self.calls.clock_mut(id) {
            self.timers.restart(id, clock);
        }
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

    /// A call has taken too long: it is cancelled if it may be, and ends.
    fn overdue(&mut self, id: i64) {
        let Some((message, clock)) = self.calls.take_clock(id) else { return };
        let (after, what) = clock.reached();
        let error = Error::Timeout {
            message: self.rules.name(message),
            method: self.rules.method(message),
            after,
            what,
        };
        if self.rules.message(message).is_some_and(|message| message.cancellable) {
            let reason = self.reason(&error);
            // If it can no longer be cancelled, its reply is dropped when it comes.
            let _ = self.cancel_with(Caller::ANY, id, reason.as_deref(), error.clone());
        }
        // Where it was cancelled, that is recorded already.
        self.traces.over(Direction::Send, &RequestId::Number(id), Outcome::Timeout);
        self.complete(id, Err(error));
    }

    /// What a cancel says in addition to the id of the request.
    pub(crate) fn reason(&self, error: &Error) -> Option<String> {
        let field = self.rules.options().cancel_reason?;
        let (_, cancels) = self.rules.cancels()?;
        // The id may stand at the place that the reason would have.
        let free = cancels.id.first().is_some_and(|first| **first != *field);
        free.then(|| serde_json::json!({ field: error.to_string() }).to_string())
    }
}
