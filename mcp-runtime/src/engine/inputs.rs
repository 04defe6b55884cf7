//! Linear inputs: how they come, and how the values of the linear channels and of sub-sessions take them.

use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::{Action, Direction, MessageIndex};
use mcp_protocol_machine::{RequestId, StepKind, SubSessionNumber};

use super::owners::context::Caller;
use super::owners::inputs::{InputQueue, LinearInput, Verdict, Wanted, too_much};
use super::owners::order::Held;
use super::owners::wakers::Waiter;
use super::state::Engine;
use crate::budget::Exhausted;
use crate::driver::OutletNotice;
use crate::error::{DisconnectReason, Error};
use crate::jsonrpc::RpcError;
use crate::report::{DropReason, Report};

/// A step with a payload of up to this many bytes is taken also where no more may wait.
const SMALL_STEP: usize = 16 * 1024;

impl Engine {
    /// Takes the first input that `judge` wants: of a sub-session, or of the linear channels. `Ok(None)`: the session is
    /// over, and the peer was allowed to end it here.
    pub(crate) fn poll_input(
        &mut self,
        caller: Caller,
        context: &Context<'_>,
        waiter: &mut Waiter,
        sub_session: Option<SubSessionNumber>,
        judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<Result<Option<LinearInput>, Error>> {
        let wanted = self.inputs(sub_session).and_then(|queue| queue.wanted(judge));
        if let Some(Wanted { place, came, verdict }) = wanted {
            if self.held_back_for(context, &mut waiter.turns, Some((came, held(sub_session)))) {
                return Poll::Ready(match verdict {
                    Verdict::Stop(error) => Err(error),
                    Verdict::Take | Verdict::Skip => Ok(self.take_input(sub_session, place)),
                });
            }
        } else if let Some(error) = self.inputs_ended(caller, sub_session) {
            return Poll::Ready(match error {
                Error::Disconnected { reason: DisconnectReason::PeerClosed } if sub_session.is_none() => {
                    Ok(None)
                }
                error => Err(error),
            });
        }
        self.register_input(context, waiter, sub_session);
        Poll::Pending
    }

    /// Why no further input comes, if that is so.
    pub(super) fn inputs_ended(
        &self,
        caller: Caller,
        sub_session: Option<SubSessionNumber>,
    ) -> Option<Error> {
        let over = match sub_session {
            None if self.goes_on() => return None,
            None => return Some(self.lifecycle.error().unwrap_or(Error::Closed)),
            Some(sub_session) => self.sub_sessions.over(sub_session),
        };
        match over {
            Some(Some(error)) => Some(error.clone()),
            Some(None) if self.lifecycle.is_open() => None,
            Some(None) | None => Some(self.lifecycle.closed(caller).unwrap_or(Error::Closed)),
        }
    }

    /// The inputs that wait for a value.
    pub(super) fn inputs(&self, sub_session: Option<SubSessionNumber>) -> Option<&InputQueue> {
        match sub_session {
            Some(sub_session) => self.sub_sessions.inputs(sub_session),
            None => Some(&self.linear),
        }
    }

    pub(super) fn take_input(
        &mut self,
        sub_session: Option<SubSessionNumber>,
        place: usize,
    ) -> Option<LinearInput> {
        let taken = match sub_session {
            Some(sub_session) => self.sub_sessions.take(sub_session, |inputs| inputs.take(place)),
            None => self.linear.take(place),
        };
        taken.map(LinearInput::taken)
    }

    /// A value has taken an exchange, and hands it on: what answers it outlives the value.
    pub(crate) fn exchange_taken(&mut self, id: &RequestId) {
        self.owed.give_to_handler(id);
    }

    /// Drops a reply that waits to be taken. Returns whether there was one.
    pub(super) fn forget_reply(&mut self, request: i64, sub_session: Option<SubSessionNumber>) -> bool {
        let reply = match sub_session {
            Some(sub_session) => self.sub_sessions.take(sub_session, |inputs| inputs.take_reply(request)),
            None => self.linear.take_reply(request),
        };
        reply.is_some()
    }

    pub(super) fn register_input(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        sub_session: Option<SubSessionNumber>,
    ) {
        match sub_session {
            Some(sub_session) => self.sub_sessions.register(sub_session, context, waiter, &mut self.effects),
            None => self.linear.waiting().register(context, waiter, &mut self.effects),
        }
    }

    /// The first input that waits for a value, and that the value would take.
    pub(crate) fn first_input(
        &self,
        sub_session: Option<SubSessionNumber>,
        takes: impl Fn(&LinearInput) -> bool,
    ) -> Option<MessageIndex> {
        self.inputs(sub_session)?.iter().find(|input| takes(input)).map(|input| input.message)
    }

    /// A linear input was accepted.
    pub(super) fn linear_came(&mut self, mut input: LinearInput, kind: StepKind) {
        let admitted = self.admit_step(&mut input);
        if self.linear.len() >= self.rules.options().max_linear || admitted.is_err() {
            let reason = too_much(&input, self.linear.len(), admitted.err());
            let left_out = match &input.id {
                Some(id) if self.is_undone_by_refusal(input.message, kind) => {
                    let error = RpcError::busy("too many messages are waiting: try again later");
                    self.reply_error(Caller::ANY, id, &error).is_ok()
                }
                Some(_) => false,
                // The state is the same with the message and without it, so it can be dropped.
                None => matches!(kind, StepKind::Linear { from, to } if from == to),
            };
            if left_out {
                let message = self.rules.name(input.message);
                let cause = if admitted.is_err() { DropReason::TooManyBytes } else { DropReason::QueueFull };
                self.report(Report::Dropped { message, cause });
            } else {
                self.end(reason);
            }
            return;
        }
        if input.answers.is_none() {
            self.outbox.note(OutletNotice::PeerStepped, &mut self.effects);
        }
        self.linear.push(input);
        if self.may_wake(Held::Linear) {
            self.linear.waiting().wake(&mut self.effects);
        }
    }

    /// Counts a step's bytes, whether or not there is room for them if they are few: most steps cannot be left out.
    pub(super) fn admit_step(&mut self, input: &mut LinearInput) -> Result<(), Exhausted> {
        let length = input.length();
        input.permit = match self.input.take(length) {
            Err(_) if length <= SMALL_STEP => self.input.overdraw(length),
            taken => taken?,
        };
        Ok(())
    }

    /// Whether a linear request that is refused leaves its channel where it was before. A refusal with a branch of its
    /// own leads on, and the value that has not seen the request could not follow.
    fn is_undone_by_refusal(&self, request: MessageIndex, kind: StepKind) -> bool {
        let StepKind::Linear { from, to } = kind else { return false };
        let refusal = self.rules.refusal_of(request);
        let asked = self.rules.state(to);
        let edge = refusal.zip(asked).and_then(|(refusal, asked)| asked.edge(Direction::Send, refusal));
        edge.is_some_and(|edge| edge.action == Action::Step(from))
    }
}

/// By what a task that waits for an input is known where its message is held back.
pub(super) fn held(sub_session: Option<SubSessionNumber>) -> Held {
    sub_session.map_or(Held::Linear, Held::SubSession)
}
