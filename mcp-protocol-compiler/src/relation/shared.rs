//! The moves that both roles have where they meet.

use mcp_protocol_machine::protocol::Origin;

use super::disagreement::matched;
use super::machine::{Event, Move};
use super::product::{PairIndex, Walk};

/// A move that both roles have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub(super) client: Move,
    pub(super) server: Move,
}

impl Shared {
    pub(super) fn event(&self) -> Event {
        self.client.arrow.event
    }

    pub(super) fn is_loop(&self) -> bool {
        self.client.is_loop() && self.server.is_loop()
    }
}

/// The moves that both roles have in a pair. An edge added by closing the diamond counts only where it returns to
/// the same place on both sides: elsewhere it belongs to another pair.
pub(super) fn shared(walk: &Walk<'_, '_>, index: PairIndex) -> Vec<Shared> {
    let (client, server) = walk.moves(index);
    let closed = |step: &Move| step.arrow.origin == Origin::Closure;
    matched(&client, &server)
        .into_iter()
        .filter_map(|found| Some(Shared { client: found.client?, server: found.server? }))
        .filter(|both| both.client.is_linear() == both.server.is_linear())
        .filter(|both| both.is_loop() || !(closed(&both.client) || closed(&both.server)))
        .collect()
}
