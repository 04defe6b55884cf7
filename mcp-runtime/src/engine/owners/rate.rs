//! How fast the peer may ask: a bucket of tokens that keeps one instant.

use std::time::{Duration, Instant};

use crate::options::RateLimit;

/// What is left of the rate.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    /// When it will be full again.
    full: Option<Instant>,
}

impl Bucket {
    /// Takes one token; where there is none, tells how long until there is one.
    pub(crate) fn take(&mut self, rate: RateLimit, now: Instant) -> Result<(), Duration> {
        let token = rate.interval();
        let full = self.full.map_or(now, |full| full.max(now));
        let missing = full.saturating_duration_since(now).saturating_add(token);
        let all = token.saturating_mul(rate.burst.max(1));
        if missing > all {
            return Err(missing.saturating_sub(all));
        }
        self.full = full.checked_add(token);
        Ok(())
    }

    /// Whether it is as if nothing had been taken.
    #[cfg(feature = "http-server")]
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        self.full.is_none_or(|full| full <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_one_at_a_time() {
        let rate = RateLimit::new(10, Duration::from_secs(1)).burst(3);
        let mut bucket = Bucket::default();
        let mut now = Instant::now();
        for _ in 0..3 {
            bucket.take(rate, now).unwrap();
        }
        assert_eq!(bucket.take(rate, now), Err(Duration::from_millis(100)));
        now += Duration::from_millis(60);
        assert_eq!(bucket.take(rate, now), Err(Duration::from_millis(40)), "a refusal costs nothing");
        now += Duration::from_millis(40);
        bucket.take(rate, now).unwrap();
        assert!(bucket.take(rate, now).is_err());
        // Idle time fills it, and no further than to the burst.
        now += Duration::from_secs(3600);
        for _ in 0..3 {
            bucket.take(rate, now).unwrap();
        }
        assert!(bucket.take(rate, now).is_err());
        // A clock that goes back does not make it fuller.
        assert!(bucket.take(rate, now - Duration::from_secs(5)).is_err());
    }

    #[test]
    fn extreme_rates_do_not_overflow() {
        let now = Instant::now();
        for rate in [
            RateLimit::new(0, Duration::ZERO).burst(0),
            RateLimit::new(u32::MAX, Duration::MAX).burst(u32::MAX),
            RateLimit::new(0, Duration::MAX),
            RateLimit::new(1, Duration::from_nanos(1)),
        ] {
            let mut bucket = Bucket::default();
            assert!(bucket.take(rate, now).is_ok(), "the first one always passes: {rate:?}");
            let _ = bucket.take(rate, now);
        }
    }
}
