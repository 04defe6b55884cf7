//! How an accepted message moves a linear channel, or opens a sub-session.

use super::find::Found;
use super::state::Checker;
use super::step::StepKind;
use crate::id::{RequestId, SubSessionNumber};
use crate::protocol::{Action, Direction, MessageIndex, StateIndex};
use crate::sub_sessions::Correlation;
use crate::trail::Left;

impl Checker {
    /// Takes an edge of a linear channel, apart from what it does to an exchange.
    pub(super) fn take(&mut self, found: Found, direction: Direction, message: MessageIndex) -> StepKind {
        match found.action {
            Action::Step(to) => self.step(found, to, direction, message, None),
            Action::Spawn(state) => {
                self.said(&found, direction, message);
                StepKind::Spawned { state, within: None }
            }
        }
    }

    /// Opens the sub-session of a notification, if a key ties together what follows.
    pub(super) fn open_sub_session(
        &mut self,
        found: Found,
        direction: Direction,
        correlation: Correlation<'_>,
    ) -> Option<SubSessionNumber> {
        let Action::Spawn(state) = found.action else { return None };
        let (_, sub_sessions, evidence) = self.with_evidence();
        sub_sessions.start(state, None, direction, None, correlation.keys, &evidence)
    }

    /// Moves a linear channel. A request is booked before.
    pub(super) fn step(
        &mut self,
        found: Found,
        to: StateIndex,
        direction: Direction,
        message: MessageIndex,
        request: Option<&RequestId>,
    ) -> StepKind {
        self.said(&found, direction, message);
        if to != found.state {
            let left = Left { by: Some(message), fence: self.fence(direction, request) };
            let (channels, _, evidence) = self.with_evidence();
            channels.leave(found.place, direction, left, &evidence);
        }
        self.move_channel(found.place, to);
        StepKind::Linear { from: found.state, to }
    }
}
