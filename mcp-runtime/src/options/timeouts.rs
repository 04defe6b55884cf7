//! Timeouts of calls.

use std::time::{Duration, Instant};

use crate::error::TimeoutKind;

/// How long a call may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallTimeouts {
    /// From when it was made, or from the last report on it if reports renew the time.
    pub(crate) timeout: Option<Duration>,
    /// From when it was made, whatever is reported.
    pub(crate) most: Option<Duration>,
    /// Whether a report starts `timeout` again.
    pub(crate) reset_on_progress: bool,
}

impl CallTimeouts {
    /// Whether there is an end to it.
    pub(crate) fn is_limited(&self) -> bool {
        self.timeout.is_some() || self.most.is_some()
    }

    /// When it ends, if the call was made at one instant and last heard of at another.
    pub(crate) fn deadline(&self, started: Instant, heard: Instant) -> Option<Instant> {
        let silent = self.timeout.and_then(|timeout| heard.checked_add(timeout));
        let whole = self.most.and_then(|most| started.checked_add(most));
        silent.into_iter().chain(whole).min()
    }

    /// The limit that was reached when the deadline passed, and which one it was.
    pub(crate) fn reached(&self, started: Instant, heard: Instant) -> (Duration, TimeoutKind) {
        let silent = self.timeout.and_then(|timeout| heard.checked_add(timeout));
        let whole = self.most.and_then(|most| started.checked_add(most));
        let (timeout, most) = (self.timeout.unwrap_or_default(), self.most.unwrap_or_default());
        match (silent, whole) {
            (Some(silent), Some(whole)) if silent > whole => (most, TimeoutKind::Total),
            (Some(_), _) => (timeout, TimeoutKind::Reply),
            (None, _) => (most, TimeoutKind::Total),
        }
    }
}
