//! Futures that run side by side.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Runs all of them, and returns what they return, in their order. With the first that fails the others are dropped.
pub(crate) async fn try_all<T, E>(
    futures: impl IntoIterator<Item = impl Future<Output = Result<T, E>>>,
) -> Result<Vec<T>, E> {
    let mut running: Vec<_> = futures.into_iter().map(|future| Running::Begun(Box::pin(future))).collect();
    let mut left = running.len();
    let woken = Woken::all(left);
    poll_fn(|context| {
        for index in woken.take(context.waker()) {
            let Some(place) = running.get_mut(index) else { continue };
            let Running::Begun(future) = place else { continue };
            let waker = Waker::from(Arc::new(Alarm { index, woken: Arc::clone(&woken) }));
            if let Poll::Ready(returned) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                *place = Running::Returned(returned?);
                left -= 1;
            }
        }
        if left == 0 { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await?;
    Ok(running.into_iter().filter_map(Running::returned).collect())
}

enum Running<F, T> {
    Begun(Pin<Box<F>>),
    Returned(T),
}

impl<F, T> Running<F, T> {
    fn returned(self) -> Option<T> {
        match self {
            Running::Begun(_) => None,
            Running::Returned(value) => Some(value),
        }
    }
}

/// Which futures have to be polled: a peer chooses how many there are, so that not all are for each that is woken.
struct Woken(Mutex<(Vec<usize>, Option<Waker>)>);

impl Woken {
    fn all(count: usize) -> Arc<Woken> {
        Arc::new(Woken(Mutex::new(((0..count).collect(), None))))
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<usize>, Option<Waker>)> {
        // What is done under the lock does not panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes those that were woken; the task is woken for the next ones.
    fn take(&self, task: &Waker) -> Vec<usize> {
        let mut woken = self.lock();
        let (indexes, before) = (std::mem::take(&mut woken.0), woken.1.replace(task.clone()));
        drop(woken);
        drop(before);
        indexes
    }
}

/// Notes that one of them is woken.
struct Alarm {
    index: usize,
    woken: Arc<Woken>,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        let mut woken = self.woken.lock();
        woken.0.push(self.index);
        let task = woken.1.take();
        drop(woken);
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{pending, ready};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn they_return_in_their_order_however_they_end() {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..100).map(|_| oneshot::channel()).unzip();
        let ending = tokio::spawn(async move {
            for (value, sender) in senders.into_iter().enumerate().rev() {
                sender.send(value).unwrap();
                tokio::task::yield_now().await;
            }
        });
        let polls = Cell::new(0);
        let counted = receivers.into_iter().map(|mut receiver| {
            let polls = &polls;
            poll_fn(move |context| {
                polls.set(polls.get() + 1);
                Pin::new(&mut receiver).poll(context)
            })
        });
        assert_eq!(try_all(counted).await, Ok((0..100).collect()));
        assert_eq!(polls.get(), 200, "each is polled at first and when it was woken");
        ending.await.unwrap();
    }

    #[tokio::test]
    async fn the_first_that_fails_ends_the_others() {
        let (kept, dropped) = oneshot::channel::<()>();
        let waiting: Pin<Box<dyn Future<Output = Result<(), &str>>>> = Box::pin(async move {
            let _kept = kept;
            pending().await
        });
        assert_eq!(try_all([waiting, Box::pin(ready(Err("failed")))]).await, Err("failed"));
        assert!(dropped.await.is_err());
    }

    #[tokio::test]
    async fn none_are_done_at_once() {
        assert_eq!(try_all(Vec::<std::future::Ready<Result<(), ()>>>::new()).await, Ok(Vec::new()));
    }
}
