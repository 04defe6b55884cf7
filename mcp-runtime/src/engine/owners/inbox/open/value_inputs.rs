//! The inputs of values: those of the linear channels, and those of sub-sessions.

use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{RequestId, Step, StepKind, SubSessionNumber};

use super::OpenInbox;
use crate::engine::owners::context::Caller;
use crate::engine::owners::inputs::{LinearInput, Verdict, WantedInput};
use crate::engine::owners::order::Held;
use crate::engine::owners::sub_sessions::Opener;
use crate::engine::owners::wakers::{Listener, OnProgress, Waiter};
use crate::error::{DisconnectReason, Error};

impl OpenInbox<'_> {
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
        let wanted = self.inbox.values.inputs(sub_session).and_then(|queue| queue.wanted(judge));
        if let Some(WantedInput { place, came, verdict }) = wanted {
            if self.held_back_for(context, &mut waiter.turns, Some((came, Held::of_value(sub_session)))) {
                return Poll::Ready(match verdict {
                    Verdict::Stop(error) => Err(error),
                    Verdict::Take | Verdict::Skip => Ok(self.inbox.values.take(sub_session, place)),
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
        self.inbox.values.register(sub_session, context, waiter, self.effects);
        Poll::Pending
    }

    /// Why no further input comes, if that is so.
    pub(super) fn inputs_ended(
        &self,
        caller: Caller,
        sub_session: Option<SubSessionNumber>,
    ) -> Option<Error> {
        let over = match sub_session {
            None if self.is_receiving() => return None,
            None => return Some(self.lifecycle.error().unwrap_or(Error::Closed)),
            Some(sub_session) => self.inbox.sub_sessions().over(sub_session),
        };
        match over {
            Some(Some(error)) => Some(error.clone()),
            Some(None) if self.lifecycle.is_open() => None,
            Some(None) | None => Some(self.lifecycle.closed(caller).unwrap_or(Error::Closed)),
        }
    }

    /// The first input that waits for a value, and that the value would take.
    pub(crate) fn first_input(
        &self,
        sub_session: Option<SubSessionNumber>,
        takes: impl Fn(&LinearInput) -> bool,
    ) -> Option<MessageIndex> {
        self.inbox.values.inputs(sub_session)?.iter().find(|input| takes(input)).map(|input| input.message)
    }

    /// Puts an input that was admitted where its value takes it.
    pub(crate) fn put_input(&mut self, sub_session: Option<SubSessionNumber>, input: LinearInput) {
        self.inbox.values.push(sub_session, input);
        self.came(Held::of_value(sub_session));
    }

    /// Nothing follows what waits for the value of a sub-session.
    pub(crate) fn end_sub_session(&mut self, sub_session: SubSessionNumber, error: Error) {
        self.inbox.sub_sessions_mut().end(sub_session, error, self.effects);
    }

    /// A step was taken that the value of a sub-session does not take itself. If it was the last one, the value learns
    /// that nothing follows.
    pub(crate) fn end_behind_value(&mut self, step: &Step) {
        if let (Some(sub_session), StepKind::SubSession { ended: true }) = (step.sub_session, step.kind) {
            self.end_sub_session(sub_session, Error::Closed);
        }
    }

    /// Why the value of a sub-session can send nothing any more, if that is so.
    pub(crate) fn sub_session_over(&self, sub_session: SubSessionNumber) -> Option<Error> {
        self.inbox.sub_sessions().why_over(sub_session)
    }

    /// The request that opened a sub-session has its reply: from here on reports on it go there.
    pub(crate) fn listen_to(&mut self, sub_session: SubSessionNumber, on_progress: OnProgress) {
        let opener = self.inbox.sub_sessions().opener(sub_session);
        let name = opener.map(|Opener { message, .. }| self.rules.name(message)).unwrap_or_default();
        let listener = Listener::new(on_progress, name);
        self.inbox.sub_sessions_mut().listen(sub_session, listener, self.effects);
    }

    /// A report has come on a request that has its reply.
    pub(in super::super) fn sub_session_reported(&mut self, id: i64, report: &str) {
        let sub_session = self.rules.checker().sub_session_of(Direction::Send, &RequestId::Number(id));
        let sub_sessions = self.inbox.sub_sessions();
        if let Some(listener) = sub_session.and_then(|sub_session| sub_sessions.listener(sub_session)) {
            self.inbox.dispatch.hear(listener, report.into(), self.rules, self.effects);
        }
    }

    /// One more value stands for a sub-session: one for each of its linear channels.
    pub(crate) fn sub_session_value_made(&mut self, sub_session: SubSessionNumber) {
        self.inbox.sub_sessions_mut().value_made(sub_session);
    }

    /// A value of a sub-session is gone, for others that stand for its parts.
    pub(crate) fn sub_session_value_gone(&mut self, sub_session: SubSessionNumber) {
        self.inbox.sub_sessions_mut().value_gone(sub_session);
    }
}
