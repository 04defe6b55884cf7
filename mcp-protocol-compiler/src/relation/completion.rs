//! Two different roles: where messages that cross lead if one of the roles would not send its own any more after it has
//! received the other's.
//!
//! Where the client sends `a` and the server `b`, both have sent before they receive. So it is enough that each accepts
//! the other's message after its own. That a role *sends* its message after the other's as well is not needed, and a role
//! that is not the dual of the other may leave it out. The edge that is missing for that is a ghost: it belongs to the
//! automaton that lies between the two roles, which an observer follows, and no role gets it. Ghosts cross other messages
//! like the edges of the roles do. The pairs of places that only they lead to are related like all others.
//!
//! `completion_safety` in `proofs/Mediator.v` states that this is enough, if no pair of places gets two ghosts of one
//! message that lead to different pairs.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Action, Origin, Side, StateIndex, StateKind};

use super::compatible;
use super::machine::{Event, Locations, Move, RoleEdge};
use super::product::{Pair, PairIndex, TooMany, Walk};
use super::race::{Fault, Race};
use super::shared::{Shared, shared};
use crate::hash::Map;

/// How many ghosts there may be; what lacks the diamond beyond is a race.
const MOST_GHOSTS: usize = 100_000;

/// The pairs in which two roles can meet, with the ghosts that complete them.
pub(super) struct Completion<'a, 'b> {
    walk: Walk<'a, 'b>,
    /// The moves that pairs have in addition to those of both roles.
    ghosts: Map<PairIndex, Vec<Shared>>,
    count: usize,
    /// The pairs that are to be looked at, in this order, and then again where they got a ghost.
    next: usize,
    again: BTreeSet<PairIndex>,
    limit: Option<TooMany>,
}

impl<'a, 'b> Completion<'a, 'b> {
    pub(super) fn new(walk: Walk<'a, 'b>) -> Self {
        Completion { walk, ghosts: Map::default(), count: 0, next: 0, again: BTreeSet::new(), limit: None }
    }

    pub(super) fn walk(&self) -> &Walk<'a, 'b> {
        &self.walk
    }

    /// The pair that was one too many.
    pub(super) fn limit(&self) -> Option<&TooMany> {
        self.limit.as_ref()
    }

    /// The next pair to be looked at.
    pub(super) fn next(&mut self) -> Option<PairIndex> {
        if self.limit.is_some() {
            return None;
        }
        while let Some(index) = self.walk.all_after(self.next).next() {
            self.next += 1;
            self.again.remove(&index);
            if !self.walk.is_split(index) {
                return Some(index);
            }
        }
        self.again.pop_first()
    }

    /// The moves of a pair.
    pub(super) fn moves(&self, index: PairIndex) -> Vec<Shared> {
        let mut moves = shared(&self.walk, index);
        moves.extend(self.ghosts.get(&index).into_iter().flatten().copied());
        moves
    }

    /// Completes two messages that cross in a pair, if all that is missing is that their senders would send them in the
    /// other order, too. Returns whether it could.
    pub(super) fn complete(&mut self, index: PairIndex, race: &Race) -> bool {
        let Fault::Lags(_) = race.fault else { return false };
        self.try_complete(index, race).is_some()
    }

    fn try_complete(&mut self, index: PairIndex, race: &Race) -> Option<()> {
        let (from_client, from_server) = (&race.from_client, &race.from_server);
        let (sent, answered) = (from_client.event(), from_server.event());
        let (client, server) = (self.walk.client, self.walk.server);
        let accepts = |side: Side, after: &Locations, event: Event, own: &Move| {
            self.walk
                .machine(side)
                .find(after, event)
                .or_else(|| self.swallows(&race.pair, side, after, event, own))
        };
        let client_accepts = accepts(Side::Client, &race.after_client.0, answered, &from_client.client)?;
        let server_accepts = accepts(Side::Server, &race.after_server.1, sent, &from_server.server)?;
        // Where one of the two opens a sub-session, it opens the same one after the other message.
        if !client_accepts.does_same(&from_server.client) || !server_accepts.does_same(&from_client.server) {
            return None;
        }
        let place = (
            client.step(&race.after_client.0, &client_accepts),
            server.step(&race.after_server.1, &server_accepts),
        );
        // What the senders do have leads to the same place.
        let client_sends = client.find(&race.after_server.0, sent);
        let server_sends = server.find(&race.after_client.1, answered);
        let client_fits = |step: Move| {
            step.does_same(&from_client.client) && client.step(&race.after_server.0, &step) == place.0
        };
        let server_fits = |step: Move| {
            step.does_same(&from_server.server) && server.step(&race.after_client.1, &step) == place.1
        };
        if !client_sends.is_none_or(client_fits) || !server_sends.is_none_or(server_fits) {
            return None;
        }
        if server_sends.is_none() {
            let ghost =
                self.ghost(Side::Server, &from_client.server, &from_server.server, &server_accepts)?;
            let both = Shared { client: client_accepts, server: ghost };
            self.add(index, &race.pair, &race.after_client, both, &place)?;
        }
        if client_sends.is_none() {
            let ghost =
                self.ghost(Side::Client, &from_server.client, &from_client.client, &client_accepts)?;
            let both = Shared { client: ghost, server: server_accepts };
            self.add(index, &race.pair, &race.after_server, both, &place)?;
        }
        Some(())
    }

