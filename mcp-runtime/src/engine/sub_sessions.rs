//! Sub-sessions: how their values open and leave them, and what comes for them.

use mcp_protocol_machine::protocol::{Direction, MessageIndex, StateIndex};
use mcp_protocol_machine::{About, Meant, RequestId, Step, StepKind, SubSessionNumber};

use super::owners::context::Caller;
use super::owners::inputs::{Body, InputQueue, LinearInput, too_much};
use super::owners::order::Held;
use super::owners::owed::AnsweredBy;
use super::owners::sub_sessions::Opener;
use super::owners::wakers::{Listener, OnProgress};
use super::state::Engine;
use super::uncorrelated::SubSessionLeft;
use crate::error::Error;
use crate::jsonrpc::RpcError;
use crate::report::{DropReason, Report};

impl Engine {
    /// Opens a sub-session: writes its first message, and gives the sub-session and the state that it is in.
    pub(crate) fn open_sub_session(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        request: bool,
    ) -> Result<(SubSessionNumber, StateIndex), Error> {
        let (id, step) = if request {
            let (id, step) = self.ask(caller, message, written, false, false, caller.meant())?;
            (Some(Opener { message, id }), step)
        } else {
            (None, self.tell(caller, message, written, About::Nothing, caller.meant())?)
        };
        self.keep_opened(caller, &step, id)
    }

    /// The same by a call: its reply is the call's.
    pub(crate) fn call_sub_session(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        progress: bool,
    ) -> Result<(i64, SubSessionNumber, StateIndex), Error> {
        let (id, step) = self.ask(caller, message, written, progress, true, caller.meant())?;
        let opened = self.keep_opened(caller, &step, Some(Opener { message, id }));
        if opened.is_err() {
            self.let_go(caller, id);
        }
        opened.map(|(sub_session, state)| (id, sub_session, state))
    }

    fn keep_opened(
        &mut self,
        caller: Caller,
        step: &Step,
        opener: Option<Opener>,
    ) -> Result<(SubSessionNumber, StateIndex), Error> {
        match (step.sub_session, step.kind) {
            (Some(sub_session), StepKind::Spawned { state, .. }) => {
                self.sub_sessions.begin(sub_session, opener, caller.is_bound());
                Ok((sub_session, state))
            }
            // The tables say that this opens no sub-session of its own; generated code never asks for that.
            _ => Err(self.lifecycle.closed(caller).unwrap_or(Error::Closed)),
        }
    }

    /// Sends a request that is a step of the caller's sub-session, by a call: its reply is the call's, and the value of
    /// the sub-session learns of neither.
    pub(crate) fn ask_step(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        progress: bool,
    ) -> Result<i64, Error> {
        let sub_session = self.going_on(caller)?;
        self.ask(caller, message, written, progress, true, Meant::SubSession(sub_session)).map(|(id, _)| id)
    }

    /// The same for a notification. If it is the last step, the value learns that nothing follows.
    pub(crate) fn tell_step(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
    ) -> Result<(), Error> {
        let sub_session = self.going_on(caller)?;
        let step = self.tell(caller, message, written, About::Nothing, Meant::SubSession(sub_session))?;
        self.end_behind_value(&step);
        Ok(())
    }

    /// A step was taken that the value of a sub-session does not take itself. If it was the last one, the value learns
    /// that nothing follows.
    pub(super) fn end_behind_value(&mut self, step: &Step) {
        if let (Some(sub_session), StepKind::SubSession { ended: true }) = (step.sub_session, step.kind) {
            self.sub_sessions.end(sub_session, Error::Closed, &mut self.effects);
        }
    }

    /// The sub-session that the caller takes a step of.
    fn going_on(&self, caller: Caller) -> Result<SubSessionNumber, Error> {
        let sub_session = caller.sub_session().ok_or(Error::Closed)?;
        match self.sub_session_over(sub_session) {
            Some(error) => Err(error),
            None => Ok(sub_session),
        }
    }

    /// Why the value of a sub-session can send nothing any more, if that is so.
    pub(crate) fn sub_session_over(&self, sub_session: SubSessionNumber) -> Option<Error> {
        match self.sub_sessions.over(sub_session) {
            Some(over) => over.cloned(),
            None => Some(Error::Closed),
        }
    }

    /// An input of a sub-session was accepted.
    pub(super) fn sub_session_came(&mut self, sub_session: SubSessionNumber, mut input: LinearInput) {
        let most = self.rules.options().max_linear;
        let admitted = self.admit_step(&mut input);
        let (name, id) = (self.rules.name(input.message), input.id.clone());
        match self.sub_sessions.inputs(sub_session).map(InputQueue::len) {
            Some(_) if admitted.is_ok() && self.sub_sessions.has_room(sub_session, most) => {
                self.sub_sessions.push(sub_session, input);
                if self.may_wake(Held::SubSession(sub_session)) {
                    self.sub_sessions.wake(sub_session, &mut self.effects);
                }
                return;
            }
            // By itself, so the value can follow without it.
            Some(_) if matches!(input.body, Body::Exchange(_)) => {
                if let Body::Exchange(arrived) = input.body {
                    let cause =
                        if admitted.is_err() { DropReason::TooManyBytes } else { DropReason::QueueFull };
                    self.refuse_arrived(Caller::ANY, &arrived, cause);
                }
                return;
            }
            Some(waiting) => {
                // The value cannot follow without this input.
                let cause = if admitted.is_err() { DropReason::TooManyBytes } else { DropReason::QueueFull };
                let reason = too_much(&input, waiting, admitted.err());
                self.sub_sessions.end(sub_session, Error::Disconnected { reason }, &mut self.effects);
                self.report(Report::Dropped { message: name, cause });
            }
            None => self.outlive_sub_session(input, SubSessionLeft::Before),
        }
        if let Some(id) = id {
            let error = RpcError::internal_error("what the request belongs to was dropped");
            let _ = self.reply_error(Caller::ANY, &id, &error);
        }
    }

