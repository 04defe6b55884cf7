//! Requests of the peer that this side has to answer.

use std::task::{Context, Poll};

use mcp_protocol_machine::RequestId;

use super::context::Caller;
use super::state::Engine;
use super::wakers::Waiter;

impl Engine {
    /// Whether a request of the peer was cancelled, or nobody waits for its answer any more.
    pub(crate) fn is_cancelled(&self, caller: Caller, id: Option<&RequestId>) -> bool {
        if self.lifecycle.is_over() || self.is_lost(caller) {
            return true;
        }
        // Once this side has closed the session, only requests that are still to be answered are worked on.
        id.and_then(|id| self.owed.get(id)).map_or(self.lifecycle.is_closing(), |owed| owed.cancelled)
    }

    /// Waits until a request of the peer is cancelled.
    pub(crate) fn poll_cancelled(
        &mut self,
        caller: Caller,
        context: &Context<'_>,
        waiter: &mut Waiter,
        id: Option<&RequestId>,
    ) -> Poll<()> {
        if self.is_cancelled(caller, id) {
            return Poll::Ready(());
        }
        match id.and_then(|id| self.owed.get_mut(id)) {
            Some(owed) => owed.waiting.register(context, waiter, &mut self.effects),
            // It is answered. That can no longer be undone, but the session can still end.
            None => self.closing_waiting.register(context, waiter, &mut self.effects),
        }
        Poll::Pending
    }
}
