//! Where a message of this side stands, for the transport.

use mcp_protocol_machine::StepKind;
use mcp_protocol_machine::protocol::{Action, Edge, Origin};

use super::Rules;
use crate::driver::Place;

/// Where a message of this side stands, given what it did. `bound`: its caller may speak in one epoch only.
pub(crate) fn of(rules: &Rules, bound: bool, step: StepKind) -> Place {
    let (from, to) = match step {
        StepKind::Linear { from, to } => (from, to),
        StepKind::SubSession { .. } | StepKind::Spawned { within: Some(_), .. } | StepKind::Reported => {
            return Place::Within;
        }
        _ if bound => return Place::Within,
        _ => return Place::Replicated,
    };
    let edges = rules.state(from).map_or(&[][..], |state| &state.edges);
    let is_own = |edge: &&Edge| edge.origin == Origin::Written && matches!(edge.action, Action::Step(_));
    match edges.iter().filter(is_own).count() {
        0 | 1 if from != to => Place::OnlyStep,
        _ => Place::ChosenStep,
    }
}
