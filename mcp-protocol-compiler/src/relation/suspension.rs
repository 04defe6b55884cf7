//! Suspended sub-sessions: which side goes on with them in a configuration, and whether the other expects it.
//!
//! That sub-sessions may go on is like a loop of each role that every state has, unless it is marked `only`. So it is
//! compared like an output of the one and an input of the other, and it needs the diamond like any loop: a message of
//! one role must not suspend a step that the other may just have sent.

use mcp_protocol_machine::protocol::{Direction, Only, Side, StateIndex};

use super::disagreement::Disagreement;
use super::machine::Machine;
use super::outcome::Wanted;
use super::product::{PairIndex, Walk};

/// Whether a machine says that `who` goes on with sub-sessions in a configuration.
pub(super) fn goes_on(machine: &Machine<'_>, locations: &[StateIndex], who: Side) -> bool {
    let direction = if who == machine.side() { Direction::Send } else { Direction::Receive };
    let mut states = locations.iter().filter_map(|&location| machine.state(location));
    !states.any(|state| state.only.suspends(direction))
}

/// Whether sub-sessions are suspended in some state of a machine.
pub(super) fn may_suspend(machine: &Machine<'_>) -> bool {
    machine.automaton().states.iter().any(|state| state.only != Only::NONE)
}

/// Compares who goes on with sub-sessions in a pair.
pub(super) fn compare(
    walk: &Walk<'_, '_>,
    index: PairIndex,
    wanted: Wanted,
    best: &mut Option<Disagreement>,
) {
    let (Some(extent), Some(pair)) = (walk.extent(index), walk.pair(index)) else { return };
    if extent.is_body() {
        return;
    }
    for who in [Side::Client, Side::Server] {
        let client = goes_on(walk.client, &pair.client.locations, who);
        let server = goes_on(walk.server, &pair.server.locations, who);
        let (own, expected) = if who == Side::Client { (client, server) } else { (server, client) };
        match (own, expected) {
            (true, false) => Disagreement::keep(best, Disagreement::GoesOn(who)),
            (false, true) if wanted == Wanted::Dual => {
                Disagreement::keep(best, Disagreement::NeverGoesOn(who));
            }
            _ => {}
        }
    }
}
