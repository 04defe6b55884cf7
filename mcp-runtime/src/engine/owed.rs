//! Requests of the peer: whether their replies are still wanted.

use std::task::{Context, Poll};

use mcp_protocol_machine::RequestId;

use super::context::Caller;
use super::owners::wakers::Waiter;
use super::state::Engine;

impl Engine {
    /// Whether a request of the peer was cancelled, or its answer is not wanted any more.
    pub(crate) fn is_cancelled(&self, caller: Caller, id: Option<&RequestId>) -> bool {
        if self.lifecycle.is_over() || self.is_lost(caller) {
            return true;
        }
        // Once this side has closed the session, only requests that are still to be answered are worked on.
        id.and_then(|id| self.owed.is_cancelled(id)).unwrap_or(self.lifecycle.is_closing())
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
        let waits = id.is_some_and(|id| self.owed.register(id, context, waiter, &mut self.effects));
        if !waits {
            // It is answered. That can no longer be undone, but the session can still end.
            self.lifecycle.waiting().register(context, waiter, &mut self.effects);
        }
        Poll::Pending
    }

    /// A request will not be answered.
    pub(super) fn forget_owed(&mut self, id: Option<&RequestId>) {
        let Some(ended) = id.and_then(|id| self.owed.end(id, &mut self.effects)) else { return };
        self.leave_batch(ended.to.batch);
        self.settle_tag(ended.to.tag);
    }
}
