//! Waits for the end of a session, at no cost while the session goes on.

use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::bell::Bell;
use crate::engine::{Engine, Link};

/// Waits until a session has been over for so long; without a limit it does not end.
pub(super) async fn overtime(link: &Link, limit: Option<Duration>) {
    let Some(limit) = limit else { return pending().await };
    let past_end = pin!(async {
        link.wait(Engine::poll_ending).await;
        // Boxed, so that it takes no memory before the end.
        Box::pin(tokio::time::sleep(limit)).await;
    });
    when_woken(past_end).await;
}

/// Polls a future only after it was woken. A task that works on many messages, and also waits for something rare,
/// would otherwise ask for it with each message.
async fn when_woken<T>(mut future: Pin<&mut impl Future<Output = T>>) -> T {
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut task: Option<Waker> = None;
    poll_fn(|context| {
        if task.as_ref().is_none_or(|task| !task.will_wake(context.waker())) {
            // What has woken the task that polled it before is looked for here.
            bell.ring_in(context.waker().clone());
            task = Some(context.waker().clone());
        } else if !bell.has_rung() {
            return Poll::Pending;
        }
        bell.take_rung();
        future.as_mut().poll(&mut Context::from_waker(&waker))
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::sync::atomic::Ordering;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct WakeCount(std::sync::atomic::AtomicUsize);

    impl Wake for WakeCount {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn is_polled_at_first_after_a_wake_and_by_another_task() {
        let (polls, inner, done) = (Cell::new(0), RefCell::new(None::<Waker>), Cell::new(false));
        let counted = pin!(poll_fn(|context| {
            polls.set(polls.get() + 1);
            *inner.borrow_mut() = Some(context.waker().clone());
            if done.get() { Poll::Ready(7) } else { Poll::Pending }
        }));
        let mut future = pin!(when_woken(counted));
        let (first, second) = (Arc::new(WakeCount::default()), Arc::new(WakeCount::default()));
        let woken = |task: &Arc<WakeCount>| task.0.load(Ordering::SeqCst);
        let (waker, other) = (Waker::from(first.clone()), Waker::from(second.clone()));
        for _ in 0..3 {
            assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!(polls.get(), 1);
        inner.borrow().as_ref().unwrap().wake_by_ref();
        assert_eq!((woken(&first), woken(&second)), (1, 0));
        for _ in 0..3 {
            assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!(polls.get(), 2);
        assert!(future.as_mut().poll(&mut Context::from_waker(&other)).is_pending());
        assert_eq!(polls.get(), 3, "another task polls it now");
        done.set(true);
        inner.borrow().as_ref().unwrap().wake_by_ref();
        assert_eq!((woken(&first), woken(&second)), (1, 1));
        assert_eq!(future.as_mut().poll(&mut Context::from_waker(&other)), Poll::Ready(7));
    }
}
