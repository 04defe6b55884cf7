//! Limits that several sessions share.

use std::sync::{Arc, Mutex, PoisonError};

use crate::budget::Account;
use crate::report::{LimitedReport, ReportLimit};

/// Limits that a session shares with others, as the sessions of one HTTP server do. By default there are none.
///
/// A transport returns them from [`Transport::limits`](super::Transport::limits).
#[derive(Clone, Debug, Default)]
pub struct SharedLimits {
    /// How many handlers of requests, and of sub-sessions that the peer opened, may run.
    pub(crate) handlers: Account,
    /// How many bytes the messages of the peer may have that wait or are being worked on.
    pub(crate) bytes: Account,
    /// How many reports there are of texts that are not messages.
    pub(crate) malformed: MalformedReports,
}

impl SharedLimits {
    /// The same for the sessions of one connection, which count such reports together.
    pub(crate) fn with_shared_reports(self) -> SharedLimits {
        SharedLimits { malformed: MalformedReports::Shared(Arc::default()), ..self }
    }
}

/// Limits the reports of texts that are not messages.
#[derive(Clone, Debug)]
pub(crate) enum MalformedReports {
    /// Those of one session. A clone begins where this one is.
    Own(ReportLimit),
    /// Those of all sessions of one connection. Clones count together.
    Shared(Arc<Mutex<ReportLimit>>),
}

impl MalformedReports {
    /// There is another report. Returns what is passed on of it.
    pub(crate) fn another(&mut self) -> LimitedReport {
        self.with(ReportLimit::another)
    }

    /// How many reports there were, at the end of a session, if that was not said yet.
    pub(crate) fn rest(&mut self) -> Option<u64> {
        self.with(ReportLimit::rest)
    }

    fn with<T>(&mut self, count: impl FnOnce(&mut ReportLimit) -> T) -> T {
        match self {
            MalformedReports::Own(limit) => count(limit),
            // What is done under the lock does not panic.
            MalformedReports::Shared(limit) => {
                count(&mut limit.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }
}

impl Default for MalformedReports {
    fn default() -> MalformedReports {
        MalformedReports::Own(ReportLimit::default())
    }
}
