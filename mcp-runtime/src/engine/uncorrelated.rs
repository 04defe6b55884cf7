//! Inputs of a sub-session whose value is gone, and which may occur uncorrelated: they go to `incoming`.

use mcp_protocol_machine::protocol::Direction;

use super::owners::inputs::{Body, LinearInput};
use super::owners::replicated::Arrived;
use super::state::Engine;
use crate::budget::Permit;
use crate::report::{DropReason, Report};

/// How the program has left the value of a sub-session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubSessionLeft {
    /// The value had taken the last message: what it did not take, the program has passed over.
    AtEnd,
    /// The sub-session goes on, or ended without its value.
    Before,
}

impl Engine {
    /// The value that an input waited for is gone. If the input may occur uncorrelated, it goes to `incoming`;
    /// otherwise it is dropped, with a report.
    ///
    /// A program that has finished with the value and does not take `incoming` has read what it wants to read. Nothing
    /// is lost then that it could miss, so nothing is reported.
    pub(super) fn outlive_sub_session(&mut self, input: LinearInput, left: SubSessionLeft) {
        let alone = self.may_be_uncorrelated(&input);
        if alone && left == SubSessionLeft::AtEnd && self.replicated.attendants() == 0 {
            return;
        }
        let Some(at) = self.timers.now().filter(|_| alone) else {
            let message = self.rules.name(input.message);
            return self.report(Report::Dropped { message, cause: DropReason::Abandoned });
        };
        let LinearInput { message, body, permit, came, .. } = input;
        let payload = match body {
            Body::Payload(payload) => payload,
            Body::Refusal(_) | Body::Rejected(_) => None,
        };
        // It is counted again where it waits from here on.
        drop(permit);
        self.replicated_came(Arrived {
            message,
            id: None,
            token: None,
            sub_session: None,
            payload,
            permit: Permit::default(),
            extension: None,
            at,
            came,
            epoch: self.epoch(),
        });
    }

    /// Whether an input of a sub-session could have come without one, in the state that the session is in.
    fn may_be_uncorrelated(&self, input: &LinearInput) -> bool {
        let is_notification =
            input.id.is_none() && input.answers.is_none() && matches!(input.body, Body::Payload(_));
        is_notification
            && self.lifecycle.is_open()
            && self.rules.checker().is_replicated(Direction::Receive, input.message)
            && !self.rules.checker().opens_sub_session(Direction::Receive, input.message)
    }
}
