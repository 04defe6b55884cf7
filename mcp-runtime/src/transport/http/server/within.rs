//! [`within`]: waits for something, for a limited time.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::sleep;

/// Waits for something; `None` if it is not there in time. What is there at once takes no timer, and no look at the clock:
/// most bodies have come with their heads, and most requests without a session are answered in one go.
pub(super) async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut timer) = (pin!(work), pin!(None));
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        if timer.is_none() {
            timer.set(Some(sleep(limit)));
        }
        let over = timer.as_mut().as_pin_mut().is_some_and(|timer| timer.poll(context).is_ready());
        if over { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_with_the_work_or_with_the_time() {
        let limit = Duration::from_secs(10);
        let begun = Instant::now();
        assert_eq!(within(Duration::ZERO, async { 1 }).await, Some(1), "what is there is taken");
        assert_eq!(within(limit, async { sleep(limit / 2).await }).await, Some(()));
        assert_eq!(begun.elapsed(), limit / 2);
        assert_eq!(within(limit, std::future::pending::<()>()).await, None);
        assert_eq!(begun.elapsed(), limit + limit / 2);
    }
}
