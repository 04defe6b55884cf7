//! The linear channels: where each of them is.
//!
//! Every channel has a number for as long as it goes on, so that an exchange can say which one it belongs to: channels
//! side by side share no message, but the notification that cancels is one for all of them. A fork ends its channel
//! and begins new ones; no request is open across it.

use crate::protocol::{Direction, MessageIndex, Role, StateIndex, StateKind};
use crate::trail::{Crossed, Evidence, Left, Trail, said};

/// The linear channels of a session. Never empty.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    states: Vec<StateIndex>,
    /// The number of each channel, as long as `states`.
    numbers: Vec<u32>,
    /// What may cross what comes for each channel, as long as `states`. Parts of a fork inherit it.
    trails: Vec<Trail>,
    next: u32,
    /// How many steps have led a channel to another state.
    steps: u64,
}

impl Channels {
    /// One channel, and what may cross what comes for it.
    pub(super) fn new(state: StateIndex, trail: Trail) -> Channels {
        Channels { states: vec![state], numbers: vec![0], trails: vec![trail], next: 1, steps: 0 }
    }

    /// Adds a channel.
    pub(super) fn add(&mut self, state: StateIndex, trail: Trail) {
        self.states.push(state);
        self.numbers.push(self.next);
        self.trails.push(trail);
        self.next = self.next.wrapping_add(1);
    }

    /// The state of each channel.
    pub(super) fn states(&self) -> &[StateIndex] {
        &self.states
    }

    /// Each channel: its place in the list, its number, its state.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u32, StateIndex)> {
        let pairs = self.numbers.iter().copied().zip(self.states.iter().copied());
        pairs.enumerate().map(|(place, (number, state))| (place, number, state))
    }

    /// The step that a message for the channel at a place has crossed, if it may have crossed one.
    pub(super) fn crossed(
        &self,
        place: usize,
        direction: Direction,
        message: MessageIndex,
        evidence: &Evidence<'_>,
    ) -> Option<Left> {
        self.trails.get(place).and_then(|trail| trail.crossed(direction, message, evidence))
    }

    /// What a message is that the followed role has sent for the channel at a place, in a state before the present one.
    pub(super) fn sent(
        &self,
        place: usize,
        message: MessageIndex,
        evidence: &Evidence<'_>,
    ) -> Option<Crossed> {
        let (trail, state) = (self.trails.get(place)?, self.states.get(place)?);
        trail.sent(Role::START, *state, message, evidence)
    }

    /// A message in a direction was accepted for the channel at a place, also as one that is late.
    pub(super) fn said(
        &mut self,
        place: usize,
        direction: Direction,
        message: MessageIndex,
        evidence: &Evidence<'_>,
    ) {
        said(&mut self.trails, place, direction, message, evidence);
    }

    /// A sub-session took a step in a direction, so its sender was in a state that does not suspend sub-sessions.
    pub(super) fn awake(&mut self, direction: Direction, evidence: &Evidence<'_>) {
        self.trails.iter_mut().for_each(|trail| trail.awake(direction, evidence));
    }

    /// A message in a direction leads the channel at a place to another state.
    pub(super) fn leave(&mut self, place: usize, direction: Direction, left: Left, evidence: &Evidence<'_>) {
        self.steps = self.steps.wrapping_add(1);
        if let (Some(trail), Some(state)) = (self.trails.get_mut(place), self.states.get(place)) {
            trail.leave(direction, *state, left, self.steps, evidence);
        }
    }

    /// Nothing of before can come any more: the session was begun once more.
    pub(super) fn renew(&mut self) {
        self.trails.fill(Trail::default());
    }

    /// Moves the channel at a place. A fork is replaced by its parts, in their order, and so are forks among them.
    pub(super) fn put(&mut self, place: usize, to: StateIndex, role: &Role) {
        if let Some(state) = self.states.get_mut(place) {
            *state = to;
        }
        let (mut place, mut end) = (place, place + 1);
        // The tables were examined, so no fork is a part of itself and this ends.
        while place < end {
            let fork = self.states.get(place).and_then(|state| role.state(*state));
            let Some(fork) = fork.filter(|state| state.kind == StateKind::Fork) else {
                place += 1;
                continue;
            };
            end = end + fork.parts.len() - 1;
            self.states.splice(place..=place, fork.parts.iter().copied());
            let trail = self.trails.get(place).cloned().unwrap_or_default();
            self.trails.splice(place..=place, fork.parts.iter().map(|_| trail.clone()));
            let next = self.next;
            let numbers = (0_u32..).take(fork.parts.len()).map(|part| next.wrapping_add(part));
            self.numbers.splice(place..=place, numbers);
            self.next = self.next.wrapping_add(u32::try_from(fork.parts.len()).unwrap_or(u32::MAX));
        }
    }
}
