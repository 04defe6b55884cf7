//! Closing while the peer sends: what the text has, and what the rules of closing take away.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::{Side, StateKind};

use super::close_rights;
use super::diamond::{REPORTED, explore, shared};
use super::machine::{Event, Machine, Move};
use super::outcome::RACE;
use super::product::{Extent, Grouping, PairIndex, Walk};
use super::{roles, words};
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
            if let Some(found) = report(&walk, index, who, &crossing, messages) {
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

fn report(
    walk: &Walk<'_, '_>,
    index: PairIndex,
    who: Side,
    crossing: &[Move],
    messages: &[Message],
) -> Option<Diagnostic> {
    let (first, others) = crossing.split_first()?;
    let pair = walk.pair(index)?;
    let way = walk.way(index);
    let name = words::name(messages, first.arrow.event.message);
    let (closer, peer) = (words::role(who), words::role(who.other()));
    let (machine, locations) = match who {
        Side::Client => (walk.client, &pair.client.locations),
        Side::Server => (walk.server, &pair.server.locations),
    };
    let place = words::within(machine, locations, way.is_empty());
    let span = roles::end(machine, locations, who).unwrap_or(roles::span(machine, locations));
    let mut found = Diagnostic::note(
        RACE,
        span,
        format!(
            "closing and `{name}` race: {}, {closer} may close while {peer} sends `{name}`",
            words::way(messages, &way)
        ),
    )
    .label(format!("{closer} may close here, {place}"))
    .also(first.arrow.span, format!("{peer} may send `{name}`"))
    .with_note(format!("having closed, {closer} is at `End`, which does not accept `{name}`"));
    found.notes.extend(words::seen_from(&way).map(str::to_owned));
    if !others.is_empty() {
        const NAMED: usize = 5;
        let name = |step: &Move| format!("`{}`", words::name(messages, step.arrow.event.message));
        let names: Vec<String> = others.iter().take(NAMED).map(name).collect();
        let more = match others.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        found = found.with_note(format!("closing races with {}{more} here, too", names.join(", ")));
    }
    // Only closing by the rules is left out by the setting that asks for these, and it accepts and drops everything.
    Some(
        found.help(
            "harmless: a closed session drops what was on its way; listed because of `--without-closure`",
        ),
    )
}
