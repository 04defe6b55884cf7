//! Who takes an accepted message: the values of the linear channels, those of sub-sessions, or handlers; and what becomes
//! of it when those are gone, or have moved on.
//!
//! A message is judged when it arrives, in the state of the wire. A value lags that state by the inputs that it has not
//! taken, so there are two moments in which a message can be late: on the wire, where it crosses a step of this side,
//! and in the queue, where the value moves on before it has taken it. Either way it is dropped with a report, and is
//! never handed out in another state.

use mcp_protocol_machine::protocol::{Direction, MessageIndex, StateIndex};
use mcp_protocol_machine::{RequestId, Step, StepKind, SubSessionNumber};

use super::owners::context::Caller;
use super::owners::inputs::{Background, Body, LinearInput};
use super::owners::replicated::{Arrived, Scope};
use super::state::Engine;
use crate::budget::Permit;
use crate::driver::OutletNotice;
use crate::error::Error;
use crate::jsonrpc::RpcError;
use crate::report::{DropReason, Report};
use crate::rules::judge;

/// How the program has left the value of a sub-session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubSessionLeft {
    /// The value had taken the last message: what it did not take, the program has passed over.
    AtEnd,
    /// The sub-session goes on, or ended without its value.
    Before,
}

/// How a value came to another state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moved {
    /// By a message of its own.
    Sent(MessageIndex),
    /// By an input.
    Took,
}

impl Engine {
    /// Hands an accepted message on to what takes it: the values of the linear channels, that of a sub-session, or handlers.
    pub(super) fn hand_on(&mut self, step: &Step, arrived: Arrived, negotiation: Option<Box<Error>>) {
        match (step.kind, step.sub_session) {
            (StepKind::Linear { .. }, _) => {
                self.linear_came(LinearInput::of(arrived, negotiation), step.kind)
            }
            (StepKind::SubSession { .. }, Some(sub_session)) => {
                self.sub_session_came(sub_session, LinearInput::of(arrived, negotiation));
            }
            (StepKind::Spawned { within: Some(outer), .. }, _) => self.exchange_came(outer, arrived),
            _ => self.replicated_came(arrived),
        }
    }

    /// A linear input was accepted.
    pub(super) fn linear_came(&mut self, mut input: LinearInput, kind: StepKind) {
        let most = self.rules.options().max_linear;
        let Err(too_much) = self.inbox.admit(None, &mut input, most) else {
            if input.answers.is_none() {
                self.outbox.note(OutletNotice::PeerStepped, &mut self.effects);
            }
            return self.inbox().put_input(None, input);
        };
        let left_out = match &input.id {
            Some(id) if judge::is_undone_by_refusal(&self.rules, input.message, kind) => {
                let error = RpcError::busy("too many messages are waiting: try again later");
                self.reply_error(Caller::ANY, id, &error).is_ok()
            }
            Some(_) => false,
            // The state is the same with the message and without it, so it can be dropped.
            None => matches!(kind, StepKind::Linear { from, to } if from == to),
        };
        if left_out {
            let message = self.rules.name(input.message);
            self.report(Report::Dropped { message, cause: too_much.drop_reason() });
        } else {
            self.end(too_much.disconnect_reason(&input));
        }
    }

    /// An input of a sub-session was accepted.
    pub(super) fn sub_session_came(&mut self, sub_session: SubSessionNumber, mut input: LinearInput) {
        let (message, id) = (input.message, input.id.clone());
        let most = self.rules.options().max_linear;
        if !self.inbox.has_value(sub_session) {
            if self.outlive_sub_session(input, SubSessionLeft::Before) {
                return;
            }
        } else if let Err(too_much) = self.inbox.admit(Some(sub_session), &mut input, most) {
            let cause = too_much.drop_reason();
            if let Body::Exchange(arrived) = input.body {
                // By itself, so the value can follow without it.
                return self.refuse_arrived(Caller::ANY, &arrived, cause);
            }
            // The value cannot follow without this input.
            let reason = too_much.disconnect_reason(&input);
            self.inbox().end_sub_session(sub_session, Error::Disconnected { reason });
            self.report(Report::Dropped { message: self.rules.name(message), cause });
        } else {
            return self.inbox().put_input(Some(sub_session), input);
        }
        if let Some(id) = id {
            let error = RpcError::internal_error("what the request belongs to was dropped");
            let _ = self.reply_error(Caller::ANY, &id, &error);
        }
    }

