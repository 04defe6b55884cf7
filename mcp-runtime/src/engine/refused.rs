//! Messages of the peer that are not accepted, and those that were accepted and will not be worked on.

use std::time::{Duration, Instant};

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Side};
use mcp_protocol_machine::shape::ShapeMismatch;
use mcp_protocol_machine::{Awaiting, Late, RequestId, Violation, ViolationKind};

use super::owners::context::{Caller, Inbound};
use super::owners::replicated::Arrived;
use super::state::Engine;
use crate::budget::Exhausted;
use crate::driver::{MessageKind, Received};
use crate::jsonrpc::{Malformed, RpcError, Seems, number_meant, write};
use crate::report::{DropReason, Report};
use crate::rules::{announcements, judge, refusal, version};

impl Engine {
    pub(super) fn malformed_came(&mut self, inbound: Inbound<'_>, malformed: Malformed) -> Received {
        let Malformed { error, id, raw_id, seems, fault, structured } = malformed;
        let error = *error;
        self.report(Report::Malformed { error: error.clone(), id: id.clone() });
        // Without a `method`, the id of a running request of this side is what tells a reply. Replies are not answered,
        // but the caller learns of it.
        let meant = id.clone().or_else(|| number_meant(raw_id.as_deref()?));
        let answers = meant.filter(|id| {
            seems != Seems::Other
                && matches!(self.rules.checker().awaiting(Direction::Receive, id), Awaiting::Request(_))
        });
        if let Some(id) = answers {
            self.malformed_reply_came(&id, fault, error);
            return Received::default();
        }
        if seems == Seems::Reply {
            return Received::default();
        }
        match (&id, raw_id) {
            (Some(id), _) => self.write_error(inbound, Some(id), &error),
            (None, Some(raw)) => {
                self.write_reply(inbound.reply_to(), MessageKind::Error, |into, dialect| {
                    write::error_to_raw(into, dialect, &raw, &error, inbound.members);
                });
                Received::default()
            }
            // A client does not answer a line that a server prints into its log: it asked nothing.
            (None, None) if structured || self.rules.side() == Side::Server => {
                self.write_error(inbound, None, &error)
            }
            (None, None) => Received::default(),
        }
    }

    /// Nothing is known by this method, or nothing that its payload fits.
    pub(super) fn unnamed(&mut self, inbound: Inbound<'_>, id: Option<&RequestId>, method: &str) -> Received {
        match judge::unnamed(&mut self.rules, Direction::Receive, id, method) {
            Ok(_) => Received::default(),
            Err(violation) => self.refused(inbound, id, violation),
        }
    }

    /// A request or a notification has a payload that does not have its shape.
    pub(super) fn misshapen_came(
        &mut self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        id: Option<&RequestId>,
        mismatch: ShapeMismatch,
    ) -> Received {
        match self.rules.checker_mut().misshapen(Direction::Receive, message, id, mismatch) {
            Ok(_) => Received::default(),
            Err(violation) => self.refused(inbound, id, violation),
        }
    }

    /// The refusal of a request that cannot stand in a batch; `None` if it can, or is not in one.
    pub(super) fn refused_in_batch(
        &mut self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        id: &RequestId,
    ) -> Option<Received> {
        inbound.batch?;
        let state = judge::stepped_from(&self.rules, message)?;
        let method = self.rules.method(message);
        let error = RpcError::invalid_request(format!(
            "`{method}` moves the session on from `{state}` and cannot stand in a batch: send it on its own"
        ))
        .with_data(serde_json::json!({ "state": state, "expected": [method] }));
        let received = self.write_error(inbound, Some(id), &error);
        self.report(Report::Malformed { error, id: Some(id.clone()) });
        Some(received)
    }

    /// Refuses a request with such an id: what is said last of the cancelled one would be taken for the answer to it.
    pub(super) fn refuse_reused(
        &mut self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        id: &RequestId,
    ) -> Received {
        let problem =
            format!("the request {id}, which was cancelled, is still being worked on: use another id");
        let received = self.write_error(inbound, Some(id), &RpcError::busy(problem));
        self.report(Report::Dropped { message: self.rules.name(message), cause: DropReason::IdInUse });
        received
    }

