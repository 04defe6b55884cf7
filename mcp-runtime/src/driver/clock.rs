//! Runs the engine's clock, and notifies the engine once when its transport is dropped.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::time::Sleep;

use super::endpoint::{Endpoint, Finish, TransportEvent};
use crate::error::Outcome;

/// An endpoint with its clock.
///
/// Invariant: the endpoint learns once that the transport is gone, at the latest when this is dropped.
pub(crate) struct Clocked {
    endpoint: Arc<dyn Endpoint>,
    timer: Option<Pin<Box<Sleep>>>,
    terminated: bool,
}

impl Clocked {
    pub(crate) fn new(endpoint: Arc<dyn Endpoint>) -> Clocked {
        Clocked { endpoint, timer: None, terminated: false }
    }

    pub(crate) fn endpoint(&self) -> &dyn Endpoint {
        &*self.endpoint
    }

    /// Waits until the session has said everything, or is abandoned.
    pub(crate) async fn finish(&mut self) -> Finish {
        poll_fn(|context| self.poll(context, Some)).await
    }

    /// Waits until the session is abandoned, also if it has said everything before.
    pub(crate) async fn abandoned(&mut self) {
        poll_fn(|context| self.poll(context, |finish| (finish == Finish::Abandoned).then_some(()))).await;
    }

    /// Waits until the session is over in a way that is wanted, and tells it the time.
    pub(crate) fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        wanted: impl Fn(Finish) -> Option<T>,
    ) -> Poll<T> {
        loop {
            let status = self.endpoint.status(context);
            if let Some(wanted) = status.finish.and_then(&wanted) {
                return Poll::Ready(wanted);
            }
            ready!(self.poll_timer(context, status.deadline));
        }
    }

    /// Tells the endpoint the time when its deadline has come.
    pub(crate) fn poll_timer(&mut self, context: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()> {
        let Some(deadline) = deadline else { return Poll::Pending };
        let deadline = tokio::time::Instant::from_std(deadline);
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        // A timer that is set too early costs one idle wake; moving it at every change would cost more.
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        loop {
            ready!(timer.as_mut().poll(context));
            let now = tokio::time::Instant::now();
            if now >= deadline {
                self.endpoint.tick(now.into_std());
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
    }

    /// Tells the endpoint that the transport is gone.
    pub(crate) fn terminate(mut self, outcome: Outcome) {
        self.terminated = true;
        self.endpoint.notify(TransportEvent::Terminated(outcome));
    }
}

impl fmt::Debug for Clocked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Clocked").field("terminated", &self.terminated).finish_non_exhaustive()
    }
}

impl Drop for Clocked {
    /// A transport that is dropped half-way still ends its session, so that no task waits for it indefinitely.
    fn drop(&mut self) {
        if !self.terminated {
            self.endpoint.notify(TransportEvent::Terminated(Outcome::Dropped));
        }
    }
}
