//! The handler of a call, in its rounds and between them.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::task::JoinSet;
use tracing::Span;

/// A handler that may take several rounds.
///
/// While a request is answered, the future that answers it polls the handler: so handlers begin in the order of their
/// requests and within the spans of these, and a panic is reported where the request is. Between two rounds a task polls
/// it, for it may have more to do than to wait.
///
/// Invariant: the handler is polled by one of the two at a time. Dropping this drops it.
pub(super) struct RunningHandler<R> {
    stage: Arc<Mutex<Stage<R>>>,
    /// The task that polls the handler between two rounds.
    between: JoinSet<()>,
}

enum Stage<R> {
    Running(Pin<Box<dyn Future<Output = R> + Send>>),
    /// It has returned between two rounds.
    Returned(R),
    /// It has panicked between two rounds.
    Panicked(Box<dyn Any + Send>),
    Over,
}

fn locked<R>(stage: &Mutex<Stage<R>>) -> MutexGuard<'_, Stage<R>> {
    // A handler that has panicked is never polled again.
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: Send + 'static> RunningHandler<R> {
    pub(super) fn new(handler: impl Future<Output = R> + Send + 'static) -> RunningHandler<R> {
        let stage = Stage::Running(Box::pin(handler));
        RunningHandler { stage: Arc::new(Mutex::new(stage)), between: JoinSet::new() }
    }

    /// Goes on with the handler, in the future that answers a request. Returns once what the handler has returned.
    ///
    /// # Panics
    /// If the handler panics, or did between two rounds.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<Option<R>> {
        let mut stage = locked(&self.stage);
        if let Stage::Running(handler) = &mut *stage {
            let returned = ready!(handler.as_mut().poll(context));
            *stage = Stage::Over;
            return Poll::Ready(Some(returned));
        }
        let ended = std::mem::replace(&mut *stage, Stage::Over);
        drop(stage);
        match ended {
            Stage::Returned(returned) => Poll::Ready(Some(returned)),
            Stage::Panicked(panic) => resume_unwind(panic),
            Stage::Running(_) | Stage::Over => Poll::Ready(None),
        }
    }

    /// The request has its answer, and the handler goes on by itself, within the span of that request.
    pub(super) fn leave(&mut self) {
        let (stage, span) = (Arc::clone(&self.stage), Span::current());
        self.between.spawn(poll_fn(move |context| {
            let _within = span.enter();
            let mut stage = locked(&stage);
            let Stage::Running(handler) = &mut *stage else { return Poll::Ready(()) };
            match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context))) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(returned)) => *stage = Stage::Returned(returned),
                Err(panic) => *stage = Stage::Panicked(panic),
            }
            Poll::Ready(())
        }));
    }

    /// The next request has come.
    pub(super) fn return_to(&mut self) {
        self.between.abort_all();
    }
}

impl<R> Drop for RunningHandler<R> {
    fn drop(&mut self) {
        let stage = std::mem::replace(&mut *locked(&self.stage), Stage::Over);
        drop(stage);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[tokio::test]
    async fn a_handler_goes_on_between_two_rounds_and_is_dropped_with_its_call() {
        let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let mut running = RunningHandler::new(async move {
            said.send("begun").unwrap();
            tokio::task::yield_now().await;
            said.send("gone on").unwrap();
            std::future::pending::<()>().await;
        });
        assert!(running.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(heard.try_recv(), Ok("begun"));
        assert!(heard.try_recv().is_err());
        running.leave();
        assert_eq!(heard.recv().await, Some("gone on"));
        running.return_to();
        drop(running);
        assert_eq!(heard.recv().await, None);
    }

    #[tokio::test]
    async fn what_is_returned_between_two_rounds_is_the_answer_to_the_next() {
        let (said, heard) = tokio::sync::oneshot::channel::<()>();
        let mut running = RunningHandler::new(async move {
            tokio::task::yield_now().await;
            drop(said);
            "returned"
        });
        let mut context = Context::from_waker(Waker::noop());
        assert!(running.poll(&mut context).is_pending());
        running.leave();
        assert!(heard.await.is_err());
        running.return_to();
        assert_eq!(running.poll(&mut context), Poll::Ready(Some("returned")));
        assert_eq!(running.poll(&mut context), Poll::Ready(None));
    }

    #[tokio::test]
    async fn a_panic_between_two_rounds_is_one_of_the_next() {
        let (said, heard) = tokio::sync::oneshot::channel::<()>();
        let mut running = RunningHandler::new(async move {
            tokio::task::yield_now().await;
            drop(said);
            std::panic::resume_unwind(Box::new("late"));
        });
        assert!(running.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        running.leave();
        assert!(heard.await.is_err());
        running.return_to();
        let mut next = Context::from_waker(Waker::noop());
        let caught = catch_unwind(AssertUnwindSafe(|| running.poll(&mut next)));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"late"));
    }
}