    /// What runs next to the channels of a sub-session has come: for its attendants, or else for its value.
    pub(super) fn exchange_came(&mut self, sub_session: SubSessionNumber, arrived: Arrived) {
        if !self.inbox.is_attended(arrived.scope) || !self.inbox.has_value(sub_session) {
            // In the queue of the sub-session it keeps its place among the steps.
            return self.sub_session_came(sub_session, LinearInput::within(arrived));
        }
        if let Some(id) = arrived.id.as_ref().filter(|_| arrived.sub_session.is_none()) {
            self.owed.give_to_handler(id);
        }
        self.replicated_came(arrived);
    }

    /// There is one more attendant. To that of a sub-session go the exchanges that wait for its value, too.
    pub(crate) fn attend(&mut self, scope: Scope) {
        let exchanges = self.inbox().attend(scope);
        let Some(sub_session) = scope else { return };
        for input in exchanges {
            if let Body::Exchange(arrived) = input.body {
                // Its bytes are counted again where it waits from here on.
                drop(input.permit);
                self.exchange_came(sub_session, *arrived);
            }
        }
    }

    /// A value has taken an exchange, and hands it on: what answers it outlives the value.
    pub(crate) fn exchange_taken(&mut self, id: &RequestId) {
        self.owed.give_to_handler(id);
    }

    /// The last attendant of a sub-session is gone: what waits goes back to the value, if there is one.
    fn give_back_exchanges(&mut self, sub_session: SubSessionNumber) {
        for mut arrived in self.inbox.take_replicated(|arrived| arrived.scope == Some(sub_session)) {
            if !self.lifecycle.is_live() || !self.inbox.has_value(sub_session) {
                self.refuse_arrived(Caller::ANY, &arrived, DropReason::Abandoned);
                continue;
            }
            if let Some(id) = arrived.id.as_ref().filter(|_| arrived.sub_session.is_none()) {
                self.owed.give_to_value(id, sub_session);
            }
            arrived.permit = Permit::default();
            self.sub_session_came(sub_session, LinearInput::within(arrived));
        }
        self.inbox().reached();
    }

    /// An attendant is gone. What waits then has its time to be taken by another one.
    pub(crate) fn leave(&mut self, scope: Scope) {
        if !self.inbox().leave(scope) {
            return;
        }
        if let Some(sub_session) = scope {
            return self.give_back_exchanges(sub_session);
        }
        if self.inbox.has_replicated(None) {
            if self.lifecycle.is_live() {
                self.effects.wake_driver();
            } else {
                self.drop_untaken();
            }
        }
    }

    /// A replicated input was accepted.
    pub(super) fn replicated_came(&mut self, mut arrived: Arrived) {
        let owed = self.owed.len();
        match self.inbox().admit_replicated(&mut arrived, owed) {
            Ok(()) => self.inbox().put_replicated(arrived),
            Err((cause, None)) => self.refuse_arrived(Caller::ANY, &arrived, cause),
            Err((cause, Some(exhausted))) => {
                self.refuse_exhausted(Caller::ANY, &arrived, cause, exhausted);
            }
        }
    }

