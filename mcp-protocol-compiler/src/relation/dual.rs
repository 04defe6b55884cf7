//! `dual`: each role sends exactly what the other receives.
//!
//! The relation is the largest one in which both have the same events, linear against linear and replicated against
//! replicated, give each other the same rights to close, and all that follows is related. Being an equivalence, it
//! is decided with classes of configurations, near-linear in their number.

use mcp_protocol_machine::protocol::Side;

use super::close_rights;
use super::disagreement::{Disagreement, matched};
use super::machine::Machine;
use super::outcome::{Found, Searched, Wanted};
use super::product::{Extent, Grouping, PairIndex, TooMany, Walk};
use super::suspension;

pub(super) fn search(
    client: &Machine<'_>,
    server: &Machine<'_>,
    grouping: Grouping,
    most_products: usize,
) -> Result<Searched, TooMany> {
    let mut walk = Walk::classes(client, server, grouping, most_products)?;
    let mut undecided = None;
    while let Some(index) = walk.next() {
        let (from_client, from_server) = walk.moves(index);
        let mut best = None;
        for found in matched(&from_client, &from_server) {
            match (found.client, found.server) {
                (Some(one), Some(other)) if one.is_linear() == other.is_linear() => {
                    walk.follow(index, &one, &other)?;
                }
                (Some(client), Some(server)) => {
                    Disagreement::keep(&mut best, Disagreement::LinearAndReplicated { client, server });
                }
                (Some(step), None) => Disagreement::keep(&mut best, lone(step, Side::Client)),
                (None, Some(step)) => Disagreement::keep(&mut best, lone(step, Side::Server)),
                (None, None) => {}
            }
        }
        suspension::compare(&walk, index, Wanted::Dual, &mut best);
        rights(&walk, index, &mut best, &mut undecided);
        if let (Some(what), Some(pair)) = (best, walk.pair(index)) {
            return Ok(Searched::Apart(Box::new(Found { pair, way: walk.way(index), what })));
        }
    }
    Ok(undecided.map_or(Searched::Related, Searched::Undecided))
}

fn lone(step: super::machine::Move, owner: Side) -> Disagreement {
    if step.arrow.event.sender == owner {
        Disagreement::Unexpected(step)
    } else {
        Disagreement::NeverSent(step)
    }
}

/// Compares the rights to close. What a part of a configuration does not decide goes to `undecided`.
fn rights(
    walk: &Walk<'_, '_>,
    index: PairIndex,
    best: &mut Option<Disagreement>,
    undecided: &mut Option<Box<Found>>,
) {
    let (Some(extent), Some(pair)) = (walk.extent(index), walk.pair(index)) else { return };
    if extent.is_body() {
        return;
    }
    for who in [Side::Client, Side::Server] {
        let client = close_rights::right(walk.client, &pair.client.locations, who);
        let server = close_rights::right(walk.server, &pair.server.locations, who);
        let own = if who == Side::Client { client } else { server };
        let what = if own.open() { Disagreement::MayNotClose(who) } else { Disagreement::NeverCloses(who) };
        if extent == Extent::Part && client != server {
            let found = || Box::new(Found { pair: pair.clone(), way: walk.way(index), what });
            undecided.get_or_insert_with(found);
        } else if extent == Extent::Whole && client.open() != server.open() {
            Disagreement::keep(best, what);
        }
    }
}