    /// The request that opened a sub-session has its reply: from here on reports on it go there.
    pub(crate) fn listen_to(&mut self, sub_session: SubSessionNumber, on_progress: OnProgress) {
        let opener = self.sub_sessions.opener(sub_session);
        let name = opener.map(|opener| self.rules.name(opener.message)).unwrap_or_default();
        self.sub_sessions.listen(sub_session, Listener::new(on_progress, name), &mut self.effects);
    }

    /// A report has come on a request that has its reply.
    pub(super) fn sub_session_reported(&mut self, id: i64, report: &str) {
        let sub_session = self.rules.checker().sub_session_of(Direction::Send, &RequestId::Number(id));
        if let Some(listener) = sub_session.and_then(|sub_session| self.sub_sessions.listener(sub_session)) {
            self.hear_in_order(listener, report.into());
        }
    }

    /// What the last report on the request of the peer said that opened a sub-session and has its reply.
    pub(super) fn sub_session_progress(&mut self, id: &RequestId) -> Option<&mut Option<f64>> {
        let sub_session = self.rules.checker().sub_session_of(Direction::Receive, id)?;
        let opens = self.rules.checker().sub_session_opener(sub_session) == Some(id);
        if opens { self.sub_sessions.progress_mut(sub_session) } else { None }
    }

    /// The peer has lost the session: sub-sessions that the checker does not know any more are over. What came before
    /// still counts.
    pub(super) fn end_lost_sub_sessions(&mut self) {
        for sub_session in self.sub_sessions.numbers() {
            if self.rules.checker().sub_session_state(sub_session).is_none() {
                self.traces.sub_session_over(sub_session);
                self.sub_sessions.drop_requests(sub_session);
                self.sub_sessions.end(sub_session, Error::SessionReplaced, &mut self.effects);
            }
        }
    }

    /// The values of a sub-session are gone, or one that it needs. What they owed is answered with an error; if the
    /// sub-session goes on and may be cancelled, it is.
    pub(crate) fn leave_sub_session(&mut self, caller: Caller, sub_session: SubSessionNumber) {
        self.leave_sub_session_as(caller, sub_session, SubSessionLeft::Before);
    }

    /// One more value stands for a sub-session: one for each of its linear channels.
    pub(crate) fn sub_session_value_made(&mut self, sub_session: SubSessionNumber) {
        self.sub_sessions.value_made(sub_session);
    }

    /// A value of a sub-session is gone, for others that stand for its parts.
    pub(crate) fn sub_session_value_gone(&mut self, sub_session: SubSessionNumber) {
        self.sub_sessions.value_gone(sub_session);
    }

    /// A value of a sub-session is gone. `needed`: the sub-session cannot go on without it.
    pub(crate) fn sub_session_value_dropped(
        &mut self,
        caller: Caller,
        sub_session: SubSessionNumber,
        left: SubSessionLeft,
        needed: bool,
    ) {
        let is_last = self.sub_sessions.value_gone(sub_session);
        if needed || is_last {
            self.leave_sub_session_as(caller, sub_session, left);
        }
    }

    /// The same, of values that may have taken the last message.
    pub(super) fn leave_sub_session_as(
        &mut self,
        caller: Caller,
        sub_session: SubSessionNumber,
        left: SubSessionLeft,
    ) {
        let Some((opener, inputs)) = self.sub_sessions.remove(sub_session, &mut self.effects) else { return };
        for id in self.owed.ids(|owed| owed.answered_by == AnsweredBy::SubSession(sub_session)) {
            // The peer may have ended the sub-session meanwhile, and wait for nothing any more.
            let _ = self.reply_dropped(caller, &id);
        }
        for input in inputs {
            self.outlive_sub_session(input, left);
        }
        let lives = self.rules.checker().sub_session_state(sub_session).is_some() && self.lifecycle.is_open();
        if let Some(Opener { message, id }) = opener.filter(|_| lives)
            && self.rules.message(message).is_some_and(|message| message.cancellable)
        {
            let _ = self.cancel(caller, id, None);
        }
    }

    /// How many sub-sessions something is kept for, and how many inputs wait in all of them.
    #[cfg(test)]
    pub(crate) fn sub_sessions_kept(&self) -> (usize, usize) {
        self.sub_sessions.kept()
    }
}
