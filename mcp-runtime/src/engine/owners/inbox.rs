//! What has come from the peer and the program has not taken: how it is put there, and how tasks wait for it.
//!
//! Whatever is judged, answered or refused is not done here: the engine does that, and says what is to be put.

use std::collections::VecDeque;
use std::task::Context;
use std::time::{Duration, Instant};

use mcp_protocol_machine::protocol::{MessageIndex, StateIndex};
use mcp_protocol_machine::{RequestId, SubSessionNumber};

use super::calls::Calls;
use super::dispatch::Dispatch;
use super::early::EarlyMessages;
use super::inputs::LinearInput;
use super::lifecycle::Lifecycle;
use super::mailboxes::Mailboxes;
use super::owed::OwedReplies;
use super::replicated::{Arrived, Scope};
use super::sub_sessions::SubSessions;
use super::values::{TooMuch, Values};
use super::wakers::{Effects, Waiter};
use crate::budget::{Account, Exhausted, Permit};
use crate::rules::Rules;

pub(crate) mod open;
pub(crate) mod open_calls;

use open::OpenInbox;

/// What has come from the peer and the program has not taken.
///
/// Invariants: each message waits in one place. A task that waits for a message which is not free is woken once it is:
/// whatever makes a message free calls [`OpenInbox::reached`].
#[derive(Debug)]
pub(crate) struct Inbox {
    /// What handlers take, and which messages have reached the program.
    dispatch: Dispatch,
    /// What the values of the linear channels and of sub-sessions take.
    values: Values,
    /// The requests of this side for which more is kept than the checker keeps.
    calls: Calls,
    /// What sessions without types take in addition.
    mailboxes: Mailboxes,
    /// Messages that wait for a step of this side.
    early: EarlyMessages,
}

impl Inbox {
    /// Nothing has come; what will draws on these budgets.
    pub(crate) fn new(account: Account, first_id: i64) -> Inbox {
        let mut calls = Calls::default();
        calls.start_ids_at(first_id);
        Inbox {
            dispatch: Dispatch::default(),
            values: Values::new(account),
            calls,
            mailboxes: Mailboxes::default(),
            early: EarlyMessages::default(),
        }
    }

