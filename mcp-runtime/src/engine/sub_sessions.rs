//! Sub-sessions: how their values open and leave them, and what comes for them.

use mcp_protocol_machine::protocol::{Direction, MessageIndex, StateIndex};
use mcp_protocol_machine::{About, Meant, RequestId, Step, StepKind, SubSessionNumber};

use super::cancelling::CancelOutcome;
use super::owners::context::Caller;
use super::owners::inputs::Body;
use super::owners::owed::AnsweredBy;
use super::owners::sub_sessions::Opener;
use super::placing::SubSessionLeft;
use super::state::Engine;
use crate::error::Error;
use crate::report::Report;
use crate::rules::cancelling;

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
                self.inbox.sub_sessions_mut().begin(sub_session, opener, caller.is_bound());
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
        self.inbox().end_behind_value(&step);
        Ok(())
    }

    /// The sub-session that the caller takes a step of.
    fn going_on(&self, caller: Caller) -> Result<SubSessionNumber, Error> {
        let sub_session = caller.sub_session().ok_or(Error::Closed)?;
        match self.inbox.sub_sessions().why_over(sub_session) {
            Some(error) => Err(error),
            None => Ok(sub_session),
        }
    }

    /// What the last report on the request of the peer said that opened a sub-session and has its reply.
    pub(super) fn sub_session_progress(&mut self, id: &RequestId) -> Option<&mut Option<f64>> {
        let sub_session = self.rules.checker().sub_session_of(Direction::Receive, id)?;
        let opens = self.rules.checker().sub_session_opener(sub_session) == Some(id);
        if opens { self.inbox.sub_sessions_mut().progress_mut(sub_session) } else { None }
    }

    /// The peer has lost the session: sub-sessions that the checker does not know any more are over. What came before
    /// still counts.
    pub(super) fn end_lost_sub_sessions(&mut self) {
        for sub_session in self.inbox.sub_sessions().numbers() {
            if self.rules.checker().sub_session_state(sub_session).is_none() {
                self.traces.sub_session_over(sub_session);
                self.inbox.sub_sessions_mut().drop_requests(sub_session);
                self.inbox().end_sub_session(sub_session, Error::SessionReplaced);
            }
        }
    }

    /// The values of a sub-session are gone, or one that it needs. What they owed is answered with an error; if the
    /// sub-session goes on and may be cancelled, it is.
    pub(crate) fn leave_sub_session(&mut self, caller: Caller, sub_session: SubSessionNumber) {
        self.leave_sub_session_as(caller, sub_session, SubSessionLeft::Before);
    }

    /// A value of a sub-session is gone. `needed`: the sub-session cannot go on without it.
    pub(crate) fn sub_session_value_dropped(
        &mut self,
        caller: Caller,
        sub_session: SubSessionNumber,
        left: SubSessionLeft,
        needed: bool,
    ) {
        let is_last = self.inbox.sub_sessions_mut().value_gone(sub_session);
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
        let Some((opener, inputs)) = self.inbox.sub_sessions_mut().remove(sub_session, &mut self.effects)
        else {
            return;
        };
        let before = self.effects.report_count();
        let (going_on, dropped): (Vec<_>, Vec<_>) =
            inputs.into_iter().partition(|input| self.may_be_uncorrelated(input));
        for input in going_on {
            self.outlive_sub_session(input, left);
        }
        for id in self.owed.ids(|owed| owed.answered_by == AnsweredBy::SubSession(sub_session)) {
            // The peer may have ended the sub-session meanwhile, and wait for nothing any more.
            let _ = self.reply_dropped(caller, &id);
        }
        for input in dropped {
            self.outlive_sub_session(input, left);
        }
        self.effects.merge_dropped(before);
        let lives = self.rules.checker().sub_session_state(sub_session).is_some() && self.lifecycle.is_open();
        if let Some(Opener { message, id }) = opener.filter(|_| lives)
            && cancelling::is_cancellable(&self.rules, message)
        {
            let _ = self.cancel(caller, id, None);
        }
    }

    /// Prepares the end of a sub-session by a message of this side, which is written next. Requests that its value has not
    /// taken get an error. Running requests of this side are cancelled where the protocol allows it; others still get
    /// their replies. Handlers of the peer's requests go on: an answer needs no sub-session.
    pub(super) fn close_within(&mut self, caller: Caller, sub_session: SubSessionNumber, by: MessageIndex) {
        self.answer_untaken(sub_session, by);
        for id in self.running_within(sub_session) {
            // What cannot be cancelled here gets its reply.
            let _ = self.cancel_with(caller, id, None, Error::Closed);
        }
        for inner in self.inbox.sub_sessions().numbers() {
            if inner == sub_session || !self.rules.checker().is_within(inner, sub_session) {
                continue;
            }
            if let Some(Opener { message, id }) = self.inbox.sub_sessions().opener(inner)
                && cancelling::is_cancellable(&self.rules, message)
                && cancelling::is_running(&self.rules, id)
                && matches!(self.cancel_with(caller, id, None, Error::Closed), Ok(CancelOutcome::Ended))
            {
                self.inbox().end_sub_session(inner, Error::Closed);
            }
        }
    }

    /// The calls that have opened something within a sub-session, run, and may be cancelled.
    fn running_within(&self, sub_session: SubSessionNumber) -> Vec<i64> {
        let checker = self.rules.checker();
        let mut running = self.inbox.calls().running_within(|within| checker.is_within(within, sub_session));
        running.retain(|(id, message)| {
            cancelling::is_cancellable(&self.rules, *message) && cancelling::is_running(&self.rules, *id)
        });
        running.into_iter().map(|(id, _)| id).collect()
    }

    /// Requests of the peer that wait for the value of a sub-session get an error.
    fn answer_untaken(&mut self, sub_session: SubSessionNumber, by: MessageIndex) {
        let is_request = |body: &Body| matches!(body, Body::Exchange(arrived) if arrived.id.is_some());
        while let Some(input) = self.inbox.sub_sessions_mut().take(sub_session, |inputs| {
            let place = inputs.iter().position(|input| is_request(&input.body))?;
            inputs.take(place)
        }) {
            let message = self.rules.name(input.message);
            if let Body::Exchange(arrived) = input.taken().body {
                self.leave_exchange(Caller::ANY, *arrived);
            }
            let state = self.rules.checker().sub_session_state(sub_session);
            let state = state.map(|state| self.rules.state_name(state)).unwrap_or_default();
            let crossed = Some(self.rules.name(by));
            self.report(Report::Late { message, state, crossed, over: true });
        }
    }

    /// How many sub-sessions something is kept for, and how many inputs wait in all of them.
    #[cfg(test)]
    pub(crate) fn sub_sessions_kept(&self) -> (usize, usize) {
        self.inbox.sub_sessions().kept()
    }
}
