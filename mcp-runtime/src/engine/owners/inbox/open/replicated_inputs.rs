//! Replicated inputs: requests and notifications of the peer that handlers take, in addition to the linear channels.

use std::collections::VecDeque;
use std::task::{Context, Poll};
use std::time::Instant;

use super::OpenInbox;
use crate::budget::Exhausted;
use crate::engine::owners::inputs::LinearInput;
use crate::engine::owners::order::DispatcherKey;
use crate::engine::owners::replicated::{Arrived, Scope};
use crate::engine::owners::wakers::Waiter;
use crate::report::DropReason;

impl OpenInbox<'_> {
    /// There is one more dispatcher.
    pub(crate) fn dispatcher_began(&mut self, scope: Scope) -> DispatcherKey {
        self.inbox.dispatch.order_mut().dispatcher_began(scope)
    }

    /// A dispatcher is gone, and nothing waits for it any more.
    pub(crate) fn dispatcher_left(&mut self, key: DispatcherKey) {
        self.inbox.dispatch.left(key, self.effects);
        self.reached();
    }

    /// Takes the next replicated input for a dispatcher that works on `handlers` requests already, and on a notification
    /// or not; `None` when the session is over.
    ///
    /// A notification waits for the one before it, and requests wait until fewer are worked on, but neither waits
    /// for the other: what a handler waits for may depend on what stands behind it.
    pub(crate) fn poll_served(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        key: DispatcherKey,
        handlers: usize,
        notified: bool,
    ) -> Poll<Option<Arrived>> {
        let most = self.most_handlers();
        self.inbox.dispatch.polled(key, handlers, notified, self.effects);
        let taken = self.inbox.dispatch.take_next(key, most);
        self.reached();
        if taken.is_some() {
            return Poll::Ready(taken);
        }
        let scope = self.inbox.dispatch.order().scope(key);
        if self.incoming_ended(scope) {
            return Poll::Ready(None);
        }
        // What came before the end still counts.
        self.register_incoming(context, waiter, scope);
        if handlers >= most {
            self.inbox.dispatch.queue_mut().room_waiting().register(context, waiter, self.effects);
        }
        Poll::Pending
    }

    /// Takes the next replicated input of a scope, if there is one.
    pub(crate) fn next_incoming(&mut self, scope: Scope) -> Option<Arrived> {
        self.inbox.dispatch.first(scope)?;
        let taken = self.inbox.dispatch.queue_mut().take_first(scope);
        self.reached();
        taken
    }

    /// Takes the next replicated input of a scope; `None` when that is over.
    pub(crate) fn poll_incoming(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        scope: Scope,
    ) -> Poll<Option<Arrived>> {
        if let Some(arrived) = self.next_incoming(scope) {
            return Poll::Ready(Some(arrived));
        }
        if self.incoming_ended(scope) {
            return Poll::Ready(None);
        }
        self.register_incoming(context, waiter, scope);
        Poll::Pending
    }

    /// Whether no further replicated input of a scope comes, and none waits.
    pub(super) fn incoming_ended(&self, scope: Scope) -> bool {
        let sub_session_is_open =
            |sub_session| matches!(self.inbox.sub_sessions().over(sub_session), Some(None));
        let is_over = !self.is_receiving() || !scope.is_none_or(sub_session_is_open);
        is_over && self.inbox.dispatch.queue().is_empty(scope)
    }

    pub(super) fn register_incoming(&mut self, context: &Context<'_>, waiter: &mut Waiter, scope: Scope) {
        self.inbox.dispatch.queue_mut().waiting().register(context, waiter, self.effects);
        if scope.is_some() {
            // The sub-session may end, and the session go on.
            self.inbox.values.register(scope, context, waiter, self.effects);
        }
    }

    /// There is one more attendant. Returns the exchanges that wait for the value of its sub-session: they are put where
    /// the attendant takes them.
    pub(crate) fn attend(&mut self, scope: Scope) -> VecDeque<LinearInput> {
        self.inbox.dispatch.queue_mut().attend(scope);
        scope.map(|scope| self.inbox.sub_sessions_mut().take_exchanges(scope)).unwrap_or_default()
    }

    /// An attendant is gone. Returns whether it was the last one of its scope.
    pub(crate) fn leave(&mut self, scope: Scope) -> bool {
        let queue = self.inbox.dispatch.queue_mut();
        queue.leave(scope);
        // A session without types leaves what comes to the other attendants.
        queue.waiting().wake(self.effects);
        queue.attendants(scope) == 0
    }

    /// Counts the bytes of a replicated input and says whether it may wait, where so many requests are owed a reply.
    #[inline]
    pub(crate) fn admit_replicated(
        &self,
        arrived: &mut Arrived,
        owed: usize,
    ) -> Result<(), (DropReason, Option<Exhausted>)> {
        let (queue, options) = (self.inbox.dispatch.queue(), self.rules.options());
        if arrived.scope.is_none() && queue.is_closed() {
            return Err((DropReason::Unattended, None));
        }
        if queue.len() >= options.max_incoming {
            return Err((DropReason::QueueFull, None));
        }
        if arrived.id.is_some() && owed > options.max_requests.max(1) {
            return Err((DropReason::TooMany, None));
        }
        let bytes = arrived.payload.as_ref().map_or(0, |payload| payload.len());
        let permit = self.inbox.values.count(bytes);
        arrived.permit = permit.map_err(|exhausted| (DropReason::TooManyBytes, Some(exhausted)))?;
        Ok(())
    }

    /// Puts a replicated input that was admitted where handlers take it.
    #[inline]
    pub(crate) fn put_replicated(&mut self, arrived: Arrived) {
        let queue = self.inbox.dispatch.queue_mut();
        let unattended = queue.attendants(arrived.scope) == 0;
        queue.insert(arrived);
        queue.waiting().wake(self.effects);
        if unattended {
            // There may be a new deadline for an attendant to come.
            self.effects.wake_driver();
        }
    }

    /// Takes the first input of the session that has waited long enough for an attendant.
    pub(crate) fn take_unattended(&mut self, now: Instant) -> Option<Arrived> {
        let patience = self.rules.options().unattended_after;
        self.inbox.dispatch.queue_mut().take_expired(patience, now)
    }
}
