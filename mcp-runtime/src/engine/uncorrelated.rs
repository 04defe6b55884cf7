//! Inputs of a sub-session whose value is gone, and which may occur uncorrelated: they go to `incoming`.

use mcp_protocol_machine::protocol::Direction;

use super::owners::context::Caller;
use super::owners::inputs::{Body, LinearInput};
use super::owners::replicated::Arrived;
use super::state::Engine;
use crate::budget::Permit;
use crate::jsonrpc::RpcError;
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
        let input = input.taken();
        if let Body::Exchange(arrived) = input.body {
            let (message, cause) = (self.rules.name(arrived.message), DropReason::Abandoned);
            self.leave_exchange(Caller::ANY, *arrived);
            return self.report(Report::Dropped { message, cause });
        }
        let alone = self.may_be_uncorrelated(&input);
        if alone && left == SubSessionLeft::AtEnd && self.replicated.attendants(None) == 0 {
            return;
        }
        let Some(at) = self.timers.now().filter(|_| alone) else {
            let message = self.rules.name(input.message);
            return self.report(Report::Dropped { message, cause: DropReason::Abandoned });
        };
        let LinearInput { message, body, permit, came, .. } = input;
        let payload = match body {
            Body::Payload(payload) => payload,
            Body::Refusal(_) | Body::Rejected(_) | Body::Exchange(_) => None,
        };
        // It is counted again where it waits from here on.
        drop(permit);
        self.replicated_came(Arrived {
            message,
            id: None,
            token: None,
            scope: None,
            sub_session: None,
            payload,
            permit: Permit::default(),
            extension: None,
            at,
            came,
            epoch: self.lifecycle.epoch(),
        });
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
