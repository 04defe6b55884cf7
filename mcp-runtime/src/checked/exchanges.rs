//! [`Exchanges`]: the exchanges of a sub-session without types, besides those of its linear channels.

use std::task::{Context, Poll};

use mcp_protocol_machine::RequestId;

use crate::engine::{Link, Sent, Waiter};

/// The exchanges that a `*` in the body of a sub-session has opened, and which requests of the peer may be cancelled, those
/// of its linear channels among them. A session keeps its own in a mailbox.
///
/// Invariant: each request of this side is here until its outcome was returned, and each of the peer until it is answered.
/// Each cancel is returned once. Those of this side that are left when this is dropped are let go of; those of
/// the peer get their error from the value of the sub-session.
pub(super) struct Exchanges {
    link: Link,
    /// The requests of this side, in the order in which they were sent.
    asked: Vec<i64>,
    /// The requests of the peer.
    held: Vec<RequestId>,
    /// What waits for the cancels of requests of the peer that the program has. What was answered stays until the next poll.
    cancels: Vec<(RequestId, Waiter)>,
}

impl Exchanges {
    pub(super) fn new(link: Link) -> Exchanges {
        Exchanges { link, asked: Vec::new(), held: Vec::new(), cancels: Vec::new() }
    }

    /// A request of this side was sent.
    pub(super) fn ask(&mut self, id: i64) {
        self.asked.push(id);
    }

    /// A request of the peer was returned to the program.
    pub(super) fn hold(&mut self, id: RequestId) {
        self.watch(id.clone());
        self.held.push(id);
    }

    /// The same for one of a linear channel, which is held there.
    pub(super) fn watch(&mut self, id: RequestId) {
        self.cancels.push((id, Waiter::default()));
    }

    /// The request of the peer that was cancelled, of those that are held here or for which `is_open`.
    pub(super) fn poll_cancel(
        &mut self,
        context: &Context<'_>,
        is_open: impl Fn(&RequestId) -> bool,
    ) -> Poll<RequestId> {
        let held = &self.held;
        self.cancels.retain(|(id, _)| held.contains(id) || is_open(id));
        let link = &self.link;
        let cancelled = self.cancels.iter_mut().position(|(id, waiter)| {
            let poll = link.speak(|engine, caller| engine.poll_cancelled(caller, context, waiter, Some(id)));
            poll.is_ready()
        });
        match cancelled.map(|place| self.cancels.remove(place)) {
            Some((id, _)) => Poll::Ready(id),
            None => Poll::Pending,
        }
    }

    /// Whether a request of the peer is held here.
    pub(super) fn holds(&self, id: &RequestId) -> bool {
        self.held.contains(id)
    }

    /// A request of the peer is answered, or cannot be any more.
    pub(super) fn release(&mut self, id: &RequestId) {
        self.held.retain(|held| held != id);
    }

    /// The requests of this side whose outcome was not returned.
    pub(super) fn asked(&self) -> &[i64] {
        &self.asked
    }

    /// The requests of the peer that are not answered.
    pub(super) fn held(&self) -> &[RequestId] {
        &self.held
    }

    /// The outcome of one of the requests of this side, or progress on it.
    pub(super) fn poll_reply(&mut self, context: &Context<'_>) -> Poll<(RequestId, Sent)> {
        for (place, number) in self.asked.iter().copied().enumerate() {
            let polled = self.link.speak(|engine, caller| engine.calls().poll_call(caller, context, number));
            let Poll::Ready(sent) = polled else { continue };
            if matches!(sent, Sent::Done(_)) {
                self.asked.remove(place);
            }
            return Poll::Ready((RequestId::Number(number), sent));
        }
        Poll::Pending
    }
}

impl Drop for Exchanges {
    fn drop(&mut self) {
        for id in &self.asked {
            self.link.speak(|engine, caller| engine.let_go(caller, *id));
        }
    }
}