    /// A message came late. A request is answered with an error, so that its caller does not wait.
    pub(super) fn late_came(
        &mut self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        late: Late,
        id: Option<&RequestId>,
        params: Option<&str>,
    ) -> Received {
        announcements::note_capabilities(&mut self.rules, message, params);
        let crossed = late.crossed.map(|crossed| self.rules.name(crossed));
        let received = id.map(|id| {
            let error = RpcError::internal_error(match (&crossed, late.over) {
                (_, true) => "the request is late: what it belongs to is over".to_owned(),
                (Some(crossed), false) => format!("the request is late: it crossed `{crossed}`"),
                (None, false) => "the request is late".to_owned(),
            });
            self.write_error(inbound, Some(id), &error)
        });
        self.report(self.rules.late(message, late));
        received.unwrap_or_default()
    }

    /// Answers a request of the peer with an error that the checker does not hear of, because it refused the request.
    ///
    /// Writes nothing if another request of the peer is running under the id, or held: the peer would take the error
    /// for the reply to that one. The transport learns of it.
    pub(super) fn write_error(
        &mut self,
        inbound: Inbound<'_>,
        id: Option<&RequestId>,
        error: &RpcError,
    ) -> Received {
        let is_running =
            |id| matches!(self.rules.checker().awaiting(Direction::Send, id), Awaiting::Request(_));
        if id.is_some_and(|id| is_running(id) || self.inbox.early().has(id)) {
            return inbound.refused(error);
        }
        let to = inbound.reply_to();
        self.write_reply(to, MessageKind::Error, |into, dialect| {
            write::error(into, dialect, id, error, inbound.members);
        });
        Received::default()
    }

    /// A message of the peer was refused: a request gets an error, everything gets a report.
    pub(super) fn refused(
        &mut self,
        inbound: Inbound<'_>,
        id: Option<&RequestId>,
        violation: Violation,
    ) -> Received {
        let violation = version::said_of_accepted(&self.rules, violation);
        let received = match (id, &violation.kind) {
            (Some(id), _) => {
                self.write_error(inbound, Some(id), &refusal::answer_to(&self.rules, &violation))
            }
            (
                None,
                ViolationKind::NotPermitted
                | ViolationKind::NotNegotiated { .. }
                | ViolationKind::NotDuring { .. }
                | ViolationKind::Misshapen { .. }
                | ViolationKind::DeclaredAs { .. },
            ) => inbound.refused(&violation),
            // The rest is what happens where messages overtake one another, and is to be ignored.
            (None, _) => Received::default(),
        };
        self.report(Report::Violation(violation));
        received
    }

    /// The session is over, and what has come will not be taken.
    pub(super) fn drop_untaken(&mut self) {
        self.drop_untaken_of(|_| true);
    }

    /// The same for some of it.
    pub(super) fn drop_untaken_of(&mut self, which: impl Fn(&Arrived) -> bool) {
        for arrived in self.inbox.take_replicated(which) {
            self.forget_owed(arrived.id.as_ref());
            let message = self.rules.name(arrived.message);
            self.report(Report::Dropped { message, cause: DropReason::Closed });
        }
        self.inbox().reached();
    }

    /// Refuses inputs that have waited long enough.
    pub(super) fn refuse_unattended(&mut self, now: Instant) {
        while let Some(arrived) = self.inbox().take_unattended(now) {
            self.refuse_arrived(Caller::ANY, &arrived, DropReason::Unattended);
        }
        self.inbox().reached();
    }

    /// An input that was accepted will not be worked on.
    pub(crate) fn refuse_arrived(&mut self, caller: Caller, arrived: &Arrived, cause: DropReason) {
        let error = refusal::not_worked_on(&self.rules, arrived.message, cause);
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
}
