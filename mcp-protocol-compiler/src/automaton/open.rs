//! Sets of requests that wait for their replies.

use mcp_protocol_machine::protocol::{Direction, MessageIndex};

use super::raw::Step;
use super::sets::{NumberSet, NumberSets};

/// A set of open requests.
pub(super) type OpenSet = NumberSet;

/// All sets of open requests of a role.
#[derive(Debug, Default)]
pub(super) struct OpenSets {
    sets: NumberSets,
}

/// The first number of a request that was received; those that were sent stand before it.
const RECEIVED: u32 = 1 << u16::BITS;

fn number((direction, message): Step) -> u32 {
    match direction {
        Direction::Send => u32::from(message.0),
        Direction::Receive => RECEIVED | u32::from(message.0),
    }
}

fn request(number: u32) -> Step {
    let message = MessageIndex(u16::try_from(number & (RECEIVED - 1)).unwrap_or(u16::MAX));
    (if number < RECEIVED { Direction::Send } else { Direction::Receive }, message)
}

impl OpenSets {
    pub(super) fn with(&mut self, set: OpenSet, open: Step) -> OpenSet {
        self.sets.with(set, number(open))
    }

    pub(super) fn without(&mut self, set: OpenSet, open: Step) -> OpenSet {
        self.sets.without(set, number(open))
    }

    pub(super) fn union(&mut self, one: OpenSet, other: OpenSet) -> OpenSet {
        self.sets.union(one, other)
    }

    pub(super) fn minus(&mut self, set: OpenSet, other: OpenSet) -> OpenSet {
        self.sets.minus(set, other)
    }

    pub(super) fn contains(&self, set: OpenSet, open: Step) -> bool {
        self.sets.contains(set, number(open))
    }

    /// Whether there is more than one request in a set.
    pub(super) fn asked_twice(&self, set: OpenSet) -> bool {
        self.sets.has_several(set)
    }

    /// The requests of a set, those that were sent first.
    pub(super) fn requests(&self, set: OpenSet) -> impl Iterator<Item = Step> + '_ {
        self.sets.members(set).map(request)
    }

    /// The requests that were sent, or those that were received.
    pub(super) fn asked(
        &self,
        set: OpenSet,
        direction: Direction,
    ) -> impl Iterator<Item = MessageIndex> + '_ {
        let asked = self.requests(set).skip_while(move |(by, _)| *by != direction);
        asked.take_while(move |(by, _)| *by == direction).map(|(_, message)| message)
    }
}
