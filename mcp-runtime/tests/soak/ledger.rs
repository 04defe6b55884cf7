//! Records what both sides did, and the outcomes.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::{DropReason, Options, Report};

/// How a session comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// When everybody has done what they wanted.
    InOrder,
    /// The wire is cut, or the child dies.
    Cut,
    CallerCloses,
    CallerAborts,
    ServiceAborts,
}

/// The accounts of one session.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Calls that were made, and those of them that have come to an outcome or were dropped.
    pub(crate) made: AtomicUsize,
    pub(crate) settled: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
    /// Those that gave a result.
    pub(crate) answered: AtomicUsize,
    /// Handlers that have begun, and those that have ended or were dropped.
    pub(crate) begun: AtomicUsize,
    pub(crate) ended: AtomicUsize,
    /// Lines of garbage that a side should have noticed.
    pub(crate) garbage: [AtomicUsize; 2],
    /// What each side noticed of the other's mistakes.
    pub(crate) noticed: [AtomicUsize; 2],
    /// Answers to such lines, which say that they could not be read.
    pub(crate) complaints: AtomicUsize,
    pub(crate) bells_sent: AtomicU32,
    pub(crate) bells_heard: AtomicU32,
    pub(crate) notes_sent: AtomicU32,
    pub(crate) notes_heard: AtomicU32,
    /// Somebody has begun to end the session, so calls may fail for that.
    pub(crate) over: AtomicBool,
    /// There is little room, so requests may be refused and notifications dropped.
    pub(crate) tight: AtomicBool,
    /// The same in words, for a failure's report.
    reports: Mutex<Vec<String>>,
    /// What should not have happened.
    problems: Mutex<Vec<String>>,
}

/// Whose account.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    Caller,
    Service,
}

impl Ledger {
    pub(crate) fn add(count: &AtomicUsize) {
        count.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    pub(crate) fn is_tight(&self) -> bool {
        self.tight.load(Ordering::SeqCst)
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    pub(crate) fn problem(&self, problem: String) {
        self.problems.lock().unwrap().push(problem);
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        self.problems.lock().unwrap().clone()
    }

    /// Settings that keep the accounts.
    pub(crate) fn options(self: &Arc<Self>, whose: Whose) -> Options {
        let ledger = Arc::clone(self);
        let options = Options::new()
            .max_message_bytes(64 * 1024)
            .answer_grace(Duration::from_secs(1))
            .on_report(move |report| match report {
                Report::Violation(_) | Report::Malformed { .. } => {
                    Ledger::add(&ledger.noticed[whose as usize]);
                    ledger.reports.lock().unwrap().push(format!("{whose:?}: {report:.100}"));
                }
                Report::Complaint { .. } => Ledger::add(&ledger.complaints),
                // The two sides play what their handlers have, and no more.
                Report::Unhandled { .. } => {}
                // What comes for a sub-session whose value was dropped, or that is being left or cancelled meanwhile.
                Report::Dropped { cause: DropReason::Abandoned, .. }
                | Report::ManyDropped { cause: DropReason::Abandoned, .. } => {}
                Report::Late { message, .. } if message == "Updated" => {}
                Report::Dropped { message, cause: DropReason::TooLate } if message == "Updated" => {}
                // What stands at an end. Whether anything was lost in order is counted apart.
                Report::Dropped { cause: DropReason::PeerClosed | DropReason::Closed, .. } => {}
                Report::Dropped { cause: DropReason::QueueFull | DropReason::TooMany, .. }
                    if ledger.is_tight() => {}
                other => ledger.problem(format!("{whose:?} was told: {other}")),
            });
        if self.is_tight() {
            options.max_incoming(4).max_handlers(2).max_requests(8).output_high_water(300).max_progress(2)
        } else {
            options
        }
    }
}

/// Counts a handler, however it ends.
pub(crate) struct Begun<'a>(&'a Ledger);

impl Begun<'_> {
    pub(crate) fn new(ledger: &Ledger) -> Begun<'_> {
        Ledger::add(&ledger.begun);
        Begun(ledger)
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        Ledger::add(&self.0.ended);
    }
}
