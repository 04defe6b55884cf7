//! [`Exchanges`]: the exchanges of a sub-session without types, besides those of its linear channels.

use std::task::{Context, Poll};

use mcp_protocol_machine::RequestId;

use crate::engine::{Link, Sent};

/// The exchanges that a `*` in the body of a sub-session has opened. A session keeps its own in a mailbox.
///
/// Invariant: each request of this side is here until its outcome was returned, and each of the peer until it is answered.
/// Those of this side that are left when this is dropped are let go of; those of the peer get their error from the value
/// of the sub-session.
pub(super) struct Exchanges {
    link: Link,
    /// The requests of this side, in the order in which they were sent.
    asked: Vec<i64>,
    /// The requests of the peer.
    held: Vec<RequestId>,
}

impl Exchanges {
    pub(super) fn new(link: Link) -> Exchanges {
        Exchanges { link, asked: Vec::new(), held: Vec::new() }
    }

    /// A request of this side was sent.
    pub(super) fn ask(&mut self, id: i64) {
        self.asked.push(id);
    }

    /// A request of the peer was returned to the program.
    pub(super) fn hold(&mut self, id: RequestId) {
        self.held.push(id);
    }

    /// A request of the peer is about to be answered. Returns whether it was held.
    pub(super) fn release(&mut self, id: &RequestId) -> bool {
        let place = self.held.iter().position(|held| held == id);
        place.map(|place| self.held.swap_remove(place)).is_some()
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
