//! How an accepted message moves a linear channel.

use super::find::Found;
use super::state::Checker;
use super::step::StepKind;
use crate::id::RequestId;
use crate::protocol::{Action, Direction, MessageIndex, StateIndex};
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
