//! What comes late, and what a value has left behind.
//!
//! A message is judged when it arrives, in the state of the wire. A value lags that state by the inputs that it has not
//! taken, so there are two moments in which a message can be late: on the wire, where it crosses a step of this side,
//! and in the queue, where the value moves on before it has taken it. Either way it is dropped with a report, and is
//! never handed out in another state.

use mcp_protocol_machine::protocol::{Action, Direction, Kind, MessageIndex, Origin, StateIndex, StateKind};
use mcp_protocol_machine::{About, Late, Meant, RequestId, Step, StepKind, SubSessionNumber, ViolationKind};

use super::owners::context::{Caller, Inbound};
use super::owners::inputs::Body;
use super::state::Engine;
use crate::driver::Received;
use crate::error::Error;
use crate::jsonrpc::RpcError;
use crate::report::{DropReason, Report};

/// How a value came to another state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moved {
    /// By a message of its own.
    Sent(MessageIndex),
    /// By an input.
    Took,
}

/// Whether what was judged is to be written. What is late while its sub-session goes on is for the peer to judge, which
/// may be where it is a step again.
pub(super) fn is_written(step: &Step) -> bool {
    match step.kind {
        StepKind::Late(late) => !late.over,
        kind => !kind.is_dropped(),
    }
}

impl Engine {
    /// A message came late. A request is answered with an error, so that its caller does not wait.
    pub(super) fn late_came(
        &mut self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        late: Late,
        id: Option<&RequestId>,
    ) -> Received {
        let crossed = late.crossed.map(|crossed| self.rules.name(crossed));
        let received = id.map(|id| {
            let error = RpcError::internal_error(match (&crossed, late.over) {
                (_, true) => "the request is late: what it belongs to is over".to_owned(),
                (Some(crossed), false) => format!("the request is late: it crossed `{crossed}`"),
                (None, false) => "the request is late".to_owned(),
            });
            self.write_error(inbound, Some(id), &error)
        });
        self.report(self.rules.late(message, late));
        received.unwrap_or_default()
    }

    /// Sends a linear notification for a value. Where the wire has left the value's state, one that changes nothing may
    /// come too late even to be late: the peer knows that this side has heard of the step, so it is not written.
    pub(crate) fn tell_for_value(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        sub_session: Option<SubSessionNumber>,
        stays: bool,
    ) -> Result<(), Error> {
        let meant = sub_session.map_or(Meant::Anything, Meant::SubSession);
        match self.tell(caller, message, written, About::Nothing, meant) {
            Err(Error::NotPermitted(violation))
                if stays
                    && violation.kind == ViolationKind::NotPermitted
                    && !self.rules.checker().has_step(sub_session, Direction::Send, message) =>
            {
                Ok(())
            }
            told => told.map(drop),
        }
    }

    /// A value has moved to a state. What waits for it and was for a state before is dropped, and reported.
    pub(crate) fn leave_behind(
        &mut self,
        sub_session: Option<SubSessionNumber>,
        state: StateIndex,
        moved: Moved,
        is_mine: impl Fn(MessageIndex) -> bool,
    ) {
        let Some(inputs) = self.inputs(sub_session).filter(|inputs| inputs.len() > 0) else { return };
        // The value takes the others one by one, and what it cannot take on that way it never could in order.
        let mut left: Vec<usize> = Vec::new();
        let mut at = state;
        for (place, input) in inputs.iter().enumerate().filter(|(_, input)| is_mine(input.message)) {
            let Some(table) = self.rules.state(at) else { break };
            if table.kind == StateKind::Fork {
                break;
            }
            let edge = table.edge(Direction::Receive, input.message);
            match edge.filter(|edge| edge.origin != Origin::Closure) {
                Some(edge) => {
                    if let Action::Step(to) = edge.action {
                        at = to;
                    }
                }
                None if matches!(input.body, Body::Exchange(_))
                    || self
                        .rules
                        .message(input.message)
                        .is_some_and(|table| table.kind == Kind::Notification) =>
                {
                    left.push(place);
                }
                None => break,
            }
        }
        for place in left.into_iter().rev() {
            let Some(dropped) = self.take_input(sub_session, place) else { continue };
            let message = self.rules.name(dropped.message);
            if let Body::Exchange(arrived) = dropped.body {
                self.leave_exchange(Caller::ANY, *arrived);
            }
            self.report(match moved {
                Moved::Sent(sent) => Report::Late {
                    message,
                    state: self.rules.state_name(state),
                    crossed: Some(self.rules.name(sent)),
                    over: false,
                },
                Moved::Took => Report::Dropped { message, cause: DropReason::PassedOver },
            });
        }
    }
}
