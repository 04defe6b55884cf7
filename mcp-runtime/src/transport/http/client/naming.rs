//! [`Naming`]: the requests on their way whose answers may name a session, which is not to be left to the server.

use tokio::sync::watch;

/// The requests whose answers may name a session.
///
/// Invariant: each counts from before it is sent until the head of its answer has been looked at, or it has failed.
#[derive(Debug, Default)]
pub(super) struct Naming(watch::Sender<usize>);

impl Naming {
    /// A request that may name a session is sent.
    pub(super) fn begin(&self) -> NamingRequest<'_> {
        self.0.send_modify(|running| *running = running.saturating_add(1));
        NamingRequest(self)
    }

    /// Waits until none of them is on its way.
    pub(super) async fn done(&self) {
        // It ends with the sender, which is borrowed.
        let _ = self.0.subscribe().wait_for(|running| *running == 0).await;
    }
}

/// A request whose answer may name a session, until it is dropped.
#[derive(Debug)]
pub(super) struct NamingRequest<'a>(&'a Naming);

impl Drop for NamingRequest<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|running| *running = running.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn all_are_waited_for() {
        let naming = Naming::default();
        let (one, other) = (naming.begin(), naming.begin());
        let mut done = pin!(naming.done());
        let mut context = Context::from_waker(Waker::noop());
        assert!(done.as_mut().poll(&mut context).is_pending());
        drop(one);
        assert!(done.as_mut().poll(&mut context).is_pending());
        drop(other);
        assert!(done.as_mut().poll(&mut context).is_ready());
    }
}
