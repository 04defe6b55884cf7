//! `compatible`: the client is a subtype of the server's dual.
//!
//! In: two machines. Out: the first pair of configurations in which the client sends what the server does not
//! accept, does not accept what the server sends, or stays silent where the server waits. Refuses to look at what
//! the server would accept and the client never sends.
//!
//! Closing is treated like sending: the client may close less than the server expects and accepts more, so a role
//! may close only where the other says so. Being silent is judged on linear messages only. The client keeps one
//! output where the server waits for one and can do nothing else, which is where it has no linear output but loops
//! back to the same state, and may not close. Closing instead is fine, where the client may.

use mcp_protocol_machine::protocol::Side;

use super::closing::{self, Scope};
use super::disagreement::{Disagreement, matched};
use super::machine::{Machine, Move};
use super::product::{Grouping, PairIndex, TooMany, Walk};
use super::{Found, Searched};

pub(super) fn search(
    client: &Machine<'_>,
    server: &Machine<'_>,
    grouping: Grouping,
) -> Result<Searched, TooMany> {
    let mut walk = Walk::pairs(client, server, grouping)?;
    let mut undecided = false;
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
                (Some(step), None) if found.event.sender == Side::Client => {
                    Disagreement::keep(&mut best, Disagreement::Unexpected(step));
                }
                (None, Some(step)) if found.event.sender == Side::Server => {
                    Disagreement::keep(&mut best, Disagreement::Unexpected(step));
                }
                _ => {}
            }
        }
        undecided |= rights_and_silence(&walk, index, &from_client, &from_server, &mut best);
        if let (Some(what), Some(pair)) = (best, walk.pair(index)) {
            return Ok(Searched::Apart(Found { pair, way: walk.way(index), what }));
        }
    }
    Ok(if undecided { Searched::Undecided } else { Searched::Related })
}

/// Compares the rights to close, and sees whether anything goes on; whether the rights have to be compared on the
/// whole.
fn rights_and_silence(
    walk: &Walk<'_, '_>,
    index: PairIndex,
    from_client: &[Move],
    from_server: &[Move],
    best: &mut Option<Disagreement>,
) -> bool {
    let Some(pair) = walk.pair(index) else { return false };
    let (mut somebody_closes, mut undecided) = (false, false);
    if let Some(scope) = walk.scope(index) {
        for who in [Side::Client, Side::Server] {
            let client = closing::right(walk.client, &pair.client.locations, who);
            let server = closing::right(walk.server, &pair.server.locations, who);
            let (own, expected) = if who == Side::Client { (client, server) } else { (server, client) };
            somebody_closes |= own.open();
            if closing::within(own, expected, scope) {
                continue;
            }
            if scope == Scope::Facts {
                undecided = true;
            } else {
                Disagreement::keep(best, Disagreement::MayNotClose(who));
            }
        }
    }
    let sends = |step: &&Move, side: Side| step.is_linear() && step.arrow.event.sender == side;
    let awaited: Vec<Move> = from_server.iter().filter(|step| sends(step, Side::Client)).copied().collect();
    let client_sends = from_client.iter().any(|step| sends(&step, Side::Client));
    let server_moves = from_server.iter().any(|step| sends(&step, Side::Server) && !step.is_loop());
    if !awaited.is_empty() && !client_sends && !server_moves && !somebody_closes {
        Disagreement::keep(best, Disagreement::Silent(awaited));
    }
    undecided
}