    /// The value that an input waited for is gone. If the input may occur uncorrelated, it goes to `incoming`;
    /// otherwise it is dropped, with a report. Returns whether a handler answers it, if it is a request.
    ///
    /// A program that has finished with the value and does not take `incoming` has read what it wants to read. Nothing
    /// is lost then that it could miss, so nothing is reported.
    pub(super) fn outlive_sub_session(&mut self, input: LinearInput, left: SubSessionLeft) -> bool {
        let input = input.taken();
        if let Body::Exchange(arrived) = input.body {
            let (message, cause) = (self.rules.name(arrived.message), DropReason::Abandoned);
            self.leave_exchange(Caller::ANY, *arrived);
            self.report(Report::Dropped { message, cause });
            return false;
        }
        let alone = self.may_be_uncorrelated(&input);
        if alone && left == SubSessionLeft::AtEnd && !self.inbox.is_attended(None) {
            return false;
        }
        let Some(at) = self.timers.now().filter(|_| alone) else {
            let message = self.rules.name(input.message);
            self.report(Report::Dropped { message, cause: DropReason::Abandoned });
            return false;
        };
        let LinearInput { message, id, body, permit, came, background, .. } = input;
        if let Some(id) = &id {
            self.owed.give_to_handler(id);
        }
        let payload = match body {
            Body::Payload(payload) => payload,
            Body::Refusal(_) | Body::Rejected(_) | Body::Exchange(_) => None,
        };
        // It is counted again where it waits from here on.
        drop(permit);
        let Background { token, extension } = background;
        let epoch = self.lifecycle.epoch();
        let (scope, sub_session, permit) = (None, None, Permit::default());
        self.replicated_came(Arrived {
            message,
            id,
            token,
            scope,
            sub_session,
            payload,
            permit,
            extension,
            at,
            came,
            epoch,
        });
        true
    }

    /// An exchange of a sub-session that its value has not taken will not be worked on: a request gets an error, and a
    /// sub-session that it has opened is over for this side.
    pub(super) fn leave_exchange(&mut self, caller: Caller, arrived: Arrived) {
        if let Some(id) = &arrived.id {
            let error = RpcError::internal_error("the request was dropped unanswered");
            // The session may have ended, and no peer waits for an answer.
            let _ = self.reply_error(caller, id, &error);
        }
        if let Some((sub_session, _)) = arrived.sub_session {
            self.leave_sub_session(caller, sub_session);
        }
    }

    /// Whether an input of a sub-session could have come without one, in the state that the session is in, and something
    /// takes it: a request whose answer is wanted needs a handler.
    pub(super) fn may_be_uncorrelated(&self, input: &LinearInput) -> bool {
        let comes_by_itself = input.answers.is_none() && matches!(input.body, Body::Payload(_));
        let is_answered = |id| self.inbox.is_attended(None) && self.owed.is_cancelled(id) == Some(false);
        comes_by_itself
            && input.id.as_ref().is_none_or(is_answered)
            && self.lifecycle.is_open()
            && self.rules.checker().is_replicated(Direction::Receive, input.message)
            && !self.rules.checker().opens_sub_session(Direction::Receive, input.message)
    }

    /// A value has moved to a state. What waits for it and was for a state before is dropped, and reported.
    pub(crate) fn leave_behind(
        &mut self,
        sub_session: Option<SubSessionNumber>,
        state: StateIndex,
        moved: Moved,
        is_mine: impl Fn(MessageIndex) -> bool,
    ) {
        for place in self.inbox.passed_over(&self.rules, &self.owed, sub_session, state, is_mine) {
            let Some(dropped) = self.inbox.take_input(sub_session, place) else { continue };
            let message = self.rules.name(dropped.message);
            if let Body::Exchange(arrived) = dropped.body {
                self.leave_exchange(Caller::ANY, *arrived);
            }
            self.report(match moved {
                Moved::Sent(sent) => Report::Late {
                    message,
                    state: self.rules.state_name(state),
                    crossed: Some(self.rules.name(sent)),
                    over: false,
                },
                Moved::Took => Report::Dropped { message, cause: DropReason::PassedOver },
            });
        }
    }
}