    /// The inbox, to put something into it or to take something from it.
    pub(crate) fn open<'e>(
        &'e mut self,
        rules: &'e Rules,
        lifecycle: &'e mut Lifecycle,
        effects: &'e mut Effects,
        now: Option<Instant>,
    ) -> OpenInbox<'e> {
        OpenInbox::new(self, rules, lifecycle, effects, now)
    }

    /// Whether a dispatcher is there that will take what waits for handlers.
    pub(crate) fn is_served(&self) -> bool {
        self.dispatch.order().is_served()
    }

    /// Whether something has come that a dispatcher still has to begin with, now or when it has room.
    pub(crate) fn is_handing_out(&self) -> bool {
        self.dispatch.is_handing_out()
    }

    /// Whether something waits for an attendant of a scope.
    pub(crate) fn has_replicated(&self, scope: Scope) -> bool {
        !self.dispatch.queue().is_empty(scope)
    }

    /// Whether something attends to a scope.
    pub(crate) fn is_attended(&self, scope: Scope) -> bool {
        self.dispatch.queue().attendants(scope) > 0
    }

    /// When the first input of the session has waited long enough for an attendant.
    pub(crate) fn unattended_deadline(&self, patience: Duration) -> Option<Instant> {
        self.dispatch.queue().deadline(patience)
    }

    /// Takes what waits for handlers and meets a condition. It will not reach the program, so what came later may be free:
    /// [`OpenInbox::reached`] is to follow.
    pub(crate) fn take_replicated(&mut self, which: impl Fn(&Arrived) -> bool) -> VecDeque<Arrived> {
        self.dispatch.queue_mut().take_all(which)
    }

    /// The same for one request of the peer.
    pub(crate) fn take_request(&mut self, id: &RequestId) -> Option<Arrived> {
        self.dispatch.queue_mut().take_request(id)
    }

    /// There may be room for one more handler.
    pub(crate) fn wake_room(&mut self, effects: &mut Effects) {
        self.dispatch.queue_mut().room_waiting().wake(effects);
    }

    /// Counts bytes of something that waits, or is being worked on.
    pub(crate) fn count(&self, bytes: usize) -> Result<Permit, Exhausted> {
        self.values.count(bytes)
    }

    /// Whether a value stands for a sub-session.
    pub(crate) fn has_value(&self, sub_session: SubSessionNumber) -> bool {
        self.values.inputs(Some(sub_session)).is_some()
    }

    /// Counts the bytes of an input and says whether it may wait for its value, where `most` may.
    pub(crate) fn admit(
        &self,
        sub_session: Option<SubSessionNumber>,
        input: &mut LinearInput,
        most: usize,
    ) -> Result<(), TooMuch> {
        self.values.admit(sub_session, input, most)
    }

    /// The places of the inputs that a value has passed over by moving to a state, last first.
    pub(crate) fn passed_over(
        &self,
        rules: &Rules,
        owed: &OwedReplies,
        sub_session: Option<SubSessionNumber>,
        state: StateIndex,
        is_mine: impl Fn(MessageIndex) -> bool,
    ) -> Vec<usize> {
        self.values.passed_over(rules, owed, sub_session, state, is_mine)
    }

    /// Takes an input for its value.
    pub(crate) fn take_input(
        &mut self,
        sub_session: Option<SubSessionNumber>,
        place: usize,
    ) -> Option<LinearInput> {
        self.values.take(sub_session, place)
    }

    /// Drops a reply that waits to be taken. Returns whether there was one.
    pub(crate) fn forget_reply(&mut self, request: i64, sub_session: Option<SubSessionNumber>) -> bool {
        self.values.forget_reply(request, sub_session)
    }

    /// The task that waits for an input of a value looks again.
    pub(crate) fn wake_value(&mut self, sub_session: Option<SubSessionNumber>, effects: &mut Effects) {
        self.values.wake(sub_session, effects);
    }

    /// A task waits for an input of a value.
    pub(super) fn register_value(
        &mut self,
        sub_session: Option<SubSessionNumber>,
        context: &Context<'_>,
        waiter: &mut Waiter,
        effects: &mut Effects,
    ) {
        self.values.register(sub_session, context, waiter, effects);
    }

    /// What waits for the values of the linear channels is not wanted any more.
    pub(crate) fn clear_linear(&mut self) {
        self.values.linear_mut().clear();
    }

    /// How many inputs wait for handlers, and for the values of the linear channels.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (self.dispatch.queue().len(), self.values.linear().len())
    }

    pub(crate) fn sub_sessions(&self) -> &SubSessions {
        self.values.sub_sessions()
    }

    pub(crate) fn sub_sessions_mut(&mut self) -> &mut SubSessions {
        self.values.sub_sessions_mut()
    }

    pub(crate) fn calls(&self) -> &Calls {
        &self.calls
    }

    pub(crate) fn calls_mut(&mut self) -> &mut Calls {
        &mut self.calls
    }

    pub(crate) fn early(&self) -> &EarlyMessages {
        &self.early
    }

    pub(crate) fn early_mut(&mut self) -> &mut EarlyMessages {
        &mut self.early
    }

    /// One more message has come.
    pub(crate) fn next_message(&mut self) {
        self.dispatch.order_mut().next_message();
    }

    /// The number of the latest message.
    pub(crate) fn latest(&self) -> u64 {
        self.dispatch.order().latest()
    }

    /// Whether something may still come: from the peer, or of what it has said already.
    fn is_receiving(&self, lifecycle: &Lifecycle) -> bool {
        lifecycle.is_open() || (lifecycle.is_answering() && !self.early.is_empty())
    }

    /// How many places the longest list of waiting futures has.
    #[cfg(test)]
    pub(crate) fn longest_waiting(&mut self) -> usize {
        let queue = self.dispatch.queue_mut();
        let replicated = queue.waiting().len().max(queue.room_waiting().len());
        replicated.max(self.values.linear_mut().waiting().len())
    }
}
