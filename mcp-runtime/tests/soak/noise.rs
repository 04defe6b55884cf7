//! Pseudo-random numbers from a seed.

use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Noise {
        Noise(seed)
    }

    /// Another source, for another task.
    pub(crate) fn fork(&mut self) -> Noise {
        Noise(self.next())
    }

    fn next(&mut self) -> u64 {
        // splitmix64: neighbouring seeds have nothing in common.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A short time, often none at all.
    pub(crate) fn moment(&mut self) -> Duration {
        Duration::from_millis(self.below(8).saturating_sub(3) as u64)
    }

    /// Waits for one.
    pub(crate) async fn dawdle(&mut self) {
        let moment = self.moment();
        if moment.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(moment).await;
        }
    }
}
