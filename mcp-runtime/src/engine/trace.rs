//! What is noted for `tracing`, if a subscriber listens.

use mcp_protocol_machine::protocol::{Direction, MessageIndex, StateIndex};
use mcp_protocol_machine::{RequestId, Step, StepKind, SubSessionNumber};

use super::owners::trace::{Outcome, Trace, is_heard};
use super::state::Engine;
use crate::error::Error;

impl Engine {
    /// A request was sent or has come, and was accepted.
    pub(super) fn trace_asked(&mut self, from: Direction, id: &RequestId, message: MessageIndex) {
        if is_heard() {
            let method = self.rules.method(message);
            self.traces.push(Trace::Asked { from, id: id.clone(), method });
        }
    }

    /// An exchange is over.
    pub(super) fn trace_over(&mut self, from: Direction, id: &RequestId, outcome: Outcome) {
        if is_heard() {
            self.traces.push(Trace::Over { from, id: id.clone(), outcome });
        }
    }

    /// A step was taken.
    pub(super) fn trace_step(&mut self, step: &Step) {
        let name = |state: StateIndex| self.rules.state_name(state);
        let trace = match (step.kind, step.sub_session) {
            (StepKind::Linear { from, to }, _) if from != to && is_heard() => {
                Trace::Moved { from: name(from), to: name(to) }
            }
            (StepKind::Spawned { .. } | StepKind::SubSession { .. }, Some(sub_session)) if is_heard() => {
                let state = self.rules.checker().sub_session_state(sub_session);
                Trace::SubSession { sub_session, state: state.map(|state| (state, name(state))) }
            }
            _ => return,
        };
        self.traces.push(trace);
    }

    /// A sub-session is over without a step.
    pub(super) fn trace_sub_session_over(&mut self, sub_session: SubSessionNumber) {
        if is_heard() {
            self.traces.push(Trace::SubSession { sub_session, state: None });
        }
    }

    /// The session has come to its end, or closer to it.
    pub(super) fn trace_end(&mut self, last: bool) {
        if is_heard() {
            let reason = self.lifecycle.error().unwrap_or(Error::Closed).to_string();
            self.traces.push(Trace::Ended { reason, last });
        }
    }
}
