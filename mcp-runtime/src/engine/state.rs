//! The state of one session, and what both directions share.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Protocol, Role, Side, State, StateIndex};
use mcp_protocol_machine::{ProtocolRef, RequestId, Step, TableError};

use super::owners::context::{Accepted, Caller, Inbound};
use super::owners::inbox::Inbox;
use super::owners::inbox::open::OpenInbox;
use super::owners::inbox::open_calls::OpenCalls;
use super::owners::lifecycle::Lifecycle;
use super::owners::outbox::Outbox;
use super::owners::owed::OwedReplies;
use super::owners::timers::{AlarmKey, Timers};
use super::owners::trace::Traces;
use super::owners::unhandled::UnhandledRequests;
use super::owners::wakers::{Effects, PendingEffects};
use crate::budget::{Budget, Holder};
use crate::driver::{OutletNotice, Received, SharedLimits};
use crate::epoch::Epoch;
use crate::error::Error;
use crate::jsonrpc::RawPayload;
use crate::options::{Options, Resumed};
use crate::report::Report;
use crate::rules::Rules;
use crate::rules::names::applies;
use crate::rules::{announcements, resume};

/// One session, as one side sees it: the owners of its state, which the methods sequence. No method sets a field itself.
#[derive(Debug)]
pub(crate) struct Engine {
    /// What the protocol says of the session, and its settings.
    pub(super) rules: Rules,
    /// What has come from the peer and the program has not taken.
    pub(super) inbox: Inbox,
    /// The requests of the peer that have not been answered.
    pub(super) owed: OwedReplies,
    /// What this side has said and the transport has not written.
    pub(super) outbox: Outbox,
    /// How the session began, and how far it has come to its end.
    pub(super) lifecycle: Lifecycle,
    /// What waits for a time, and what time it is.
    pub(super) timers: Timers,
    /// What is to be done once the engine is unlocked.
    pub(super) effects: Effects,
    /// Records for `tracing`, if a subscriber listens.
    pub(super) traces: Traces,
    /// The requests that handlers of this side leave to their default methods.
    unhandled: UnhandledRequests,
}

impl Engine {
    pub(crate) fn new(
        protocol: ProtocolRef,
        side: Side,
        options: Arc<Options>,
    ) -> Result<Box<Engine>, TableError> {
        Engine::sharing(protocol, side, options, &SharedLimits::default())
    }

    /// An engine that draws on budgets which it shares with others, too. It is large, so it stays where it is made.
    pub(crate) fn sharing(
        protocol: ProtocolRef,
        side: Side,
        options: Arc<Options>,
        limits: &SharedLimits,
    ) -> Result<Box<Engine>, TableError> {
        let rules = Rules::new(protocol, side, Arc::clone(&options))?;
        let own = Budget::new(Holder::Session, "max_input_bytes", options.max_input_bytes);
        let inbox = Inbox::new(limits.bytes.within(own), options.first_id);
        Ok(Box::new(Engine {
            rules,
            inbox,
            owed: OwedReplies::default(),
            outbox: Outbox::default(),
            lifecycle: Lifecycle::default(),
            timers: Timers::default(),
            effects: Effects::new(limits.malformed.clone()),
            traces: Traces::default(),
            unhandled: UnhandledRequests::default(),
        }))
    }

    /// An engine for a protocol that cannot be followed; it is to be ended at once, with the reason.
    #[expect(clippy::expect_used, reason = "the tables are the constant below, which a test follows")]
    pub(crate) fn idle(side: Side, options: Arc<Options>) -> Box<Engine> {
        Engine::new(ProtocolRef::Static(&IDLE), side, options).expect("the idle protocol can be followed")
    }

