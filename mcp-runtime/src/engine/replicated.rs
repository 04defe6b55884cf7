//! Replicated inputs: requests and notifications of the peer that handlers take, in addition to the linear channels.

use std::collections::VecDeque;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use mcp_protocol_machine::protocol::{MessageIndex, StateIndex};
use mcp_protocol_machine::{RequestId, SubSessionNumber, Token};

use super::context::Caller;
use super::inputs::{Body, LinearInput};
use super::order::DispatcherKey;
use super::state::Engine;
use super::wakers::{Waiter, Waiting};
use crate::budget::{Exhausted, Permit};
use crate::driver::Extension;
use crate::epoch::Epoch;
use crate::error::Error;
use crate::jsonrpc::RpcError;
use crate::report::{DropReason, Report};

/// A replicated input.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) message: MessageIndex,
    /// The id, if it is a request.
    pub(crate) id: Option<RequestId>,
    /// The token that reports about it carry.
    pub(crate) token: Option<Token>,
    /// The sub-session that it opens, and the state that this is in, if a value is to stand for it.
    pub(crate) sub_session: Option<(SubSessionNumber, StateIndex)>,
    pub(crate) payload: Option<Box<str>>,
    /// What it holds of the budgets for input, until it has been worked on.
    pub(crate) permit: Permit,
    /// What the transport knows of it.
    pub(crate) extension: Option<Extension>,
    pub(super) at: Instant,
    /// The number of the message.
    pub(super) came: u64,
    /// The epoch that it arrived in.
    pub(crate) epoch: Epoch,
}

impl Arrived {
    /// The same as an input that a value takes.
    pub(super) fn into_input(self, negotiation: Option<Box<Error>>) -> LinearInput {
        let Arrived { message, id, payload, permit, came, .. } = self;
        LinearInput { message, id, answers: None, body: Body::Payload(payload), negotiation, permit, came }
    }

    /// Whether it needs an answer, or opens a sub-session that a value goes on with.
    pub(super) fn is_asked(&self) -> bool {
        self.id.is_some() || self.sub_session.is_some()
    }
}

/// The replicated inputs that no task has taken, in the order in which they came, and the tasks that take them.
///
/// An *attendant* is what can take them: a dispatcher, or a session without types.
#[derive(Debug, Default)]
pub(super) struct ReplicatedQueue {
    inputs: VecDeque<Arrived>,
    waiting: Waiting,
    /// Dispatchers that have no room for more handlers at the moment.
    room_waiting: Waiting,
    attendants: usize,
    /// The time for an attendant to come has passed once. Cleared when one comes.
    unattended: bool,
}

impl ReplicatedQueue {
    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arrived> {
        self.inputs.iter()
    }

    pub(super) fn first(&self) -> Option<&Arrived> {
        self.inputs.front()
    }

    /// Adds an input in its place: what waited for a value that is gone may be older than what waits here.
    fn insert(&mut self, arrived: Arrived) {
        let place = self.inputs.partition_point(|waiting| waiting.came <= arrived.came);
        self.inputs.insert(place, arrived);
    }

    fn take(&mut self, place: usize) -> Option<Arrived> {
        self.inputs.remove(place)
    }

    /// Takes a request of the peer.
    pub(super) fn take_request(&mut self, id: &RequestId) -> Option<Arrived> {
        let place = self.inputs.iter().position(|arrived| arrived.id.as_ref() == Some(id))?;
        self.take(place)
    }

    /// Takes everything that meets a condition.
    pub(super) fn take_all(&mut self, which: impl Fn(&Arrived) -> bool) -> VecDeque<Arrived> {
        let (taken, kept) = std::mem::take(&mut self.inputs).into_iter().partition(which);
        self.inputs = kept;
        taken
    }

    pub(super) fn attendants(&self) -> usize {
        self.attendants
    }

    /// Whether what comes is refused at once: nothing attends, and nothing has for too long.
    fn is_closed(&self) -> bool {
        self.unattended && self.attendants == 0
    }

    fn attend(&mut self) {
        self.attendants += 1;
        self.unattended = false;
    }

    fn leave(&mut self) {
        self.attendants = self.attendants.saturating_sub(1);
    }

    /// When the first input has waited long enough for an attendant.
    pub(super) fn deadline(&self, patience: Duration) -> Option<Instant> {
        let first = self.inputs.front().filter(|_| self.attendants == 0)?;
        first.at.checked_add(patience)
    }

    /// Takes the first input if it has waited long enough for an attendant.
    fn take_expired(&mut self, patience: Duration, now: Instant) -> Option<Arrived> {
        self.deadline(patience).filter(|deadline| *deadline <= now)?;
        self.unattended = true;
        self.inputs.pop_front()
    }

    /// The tasks that wait for an input.
    pub(super) fn waiting(&mut self) -> &mut Waiting {
        &mut self.waiting
    }

