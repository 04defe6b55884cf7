//! Messages that come too early: before a step that the other side owes them.

use std::collections::BTreeSet;

use crate::protocol::{Action, Direction, Kind, MessageIndex, Origin, Role, State, StateIndex, StateKind};

use super::state::Checker;

impl Checker {
    /// Whether a request or notification comes too early: no linear channel accepts it now, but one does not move
    /// before the receiver of the message has taken a step, and accepts it in a state that lies behind such a step.
    ///
    /// An endpoint can keep such a message and judge it when it has taken that step. What cancels or reports belongs to
    /// a request and is never early, nor is what belongs to a running sub-session.
    pub fn is_early(&self, direction: Direction, message: MessageIndex) -> bool {
        let (Some(role), Some(table)) = (self.role(), self.protocol.message(message)) else { return false };
        let names_a_request = table.cancels.is_some() || table.reports.is_some();
        if self.closed
            || names_a_request
            || !matches!(table.kind, Kind::Request | Kind::Notification)
            || self.find(direction, message).is_some()
            || self.sub_sessions.later(direction, message).is_some()
            // It was accepted here while it could be late, and is not any more.
            || self.states().iter().filter_map(|state| role.state(*state)).any(|state| state.edge(direction, message).is_some())
        {
            return false;
        }
        let states = self.states().iter().filter_map(|state| Some((*state, role.state(*state)?)));
        let mut owed = states.filter(|(index, state)| is_owed(*index, state, direction.flip()));
        owed.any(|(_, state)| {
            let first = state.edges.iter().filter(|edge| edge.direction == direction.flip());
            let first =
                first.filter(|edge| edge.origin != Origin::Refusal).filter_map(|edge| step(edge.action));
            reaches(role, first.collect(), direction, message)
        })
    }
}

/// Whether a channel moves on only by a step in this direction, whichever it is.
fn is_owed(index: StateIndex, state: &State, direction: Direction) -> bool {
    let moves = |towards: Direction| {
        let edges = state.edges.iter().filter(move |edge| edge.direction == towards);
        let mut written = edges.filter(|edge| edge.origin == Origin::Written);
        written.any(|edge| step(edge.action).is_some_and(|to| to != index))
    };
    state.kind == StateKind::Linear && moves(direction) && !moves(direction.flip())
}

fn step(action: Action) -> Option<StateIndex> {
    match action {
        Action::Step(to) => Some(to),
        Action::Spawn(_) => None,
    }
}

/// Whether a message is accepted in one of these states, or in one that steps lead to from them.
fn reaches(role: &Role, from: Vec<StateIndex>, direction: Direction, message: MessageIndex) -> bool {
    let mut seen: BTreeSet<StateIndex> = from.iter().copied().collect();
    let mut next = from;
    while let Some(index) = next.pop() {
        let Some(state) = role.state(index) else { continue };
        if state.edge(direction, message).is_some_and(|edge| edge.origin != Origin::Cancel) {
            return true;
        }
        let steps = state.edges.iter().filter_map(|edge| step(edge.action));
        next.extend(steps.chain(state.parts.iter().copied()).filter(|to| seen.insert(*to)));
    }
    false
}