    /// What the protocol says of the session.
    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What has come and was not taken, to put something there or to take something from it.
    pub(crate) fn inbox(&mut self) -> OpenInbox<'_> {
        let now = self.timers.now();
        self.inbox.open(&self.rules, &mut self.lifecycle, &mut self.effects, now)
    }

    /// The same for the requests of this side that tasks wait for.
    pub(crate) fn calls(&mut self) -> OpenCalls<'_> {
        let now = self.timers.now();
        let inbox = self.inbox.open(&self.rules, &mut self.lifecycle, &mut self.effects, now);
        OpenCalls::new(inbox, &mut self.timers)
    }

    /// The requests of the peer that have not been answered.
    pub(crate) fn owed(&self) -> &OwedReplies {
        &self.owed
    }

    /// How the session began, and how far it has come to its end.
    pub(crate) fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }

    /// A handler of the session, or of a sub-session, begins: each request that needs a capability, and whether the
    /// handler leaves it to its default method.
    pub(crate) fn handler_began(&mut self, requests: &[(MessageIndex, bool)]) {
        self.unhandled.begin(requests);
        self.unhandled.report(&self.rules, &mut self.effects);
    }

    /// The session was begun elsewhere, and is in this state.
    pub(crate) fn resume(&mut self, state: StateIndex, resumed: &Resumed) -> Result<(), TableError> {
        // No message carries the error to the program; the report does.
        if let Some(error) = resume::resume(&mut self.rules, state, resumed)? {
            self.report(Report::NegotiationFailed { error });
        }
        self.inbox.calls_mut().start_ids_at(resumed.id());
        self.lifecycle.resume();
        Ok(())
    }

    pub(crate) fn rules_mut(&mut self) -> &mut Rules {
        &mut self.rules
    }

    /// What the transport says of the order of messages.
    pub(crate) fn set_ordered(&mut self, ordered: bool) {
        self.rules.checker_mut().set_ordered(ordered);
    }

    /// How many requests of this side wait for their replies, and how many of the peer's.
    pub(crate) fn open_requests(&self) -> (usize, usize) {
        (self.rules.checker().running(Direction::Send), self.owed.len())
    }

    pub(super) fn report(&mut self, report: Report) {
        self.effects.report(report);
    }

    /// What is to be told to `tracing`.
    pub(crate) fn traces(&mut self) -> &mut Traces {
        &mut self.traces
    }

    pub(crate) fn take_effects(&mut self) -> Option<PendingEffects> {
        self.effects.take()
    }

    /// Asks for the task that polls the alarm to be woken at an instant.
    pub(crate) fn set_alarm(&mut self, at: Instant) -> AlarmKey {
        self.timers.set_alarm(at, &mut self.effects)
    }

    /// Waits for an alarm.
    pub(crate) fn poll_alarm(&mut self, context: &Context<'_>, key: AlarmKey) -> Poll<()> {
        self.timers.poll_alarm(key, context, &mut self.effects)
    }

    /// No task waits for an alarm any more.
    pub(crate) fn clear_alarm(&mut self, key: AlarmKey) {
        self.timers.clear_alarm(key, &mut self.effects);
    }

    /// How many places the longest list of waiting futures has.
    #[cfg(test)]
    pub(crate) fn longest_waiting(&mut self) -> usize {
        let lists =
            [self.inbox.longest_waiting(), self.outbox.waiting().len(), self.lifecycle.waiting().len()];
        lists.into_iter().max().unwrap_or_default()
    }

    /// A request was accepted: the transport counts it, once.
    pub(super) fn took_request(&mut self, inbound: Inbound<'_>) -> Received {
        let Some(tag) = inbound.tag else { return Received::default() };
        if !inbound.held {
            self.outbox.note(OutletNotice::Accepted(tag), &mut self.effects);
        }
        Received { requests: 1, refused: None }
    }

    /// A caller that may speak in one epoch only, or in any, and may work on a request of the peer.
    pub(super) fn caller(&self, epoch: Option<Epoch>, request: Option<&RequestId>) -> Caller {
        let request = request.filter(|_| self.outbox.may_route());
        let in_reply_to = request.and_then(|request| self.owed.tag(request));
        Caller::new(epoch, in_reply_to)
    }

    /// What is written out of order is refused by the checker; what is accepted and announces is noted here.
    pub(super) fn accepted(
        &mut self,
        mut step: Step,
        message: MessageIndex,
        payload: Option<impl RawPayload>,
        incoming: bool,
    ) -> Accepted {
        if let Some(advice) = step.advice.take()
            && incoming
        {
            self.report(Report::Advice(advice));
        }
        self.traces.step(&self.rules, &step);
        self.end_awaiting();
        for inner in self.rules.checker_mut().take_ended() {
            // What its value has not taken came before the end, and still counts.
            self.inbox().end_sub_session(inner, Error::Closed);
        }
        let failed = announcements::note(&mut self.rules, message, payload, incoming, |rules| {
            self.unhandled.report(rules, &mut self.effects);
        });
        for error in &failed {
            self.report(Report::NegotiationFailed { error: error.clone() });
        }
        // The version weighs more than a capability.
        let negotiation = failed.into_iter().next().map(Box::new);
        Accepted { step, negotiation }
    }

    /// A message of the peer was accepted: reports it if that is only because what it needs is tolerated.
    pub(super) fn report_tolerated(&mut self, message: MessageIndex, payload: Option<impl RawPayload>) {
        if let Some(violation) = self.rules.checker().tolerated(message, applies(payload)) {
            self.report(Report::Tolerated(violation));
        }
    }
}

/// A protocol in which nothing is ever said.
static IDLE: Protocol = Protocol::table("idle", &[])
    .client(Role::table("idle", IDLE_STATES))
    .server(Role::table("idle", IDLE_STATES));
const IDLE_STATES: &[State] = &[State::end("End", &[])];