    /// The dispatchers that have no room for more handlers at the moment.
    pub(super) fn room_waiting(&mut self) -> &mut Waiting {
        &mut self.room_waiting
    }
}

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
        let taken = self.next_for(key).and_then(|place| self.replicated.take(place));
        self.reached();
        if taken.is_some() {
            return Poll::Ready(taken);
        }
        if self.goes_on() {
            self.replicated.waiting().register(context, waiter, &mut self.effects);
            if handlers >= self.most_handlers() {
                self.replicated.room_waiting().register(context, waiter, &mut self.effects);
            }
            return Poll::Pending;
        }
        // What came before the end still counts.
        if self.replicated.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }

    /// Takes the next replicated input, if there is one.
    pub(crate) fn next_incoming(&mut self) -> Option<Arrived> {
        if self.replicated.first().is_some_and(|arrived| self.is_behind_start(arrived)) {
            return None;
        }
        let taken = self.replicated.take(0);
        self.reached();
        taken
    }

    /// Takes the next replicated input; `None` when the session is over.
    pub(crate) fn poll_incoming(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
    ) -> Poll<Option<Arrived>> {
        if let Some(arrived) = self.next_incoming() {
            return Poll::Ready(Some(arrived));
        }
        if self.goes_on() || !self.replicated.is_empty() {
            self.replicated.waiting().register(context, waiter, &mut self.effects);
            return Poll::Pending;
        }
        Poll::Ready(None)
    }

    /// There is one more attendant.
    pub(crate) fn attend(&mut self) {
        self.replicated.attend();
    }

    /// An attendant is gone. What waits then has its time to be taken by another one.
    pub(crate) fn leave(&mut self) {
        self.replicated.leave();
        // A session without types leaves what comes to the other attendants.
        self.replicated.waiting().wake(&mut self.effects);
        if self.replicated.attendants() == 0 && !self.replicated.is_empty() {
            if self.lifecycle.is_live() {
                self.wake_driver();
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
            let message = self.name(arrived.message);
            self.report(Report::Dropped { message, cause: DropReason::Closed });
        }
        self.reached();
    }

    /// Refuses inputs that have waited long enough.
    pub(super) fn refuse_unattended(&mut self, now: Instant) {
        while let Some(arrived) = self.replicated.take_expired(self.options.unattended_after, now) {
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
            DropReason::Unattended => RpcError::method_not_found(&self.method(arrived.message)),
            DropReason::Abandoned | DropReason::Closed | DropReason::PassedOver | DropReason::PeerClosed => {
                RpcError::internal_error("the request was dropped unanswered")
            }
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
        if let Some(id) = &arrived.id {
            // The session lives: the checker has the request running. Should it not, no peer waits for an answer.
            let _ = self.reply_error(caller, id, error);
        }
        if let Some((sub_session, _)) = arrived.sub_session {
            self.leave_sub_session(caller, sub_session);
        }
        let message = self.name(arrived.message);
        self.report(Report::Dropped { message, cause });
    }

    /// A replicated input was accepted.
    pub(super) fn replicated_came(&mut self, mut arrived: Arrived) {
        let cause = if self.replicated.is_closed() {
            Some(DropReason::Unattended)
        } else if self.replicated.len() >= self.options.max_incoming {
            Some(DropReason::QueueFull)
        } else if arrived.id.is_some() && self.owed.len() > self.options.max_requests.max(1) {
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
        self.replicated.insert(arrived);
        self.replicated.waiting().wake(&mut self.effects);
        if self.replicated.attendants() == 0 {
            // There may be a new deadline for an attendant to come.
            self.wake_driver();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(1);

    fn arrived(came: u64, id: Option<i64>, at: Instant) -> Arrived {
        Arrived {
            message: MessageIndex(0),
            id: id.map(RequestId::Number),
            token: None,
            sub_session: None,
            payload: None,
            permit: Permit::default(),
            extension: None,
            at,
            came,
            epoch: Epoch::FIRST,
        }
    }

    #[test]
    fn inputs_stand_in_the_order_in_which_they_came() {
        let (mut queue, at) = (ReplicatedQueue::default(), Instant::now());
        for came in [2, 5, 3] {
            queue.insert(arrived(came, (came == 5).then_some(5), at));
        }
        assert_eq!(queue.iter().map(|arrived| arrived.came).collect::<Vec<_>>(), [2, 3, 5]);
        assert!(queue.take_request(&RequestId::Number(2)).is_none());
        assert!(queue.take_request(&RequestId::Number(5)).is_some());
        assert_eq!(queue.take_all(|arrived| arrived.came > 2).len(), 1);
        assert_eq!(queue.first().map(|arrived| arrived.came), Some(2));
    }

    #[test]
    fn inputs_expire_only_while_nothing_attends() {
        let (mut queue, at) = (ReplicatedQueue::default(), Instant::now());
        queue.insert(arrived(1, None, at));
        queue.attend();
        assert_eq!(queue.deadline(PATIENCE), None);
        queue.leave();
        assert!(queue.take_expired(PATIENCE, at).is_none() && !queue.is_closed());
        assert!(queue.take_expired(PATIENCE, at + PATIENCE).is_some());
        assert!(queue.is_closed(), "the next one does not wait as long");
        queue.attend();
        queue.leave();
        assert!(!queue.is_closed(), "an attendant may come back");
    }
}
