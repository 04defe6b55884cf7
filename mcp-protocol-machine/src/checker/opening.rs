//! What opens a sub-session: in the session itself, or within another sub-session.

use crate::exchange::{LateRequest, Place};
use crate::id::{RequestId, SubSessionNumber, Token};
use crate::protocol::{Action, Direction, MessageIndex, StateIndex};
use crate::sub_sessions::Correlation;
use crate::trail::Left;

use super::find::Found;
use super::state::Checker;
use super::step::{Late, Step, StepKind};

/// A request or a notification that was judged.
pub(super) struct JudgedMessage<'a> {
    pub(super) direction: Direction,
    pub(super) message: MessageIndex,
    /// The id and the token of a request.
    pub(super) request: Option<(&'a RequestId, Option<Token>)>,
    pub(super) correlation: Correlation<'a>,
}

impl Checker {
    /// The first message of a `*`: of the session, or in the body of a sub-session.
    pub(super) fn open_body(
        &mut self,
        outer: Option<SubSessionNumber>,
        found: &Found,
        start: StateIndex,
        said: JudgedMessage<'_>,
    ) -> Step {
        let JudgedMessage { direction, message, request, correlation } = said;
        let limits = self.limits;
        let id = request.as_ref().map(|(id, _)| *id);
        let advice = self.advice(direction, message, found.state, id);
        self.said_within(outer, found, direction, message);
        let ended = self.is_end(start);
        let opened = (Left { by: Some(message), fence: self.fence(direction, id) }, id.cloned());
        let (_, sub_sessions, evidence) = self.with_evidence();
        let sub_session = sub_sessions.start(start, outer, direction, opened, correlation.keys, &evidence);
        let channel = sub_session.map(|opened| sub_sessions.first_channel(opened)).unwrap_or_default();
        if let Some((id, token)) = request {
            let place = sub_session.map_or(Place::SubSession(start), |opened| Place::Keyed(opened, channel));
            let asked = self.asked_mut(direction);
            asked.open_exchange(id, message, place, token, correlation.announces, &limits);
            if ended {
                asked.finish(id);
            }
        }
        let kind = StepKind::Spawned { state: start, within: outer };
        Step { kind, message: Some(message), sub_session, advice }
    }

    /// A message that comes late for the session, or for a sub-session that goes on. The only answer to a request is an
    /// error.
    pub(super) fn come_late(
        &mut self,
        within: Option<SubSessionNumber>,
        found: &Found,
        late: Late,
        said: JudgedMessage<'_>,
    ) -> Step {
        let JudgedMessage { direction, message, request, correlation } = said;
        let limits = self.limits;
        self.said_within(within, found, direction, message);
        if let Some((id, token)) = request {
            let opened = match found.action {
                Action::Spawn(start) => {
                    self.sub_sessions.open_late(start, within, direction, message, correlation.keys, &limits)
                }
                Action::Step(_) => None,
            };
            // What it has crossed may be undone before it arrives: a request cancelled, a gate opened again.
            let late = LateRequest { message, opened, announces: correlation.announces };
            self.asked_mut(direction).refuse_late(id, token.as_ref(), late, &limits);
        }
        Step::plain(StepKind::Late(late), message)
    }

    /// A message was accepted for a channel of the session or of a sub-session, also as one that is late.
    fn said_within(
        &mut self,
        within: Option<SubSessionNumber>,
        found: &Found,
        direction: Direction,
        message: MessageIndex,
    ) {
        let Some(sub_session) = within else { return self.said(found, direction, message) };
        if found.shows_state {
            let (_, sub_sessions, evidence) = self.with_evidence();
            sub_sessions.said(sub_session, found.place, direction, message, &evidence);
        }
    }
}
