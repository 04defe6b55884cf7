//! Tasks to be woken, and what else an engine does outside of its lock.
//!
//! In: wakers and reports, while the engine is locked. Out: the same, run once it is unlocked: a waker may run code
//! that asks the engine again, and so may whoever reads reports. Refuses to lose one.

use std::task::{Context, Waker};

use tracing::Span;

use crate::options::Options;
use crate::report::Report;

/// Tasks that wait for the same thing.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Vec<Waker>);

impl Waiting {
    /// Adds the task at hand, once.
    pub(crate) fn register(&mut self, context: &Context<'_>) {
        if !self.0.iter().any(|waker| waker.will_wake(context.waker())) {
            self.0.push(context.waker().clone());
        }
    }

    /// Hands all of them over to be woken.
    pub(crate) fn wake(&mut self, effects: &mut Effects) {
        for waker in self.0.drain(..) {
            effects.wake(waker);
        }
    }
}

/// What is to be done once the engine is unlocked.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    // Most of the time there are two tasks to wake, the driver's and one other; these need no list.
    first: Option<Waker>,
    second: Option<Waker>,
    more: Vec<Waker>,
    reports: Vec<Report>,
}

impl Effects {
    /// Wakes a task.
    pub(crate) fn wake(&mut self, waker: Waker) {
        if self.first.is_none() {
            self.first = Some(waker);
        } else if self.second.is_none() {
            self.second = Some(waker);
        } else {
            self.more.push(waker);
        }
    }

    /// Reports something.
    pub(crate) fn report(&mut self, report: Report) {
        self.reports.push(report);
    }

    /// Takes everything out, to be run unlocked; nothing where there is nothing to do, as after most questions.
    pub(crate) fn take(&mut self) -> Option<Effects> {
        // The first place is filled before the others.
        if self.first.is_none() && self.reports.is_empty() {
            return None;
        }
        Some(std::mem::take(self))
    }

    /// Does it.
    pub(crate) fn run(self, options: &Options, session: &Span) {
        if !self.reports.is_empty() {
            session.in_scope(|| self.reports.iter().for_each(|report| options.report(report)));
        }
        if let Some(first) = self.first {
            first.wake();
        }
        if let Some(second) = self.second {
            second.wake();
        }
        for waker in self.more {
            waker.wake();
        }
    }
}
