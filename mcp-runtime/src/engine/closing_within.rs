//! A sub-session that this side is about to end: what runs in it is cancelled or answered first, as at the close of a
//! session.

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{Awaiting, RequestId, SubSessionNumber};

use super::owed::CancelOutcome;
use super::owners::context::Caller;
use super::owners::inputs::Body;
use super::owners::sub_sessions::Opener;
use super::state::Engine;
use crate::error::Error;
use crate::report::Report;

impl Engine {
    /// Prepares the end of a sub-session by a message of this side, which is written next. Requests that its value has not
    /// taken get an error. Running requests of this side are cancelled where the protocol allows it; others still get
    /// their replies. Handlers of the peer's requests go on: an answer needs no sub-session.
    pub(super) fn close_within(&mut self, caller: Caller, sub_session: SubSessionNumber, by: MessageIndex) {
        self.answer_untaken(sub_session, by);
        for id in self.running_within(sub_session) {
            // What cannot be cancelled here gets its reply.
            let _ = self.cancel_with(caller, id, None, Error::Closed);
        }
        for inner in self.sub_sessions.numbers() {
            if inner == sub_session || !self.rules.checker().is_within(inner, sub_session) {
                continue;
            }
            if let Some(Opener { message, id }) = self.sub_sessions.opener(inner)
                && self.is_cancellable(message)
                && self.is_awaited(id)
                && matches!(self.cancel_with(caller, id, None, Error::Closed), Ok(CancelOutcome::Ended))
            {
                self.sub_sessions.end(inner, Error::Closed, &mut self.effects);
            }
        }
    }

    /// The calls that have opened something within a sub-session, run, and may be cancelled.
    fn running_within(&self, sub_session: SubSessionNumber) -> Vec<i64> {
        let checker = self.rules.checker();
        let mut running = self.calls.running_within(|within| checker.is_within(within, sub_session));
        running.retain(|(id, message)| self.is_cancellable(*message) && self.is_awaited(*id));
        running.into_iter().map(|(id, _)| id).collect()
    }

    /// The sub-session that a cancel of the request which opened it would end.
    pub(super) fn ended_by_cancel(&self, id: &RequestId) -> Option<SubSessionNumber> {
        let checker = self.rules.checker();
        let sub_session = checker.sub_session_of(Direction::Send, id)?;
        let request = match checker.awaiting(Direction::Receive, id) {
            Awaiting::Request(request) => Some(request),
            _ => checker.answered_opener(Direction::Send, id),
        };
        let opener = request.is_some_and(|request| self.is_cancellable(request));
        (opener && checker.sub_session_opener(sub_session) == Some(id)).then_some(sub_session)
    }

    fn is_cancellable(&self, message: MessageIndex) -> bool {
        self.rules.message(message).is_some_and(|message| message.cancellable)
    }

    /// Whether a request of this side still gets its reply, and was not cancelled.
    fn is_awaited(&self, id: i64) -> bool {
        let (checker, id) = (self.rules.checker(), RequestId::Number(id));
        matches!(checker.awaiting(Direction::Receive, &id), Awaiting::Request(_))
            && !checker.is_cancelled(Direction::Send, &id)
    }

    /// Requests of the peer that wait for the value of a sub-session get an error.
    fn answer_untaken(&mut self, sub_session: SubSessionNumber, by: MessageIndex) {
        let is_request = |body: &Body| matches!(body, Body::Exchange(arrived) if arrived.id.is_some());
        while let Some(input) = self.sub_sessions.take(sub_session, |inputs| {
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
}
