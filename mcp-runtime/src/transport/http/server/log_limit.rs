//! Limits how often a log line is written that clients can trigger.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::Bucket;
use crate::options::RateLimit;

/// So many lines at once, and in a minute.
const RATE: RateLimit = RateLimit::new(10, Duration::from_secs(60));

/// Holds back log lines.
///
/// Invariant: each line says how many were suppressed since the one before.
#[derive(Debug, Default)]
pub(super) struct LogLimit(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    bucket: Bucket,
    held_back: u64,
}

impl LogLimit {
    /// Whether a line is to be logged now, and if so how many were held back before it.
    pub(super) fn line(&self, now: Instant) -> Option<u64> {
        // What is done under the lock does not panic.
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.bucket.take(RATE, now).is_err() {
            lines.held_back = lines.held_back.saturating_add(1);
            return None;
        }
        Some(std::mem::take(&mut lines.held_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_were_held_back_are_counted() {
        let (limit, now) = (LogLimit::default(), Instant::now());
        assert!((0..10).all(|_| limit.line(now) == Some(0)));
        assert!((0..500).all(|_| limit.line(now).is_none()));
        assert_eq!(limit.line(now + Duration::from_secs(6)), Some(500));
        assert_eq!(limit.line(now + Duration::from_secs(12)), Some(0));
    }
}
