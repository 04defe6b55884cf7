//! Tasks to be woken, and what else an engine does outside of its lock.
//!
//! In: wakers and reports, while the engine is locked. Out: the same, run once it is unlocked: a waker may run code
//! that asks the engine again, and so may whoever reads reports. Refuses to lose one.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};

use mcp_protocol_machine::protocol::Text;
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

/// What is called with each report of the peer on a request.
pub(crate) type OnProgress = Box<dyn FnMut(&str) -> Result<(), serde_json::Error> + Send>;

/// Hears the reports on a copy whose opener has its reply.
#[derive(Clone)]
pub(crate) struct Listener {
    on_progress: Arc<Mutex<OnProgress>>,
    /// The request that opened the copy, by its name in the `.session` file.
    message: Text,
}

impl Listener {
    pub(crate) fn new(on_progress: OnProgress, message: Text) -> Listener {
        Listener { on_progress: Arc::new(Mutex::new(on_progress)), message }
    }

    fn hear(&self, report: &str, options: &Options) {
        let heard = self.on_progress.lock().unwrap_or_else(PoisonError::into_inner)(report);
        if let Err(error) = heard {
            options.report(&Report::unreadable(self.message.clone(), &error));
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Listener").field("message", &self.message).finish_non_exhaustive()
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
    heard: Vec<(Listener, Box<str>)>,
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

    /// Tells somebody of a report of the peer.
    pub(crate) fn tell(&mut self, listener: Listener, report: Box<str>) {
        self.heard.push((listener, report));
    }

    /// Takes everything out, to be run unlocked; nothing where there is nothing to do, as after most questions.
    pub(crate) fn take(&mut self) -> Option<Effects> {
        // The first place is filled before the others.
        if self.first.is_none() && self.reports.is_empty() && self.heard.is_empty() {
            return None;
        }
        Some(std::mem::take(self))
    }

    /// Does it.
    pub(crate) fn run(self, options: &Options, session: &Span) {
        if !self.reports.is_empty() {
            session.in_scope(|| self.reports.iter().for_each(|report| options.report(report)));
        }
        session.in_scope(|| self.heard.iter().for_each(|(listener, report)| listener.hear(report, options)));
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
