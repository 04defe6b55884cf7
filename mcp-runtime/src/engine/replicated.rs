//! Replicated inputs: requests and notifications of the peer that handlers take, in addition to the linear channels.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use mcp_protocol_machine::SubSessionNumber;

use super::owners::context::Caller;
use super::owners::inputs::{Body, LinearInput};
use super::owners::order::DispatcherKey;
use super::owners::replicated::{Arrived, Scope};
use super::owners::wakers::Waiter;
use super::state::Engine;
use crate::budget::{Exhausted, Permit};
use crate::jsonrpc::RpcError;
use crate::report::{DropReason, Report};

impl Engine {
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
        self.dispatcher_polled(key, handlers, notified);
        let place = self.order.next_for(key, &self.replicated, self.most_handlers());
        let taken = place.and_then(|place| self.replicated.take(place));
        self.reached();
        if taken.is_some() {
            return Poll::Ready(taken);
        }
        let scope = self.order.scope(key);
        if self.incoming_ended(scope) {
            return Poll::Ready(None);
        }
        // What came before the end still counts.
        self.register_incoming(context, waiter, scope);
        if handlers >= self.most_handlers() {
            self.replicated.room_waiting().register(context, waiter, &mut self.effects);
        }
        Poll::Pending
    }

    /// The number of the next replicated input of a scope, if there is one.
    pub(super) fn first_incoming(&self, scope: Scope) -> Option<u64> {
        let came = self.replicated.first(scope)?.came;
        (!self.order.is_behind_start(came)).then_some(came)
    }

    /// Whether no further replicated input of a scope comes, and none waits.
    pub(super) fn incoming_ended(&self, scope: Scope) -> bool {
        let goes_on = |sub_session| matches!(self.sub_sessions.over(sub_session), Some(None));
        let is_over = !self.goes_on() || !scope.is_none_or(goes_on);
        is_over && self.replicated.is_empty(scope)
    }

    pub(super) fn register_incoming(&mut self, context: &Context<'_>, waiter: &mut Waiter, scope: Scope) {
        self.replicated.waiting().register(context, waiter, &mut self.effects);
        if scope.is_some() {
            // The sub-session may end, and the session go on.
            self.register_input(context, waiter, scope);
        }
    }

    /// Takes the next replicated input of a scope, if there is one.
    pub(crate) fn next_incoming(&mut self, scope: Scope) -> Option<Arrived> {
        self.first_incoming(scope)?;
        let taken = self.replicated.take_first(scope);
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

    /// There is one more attendant. To that of a sub-session go the exchanges that wait for its value, too.
    pub(crate) fn attend(&mut self, scope: Scope) {
        self.replicated.attend(scope);
        let Some(sub_session) = scope else { return };
        for input in self.sub_sessions.take_exchanges(sub_session) {
            if let Body::Exchange(arrived) = input.body {
                // Its bytes are counted again where it waits from here on.
                drop(input.permit);
                self.exchange_came(sub_session, *arrived);
            }
        }
    }

    /// What runs next to the channels of a sub-session has come: for its attendants, or else for its value.
    pub(super) fn exchange_came(&mut self, sub_session: SubSessionNumber, arrived: Arrived) {
        if self.replicated.attendants(arrived.scope) == 0 || self.sub_sessions.inputs(sub_session).is_none() {
            // In the queue of the sub-session it keeps its place among the steps.
            return self.sub_session_came(sub_session, LinearInput::within(arrived));
        }
        if let Some(id) = arrived.id.as_ref().filter(|_| arrived.sub_session.is_none()) {
            self.exchange_taken(id);
        }
        self.replicated_came(arrived);
    }

    /// The last attendant of a sub-session is gone: what waits goes back to the value, if there is one.
    fn give_back_exchanges(&mut self, sub_session: SubSessionNumber) {
        for mut arrived in self.replicated.take_all(|arrived| arrived.scope == Some(sub_session)) {
            if !self.lifecycle.is_live() || self.sub_sessions.inputs(sub_session).is_none() {
                self.refuse_arrived(Caller::ANY, &arrived, DropReason::Abandoned);
                continue;
            }
            if let Some(id) = arrived.id.as_ref().filter(|_| arrived.sub_session.is_none()) {
                self.owed.give_to_value(id, sub_session);
            }
            arrived.permit = Permit::default();
            self.sub_session_came(sub_session, LinearInput::within(arrived));
        }
        self.reached();
    }

    /// An attendant is gone. What waits then has its time to be taken by another one.
    pub(crate) fn leave(&mut self, scope: Scope) {
        self.replicated.leave(scope);
        // A session without types leaves what comes to the other attendants.
        self.replicated.waiting().wake(&mut self.effects);
        if self.replicated.attendants(scope) > 0 {
            return;
        }
        if let Some(sub_session) = scope {
            return self.give_back_exchanges(sub_session);
        }
        if !self.replicated.is_empty(None) {
            if self.lifecycle.is_live() {
                self.effects.wake_driver();
            } else {
                self.drop_untaken();
            }
        }
    }

    /// The session is over, and what has come will not be taken.
    pub(super) fn drop_untaken(&mut self) {
        self.drop_untaken_of(|_| true);
    }

    /// The same for some of it.
    pub(super) fn drop_untaken_of(&mut self, which: impl Fn(&Arrived) -> bool) {
        for arrived in self.replicated.take_all(which) {
            self.forget_owed(arrived.id.as_ref());
            let message = self.rules.name(arrived.message);
            self.report(Report::Dropped { message, cause: DropReason::Closed });
        }
        self.reached();
    }

    /// Refuses inputs that have waited long enough.
    pub(super) fn refuse_unattended(&mut self, now: Instant) {
        while let Some(arrived) = self.replicated.take_expired(self.rules.options().unattended_after, now) {
            self.refuse_arrived(Caller::ANY, &arrived, DropReason::Unattended);
        }
        self.reached();
    }

    /// An input that was accepted will not be worked on.
    pub(crate) fn refuse_arrived(&mut self, caller: Caller, arrived: &Arrived, cause: DropReason) {
        let error = match cause {
            DropReason::QueueFull => RpcError::busy("too many requests are waiting: try again later"),
            DropReason::TooMany => RpcError::busy("too many requests are unanswered: try again later"),
            DropReason::TooFast => RpcError::busy("too many requests in too short a time: try again later"),
            DropReason::TooManyBytes => RpcError::busy("too many bytes are waiting: try again later"),
            DropReason::TooManyHandlers => RpcError::busy("too many handlers are running: try again later"),
            DropReason::Unattended => RpcError::method_not_found(&self.rules.method(arrived.message)),
            DropReason::Abandoned
            | DropReason::Closed
            | DropReason::PassedOver
            | DropReason::PeerClosed
            | DropReason::IdInUse => RpcError::internal_error("the request was dropped unanswered"),
        };
        self.refuse_with(caller, arrived, cause, &error);
    }

    /// A request came too soon after those before it.
    pub(super) fn refuse_early(&mut self, arrived: &Arrived, wait: Duration) {
        // Rounded up, so that a peer which waits so long has waited long enough.
        let wait = wait.as_nanos().div_ceil(1_000_000);
        let error = RpcError::busy(format!("too many requests in too short a time: try again in {wait} ms"))
            .with_data(serde_json::json!({ "retryAfterMs": u64::try_from(wait).unwrap_or(u64::MAX) }));
        self.refuse_with(Caller::ANY, arrived, DropReason::TooFast, &error);
    }

    /// An input that was accepted goes beyond a limit that is shared with others.
    pub(crate) fn refuse_exhausted(
        &mut self,
        caller: Caller,
        arrived: &Arrived,
        cause: DropReason,
        exhausted: Exhausted,
    ) {
        let error =
            RpcError::busy(exhausted.to_string()).with_data(serde_json::json!({ "limit": exhausted.name }));
        self.refuse_with(caller, arrived, cause, &error);
    }

    fn refuse_with(&mut self, caller: Caller, arrived: &Arrived, cause: DropReason, error: &RpcError) {
        self.refuse_request(caller, arrived, error);
        let message = self.rules.name(arrived.message);
        self.report(Report::Dropped { message, cause });
    }

    /// Answers what was accepted and will not be worked on with an error, if it is a request.
    pub(super) fn refuse_request(&mut self, caller: Caller, arrived: &Arrived, error: &RpcError) {
        if let Some(id) = &arrived.id {
            // The session lives: the checker has the request running. Should it not, no peer waits for an answer.
            let _ = self.reply_error(caller, id, error);
        }
        if let Some((sub_session, _)) = arrived.sub_session {
            self.leave_sub_session(caller, sub_session);
        }
    }

    /// A replicated input was accepted.
    pub(super) fn replicated_came(&mut self, mut arrived: Arrived) {
        let cause = if arrived.scope.is_none() && self.replicated.is_closed() {
            Some(DropReason::Unattended)
        } else if self.replicated.len() >= self.rules.options().max_incoming {
            Some(DropReason::QueueFull)
        } else if arrived.id.is_some() && self.owed.len() > self.rules.options().max_requests.max(1) {
            Some(DropReason::TooMany)
        } else {
            None
        };
        if let Some(cause) = cause {
            self.refuse_arrived(Caller::ANY, &arrived, cause);
            return;
        }
        match self.input.take(arrived.payload.as_ref().map_or(0, |payload| payload.len())) {
            Ok(permit) => arrived.permit = permit,
            Err(exhausted) => {
                return self.refuse_exhausted(Caller::ANY, &arrived, DropReason::TooManyBytes, exhausted);
            }
        }
        let unattended = self.replicated.attendants(arrived.scope) == 0;
        self.replicated.insert(arrived);
        self.replicated.waiting().wake(&mut self.effects);
        if unattended {
            // There may be a new deadline for an attendant to come.
            self.effects.wake_driver();
        }
    }
}
