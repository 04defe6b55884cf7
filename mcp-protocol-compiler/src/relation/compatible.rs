//! `compatible`: the client is a subtype of the server's dual.
//!
//! A sub-session of a `*` body that is over for one is over for the other. Closing is treated like sending: the client
//! may close less than the server expects and accepts more, so a role may close only where the other says so. Being
//! silent is judged on linear messages only. The client keeps one output where the server waits for one and can do
//! nothing else, which is where it has no linear output but loops back to the same state, and may not close. Closing
//! instead is fine, where the client may.

use mcp_protocol_machine::protocol::{Side, StateKind};

use super::close_rights;
use super::disagreement::{Disagreement, matched};
use super::machine::{Machine, Move};
use super::outcome::{Found, Searched, Wanted};
use super::product::{Extent, Grouping, PairIndex, TooMany, Walk};
use super::suspension;
use crate::automaton::State;

pub(super) fn search(
    client: &Machine<'_>,
    server: &Machine<'_>,
    grouping: Grouping,
    most_products: usize,
) -> Result<Searched, TooMany> {
    let mut walk = Walk::pairs(client, server, grouping, most_products)?;
    let mut undecided = None;
    while let Some(index) = walk.next() {
        let (from_client, from_server) = walk.moves(index);
        for found in matched(&from_client, &from_server) {
            if let (Some(one), Some(other)) = (found.client, found.server)
                && one.is_linear() == other.is_linear()
            {
                walk.follow(index, &one, &other)?;
            }
        }
        let best = judge(&walk, index, (&from_client, &from_server), &mut undecided);
        if let (Some(what), Some(pair)) = (best, walk.pair(index)) {
            return Ok(Searched::Apart(Box::new(Found { pair, way: walk.way(index), what })));
        }
    }
    Ok(undecided.map_or(Searched::Related, Searched::Undecided))
}

/// Whether nothing is wrong in a pair by itself. Edges for what may come late are in both roles and do no harm.
pub(super) fn relates(walk: &Walk<'_, '_>, index: PairIndex) -> bool {
    let (from_client, from_server) = walk.moves(index);
    let mut undecided = None;
    let found = judge(walk, index, (&from_client, &from_server), &mut undecided);
    found.is_none() && undecided.is_none()
}

/// What is wrong in a pair by itself. What a part of a configuration does not decide goes to `undecided`.
fn judge(
    walk: &Walk<'_, '_>,
    index: PairIndex,
    (from_client, from_server): (&[Move], &[Move]),
    undecided: &mut Option<Box<Found>>,
) -> Option<Disagreement> {
    let mut best = None;
    for found in matched(from_client, from_server) {
        match (found.client, found.server) {
            (Some(one), Some(other)) if one.is_linear() == other.is_linear() => {}
            (Some(client), Some(server)) => {
                Disagreement::keep(&mut best, Disagreement::LinearAndReplicated { client, server });
            }
            (Some(step), None) if found.event.sender == Side::Client => {
                Disagreement::keep(&mut best, Disagreement::Unexpected(step));
            }
            (None, Some(step)) if found.event.sender == Side::Server => {
                Disagreement::keep(&mut best, Disagreement::Unexpected(step));
            }
            _ => {}
        }
    }
    suspension::compare(walk, index, Wanted::Compatible, &mut best);
    let closes = rights(walk, index, &mut best, undecided);
    if let (Some(extent), Some(what)) = (walk.extent(index), silence(from_client, from_server)) {
        match (closes, extent, walk.pair(index)) {
            (false, _, _) => Disagreement::keep(&mut best, what),
            // The right to close one part is worth something only if the others may be closed by the same role.
            (true, Extent::Part, Some(pair)) => {
                undecided.get_or_insert_with(|| Box::new(Found { pair, way: walk.way(index), what }));
            }
            (true, _, _) => {}
        }
    }
    left_over(walk, index, from_client, &mut best);
    best
}

/// Compares the rights to close; whether one of the roles has one. What a part of a configuration does not decide goes
/// to `undecided`.
fn rights(
    walk: &Walk<'_, '_>,
    index: PairIndex,
    best: &mut Option<Disagreement>,
    undecided: &mut Option<Box<Found>>,
) -> bool {
    let (Some(extent), Some(pair)) = (walk.extent(index), walk.pair(index)) else { return false };
    if extent.is_body() {
        return false;
    }
    let mut somebody_closes = false;
    for who in [Side::Client, Side::Server] {
        let client = close_rights::right(walk.client, &pair.client.locations, who);
        let server = close_rights::right(walk.server, &pair.server.locations, who);
        let (own, expected) = if who == Side::Client { (client, server) } else { (server, client) };
        somebody_closes |= own.open();
        let what = Disagreement::MayNotClose(who);
        if extent == Extent::Part && !expected.covers(own) {
            let found = || Box::new(Found { pair: pair.clone(), way: walk.way(index), what });
            undecided.get_or_insert_with(found);
        } else if extent == Extent::Whole && own.open() && !expected.open() {
            Disagreement::keep(best, what);
        }
    }
    somebody_closes
}

/// Where the server waits for the client and nothing else can happen, the client keeps one output.
fn silence(from_client: &[Move], from_server: &[Move]) -> Option<Disagreement> {
    let sends = |step: &&Move, side: Side| step.is_linear() && step.arrow.event.sender == side;
    let awaited: Vec<Move> = from_server.iter().filter(|step| sends(step, Side::Client)).copied().collect();
    let client_sends = from_client.iter().any(|step| sends(&step, Side::Client));
    let server_moves = from_server.iter().any(|step| sends(&step, Side::Server) && !step.is_loop());
    (!awaited.is_empty() && !client_sends && !server_moves).then_some(Disagreement::Silent(awaited))
}

/// A sub-session that is over for the server is over for the client: it cannot be closed, so it would wait
/// indefinitely.
fn left_over(walk: &Walk<'_, '_>, index: PairIndex, from_client: &[Move], best: &mut Option<Disagreement>) {
    let Some(pair) = walk.pair(index) else { return };
    let ends = |state: &State| state.kind == StateKind::End;
    let over = pair.server.locations.iter().all(|&location| walk.server.state(location).is_some_and(ends));
    let goes_on =
        pair.client.locations.iter().find(|&&location| !walk.client.state(location).is_some_and(ends));
    let step = from_client.iter().find(|step| Some(&step.from) == goes_on);
    if let (Some(true), true, Some(step)) = (walk.extent(index).map(Extent::is_body), over, step) {
        Disagreement::keep(best, Disagreement::NeverSent(*step));
    }
}
