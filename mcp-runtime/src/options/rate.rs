//! [`RateLimit`]: how many requests a peer may make in a period.

use std::time::Duration;

/// How many requests are permitted in a period, and how many of them at once.
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
    /// The number of requests in a period.
    pub times: u32,
    /// The length of the period.
    pub period: Duration,
    /// How many requests may come at once after an idle time. At least one.
    pub burst: u32,
}

impl RateLimit {
    /// Creates a limit of `times` requests in each `period`, with a burst of `times`.
    pub const fn new(times: u32, period: Duration) -> RateLimit {
        RateLimit { times, period, burst: times }
    }

    /// Sets how many requests may come at once.
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