    /// What a role does by a message that crosses the one with which it has ended a sub-session: nothing.
    fn swallows(&self, pair: &Pair, side: Side, after: &Locations, event: Event, own: &Move) -> Option<Move> {
        let machine = self.walk.machine(side);
        let Action::Step(end) = own.arrow.action else { return None };
        let arrow =
            RoleEdge { action: Action::Step(end), origin: Origin::Closure, event, span: own.arrow.span };
        (after.contains(&end) && self.walk.is_over(pair, machine, after)).then_some(Move { from: end, arrow })
    }

    /// What a role would do, after it has received a message, by the message that it has sent before: it comes to where
    /// it comes if it sends that and then receives. Where the two are of different channels, or one of them opens a
    /// sub-session, neither changes what the other does; otherwise all three are of one channel.
    fn ghost(&self, side: Side, received: &Move, sends: &Move, accepts: &Move) -> Option<Move> {
        let late = |from: StateIndex, action: Action| {
            Some(Move { from, arrow: RoleEdge { action, origin: Origin::Closure, ..sends.arrow } })
        };
        if received.from != sends.from {
            return if accepts.from == received.from { late(sends.from, sends.arrow.action) } else { None };
        }
        // What opens a sub-session leads nowhere else.
        let Action::Step(from) = received.arrow.action else { return late(sends.from, sends.arrow.action) };
        let machine = self.walk.machine(side);
        if machine.state(from).is_none_or(|state| state.kind == StateKind::Fork) {
            return None;
        }
        match (sends.arrow.action, accepts.arrow.action) {
            (Action::Spawn(_), _) => late(from, sends.arrow.action),
            (Action::Step(sent), Action::Step(_)) if accepts.from == sent => late(from, accepts.arrow.action),
            (Action::Step(_), _) => None,
        }
    }

    /// Adds a ghost to the pair with these locations. `None` where it has another one of this message, or where what it
    /// leads to does not relate.
    fn add(
        &mut self,
        parent: PairIndex,
        pair: &Pair,
        (client, server): &(Locations, Locations),
        ghost: Shared,
        place: &(Locations, Locations),
    ) -> Option<()> {
        let index = self.walk.find(pair, client, server).filter(|index| !self.walk.is_split(*index))?;
        let event = ghost.event();
        let known: Vec<Shared> = self.ghosts.get(&index).cloned().unwrap_or_default();
        if let Some(known) = known.iter().find(|known| known.event() == event) {
            let leads =
                (self.walk.client.step(client, &known.client), self.walk.server.step(server, &known.server));
            let is_same = known.client.does_same(&ghost.client) && known.server.does_same(&ghost.server);
            return (is_same && leads == *place).then_some(());
        }
        if self.count == MOST_GHOSTS || has_move(&self.walk, index, event) {
            return None;
        }
        let before = self.walk.reached();
        let followed = self.walk.follow(index, &ghost.client, &ghost.server);
        if let Err(limit) = followed.and_then(|()| self.explore()) {
            self.limit = Some(limit);
            return Some(());
        }
        // What was written was related; places that only crossing messages lead to were not.
        let all_relate = self.walk.all_after(before).all(|new| compatible::relates(&self.walk, new));
        if !all_relate {
            return None;
        }
        self.count += 1;
        self.ghosts.entry(index).or_default().push(ghost);
        // Pairs that are not looked at yet will be.
        self.again.insert(index);
        debug_assert_ne!(parent, index, "a message that leads elsewhere");
        Some(())
    }

    fn explore(&mut self) -> Result<(), TooMany> {
        while let Some(index) = self.walk.next() {
            for both in shared(&self.walk, index) {
                self.walk.follow(index, &both.client, &both.server)?;
            }
        }
        Ok(())
    }
}

/// Whether both roles have a move of an event in a pair.
fn has_move(walk: &Walk<'_, '_>, index: PairIndex, event: Event) -> bool {
    shared(walk, index).iter().any(|both| both.event() == event)
}
