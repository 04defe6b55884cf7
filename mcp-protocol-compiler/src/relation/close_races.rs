//! Closing while the peer sends: what the text has, and what the rules of closing take away.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::{Side, StateKind};

use super::close_rights;
use super::diamond::{REPORTED, explore};
use super::machine::{Event, Machine, Move};
use super::product::{Extent, Grouping, PairIndex, Walk};
use super::report;
use super::shared::shared;
use crate::automaton::Automaton;
use crate::declarations::Message;
use crate::diagnostic::Diagnostic;

/// Every place where closing crosses a message, the nearest first, up to a few. Empty where the channels have too
/// many places to be looked at together, which closing asks for.
pub fn closing_races(client: &Automaton, server: &Automaton, messages: &[Message]) -> Vec<Diagnostic> {
    let (client, server) = (Machine::new(client), Machine::new(server));
    let Ok(walk) = explore(&client, &server, Grouping::Together) else { return Vec::new() };
    let mut told: HashSet<(Side, Event)> = HashSet::new();
    let mut diagnostics = Vec::new();
    for index in walk.all() {
        for who in [Side::Client, Side::Server] {
            let mut crossing = crossing(&walk, index, who);
            crossing.retain(|step| told.insert((who, step.arrow.event)));
            if let Some(found) = report::closing(&walk, index, who, &crossing, messages) {
                diagnostics.push(found);
            }
        }
        if diagnostics.len() >= REPORTED {
            break;
        }
    }
    diagnostics
}

/// What the peer of `who` may send where `who` may close, as the peer's machine has it.
fn crossing(walk: &Walk<'_, '_>, index: PairIndex, who: Side) -> Vec<Move> {
    let Some(pair) = walk.pair(index) else { return Vec::new() };
    let (machine, locations) = match who {
        Side::Client => (walk.client, &pair.client.locations),
        Side::Server => (walk.server, &pair.server.locations),
    };
    // Where everything is at its end, both sides know that nothing comes any more.
    let over =
        locations.iter().all(|&at| machine.state(at).is_some_and(|state| state.kind == StateKind::End));
    if over
        || walk.extent(index) != Some(Extent::Whole)
        || !close_rights::right(machine, locations, who).open()
    {
        return Vec::new();
    }
    let moves = shared(walk, index).into_iter().filter(|both| both.event().sender == who.other());
    moves.map(|both| if who == Side::Client { both.server } else { both.client }).collect()
}
