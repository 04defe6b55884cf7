//! How often something may happen.
//!
//! In: times, a period, and how many may come at once. Out: [`RateLimit`], by which
//! [`Options::request_rate`](crate::Options::request_rate) holds a peer back.

use std::time::Duration;

/// How often something may happen: so many times in so much time, and some of them at once.
///
/// ```
/// # use std::time::Duration;
/// # use mcp_runtime::{Options, RateLimit};
/// let options = Options::new().request_rate(RateLimit::new(50, Duration::from_secs(1)).burst(200));
/// # drop(options);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimit {
    /// How many times.
    pub times: u32,
    /// In how much time.
    pub period: Duration,
    /// How many of them may come at once, after a time in which there were none. At least one.
    pub burst: u32,
}

impl RateLimit {
    /// So many times in so much time, and as many at once.
    pub const fn new(times: u32, period: Duration) -> RateLimit {
        RateLimit { times, period, burst: times }
    }

    /// The same with another number that may come at once.
    #[must_use]
    pub const fn burst(mut self, burst: u32) -> RateLimit {
        self.burst = burst;
        self
    }

    /// The time from one to the next where they come evenly.
    pub(crate) fn interval(self) -> Duration {
        self.period / self.times.max(1)
    }
}
