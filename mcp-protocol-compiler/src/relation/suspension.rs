//! Suspended sub-sessions: which side goes on with them in a configuration, and whether the other expects it.
//!
//! That sub-sessions may go on is like a loop of each role that every state has, unless it is marked `only`. So it is
//! compared like an output of the one and an input of the other, and it needs the diamond like any loop: a message of
//! one role must not suspend a step that the other may just have sent.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::{Direction, Only, Side, StateIndex};

use super::diamond::{Shared, shared};
use super::disagreement::Disagreement;
use super::machine::{Event, Machine};
use super::outcome::Wanted;
use super::product::{Extent, PairIndex, Walk};
use super::report;
use crate::declarations::Message;
use crate::diagnostic::Diagnostic;

/// Whether a machine says that `who` goes on with sub-sessions in a configuration.
fn goes_on(machine: &Machine<'_>, locations: &[StateIndex], who: Side) -> bool {
    let direction = if who == machine.side() { Direction::Send } else { Direction::Receive };
    let mut states = locations.iter().filter_map(|&location| machine.state(location));
    !states.any(|state| state.only.rests(direction))
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
    if extent == Extent::Body {
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

/// Every message that suspends sub-sessions while a step of one may be on its way to its sender, the nearest first.
pub(super) fn races(walk: &Walk<'_, '_>, messages: &[Message], most: usize) -> Vec<Diagnostic> {
    let mut told: HashSet<Event> = HashSet::new();
    let mut found = Vec::new();
    if !may_suspend(walk.client) && !may_suspend(walk.server) {
        return found;
    }
    for index in walk.all().filter(|index| walk.extent(*index).is_some_and(|extent| extent != Extent::Body)) {
        for both in shared(walk, index) {
            if found.len() == most {
                return found;
            }
            if let Some(race) = race(walk, index, &both, messages)
                && told.insert(both.event())
            {
                found.push(race);
            }
        }
    }
    found
}

/// Whether the receiver of a message may have gone on with a sub-session that is suspended for its sender from then on,
/// or that its own machine has suspended before its program knows.
fn race(walk: &Walk<'_, '_>, index: PairIndex, both: &Shared, messages: &[Message]) -> Option<Diagnostic> {
    let pair = walk.pair(index)?;
    let sender = both.event().sender;
    let peer = sender.other();
    let client_after = walk.client.step(&pair.client.locations, &both.client);
    let server_after = walk.server.step(&pair.server.locations, &both.server);
    let (machine, from, after, senders, senders_after, step) = match sender {
        Side::Client => {
            (walk.server, &pair.server.locations, &server_after, walk.client, &client_after, both.client)
        }
        Side::Server => {
            (walk.client, &pair.client.locations, &client_after, walk.server, &server_after, both.server)
        }
    };
    let fine = !goes_on(machine, from, peer)
        || (goes_on(senders, senders_after, peer) && goes_on(machine, after, peer));
    if fine {
        return None;
    }
    Some(report::suspends(walk, index, &step, (machine, from), (senders, senders_after), messages))
}
