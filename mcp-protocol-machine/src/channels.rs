//! The linear channels of a session, or of a sub-session: where each of them is.
//!
//! Every channel has a number for as long as it goes on, so that an exchange can say which one it belongs to: channels
//! side by side share no message, but the notification that cancels is one for all of them. A fork ends its channel
//! and begins new ones; no request is open across it.

use crate::fence::Fence;
use crate::protocol::{Direction, MessageIndex, Role, StateIndex, StateKind};
use crate::trail::{Crossed, EndedRequest, Evidence, Left, Trail, cancelled, replied, said};

/// The linear channels of a session, or of a sub-session. Never empty.
#[derive(Clone, Debug)]
pub(crate) struct Channels {
    /// Where they began as one.
    start: StateIndex,
    states: Vec<StateIndex>,
    /// The number of each channel, as long as `states`.
    numbers: Vec<u32>,
    /// What may cross what comes for each channel, as long as `states`. Parts of a fork inherit it.
    trails: Vec<Trail>,
    next: u32,
    /// How many steps have led a channel to another state.
    steps: u64,
    /// They are those of a sub-session, which ends with the last of them. So it counts which steps a side has received
    /// also where it has nothing to write in between.
    end_together: bool,
}

impl Channels {
    /// One channel that began in a state, where it is, and what may cross what comes for it.
    pub(crate) fn new(start: StateIndex, state: StateIndex, trail: Trail) -> Channels {
        Channels {
            start,
            states: vec![state],
            numbers: vec![0],
            trails: vec![trail],
            next: 1,
            steps: 0,
            end_together: false,
        }
    }

    /// The channels of a sub-session whose first message has led to a state.
    pub(crate) fn of_sub_session(start: StateIndex, role: Option<&Role>) -> Channels {
        let mut channels = Channels::new(start, start, Trail::default());
        channels.end_together = true;
        if let Some(role) = role {
            channels.put(0, start, role);
        }
        channels
    }

    /// The first message, which a side has sent in the channel at a place of the fork, is a step that the other side may
    /// not have received: that side may have opened the sub-session itself, by the first message of another channel.
    pub(crate) fn also_opened_at(
        &mut self,
        (place, before): (usize, StateIndex),
        by: Direction,
        left: Left,
        evidence: &Evidence<'_>,
    ) {
        let parts = evidence.role.and_then(|role| role.state(self.start)).map_or(&[][..], |fork| &fork.parts);
        let width = |state: &StateIndex| evidence.role.map_or(1, |role| width(*state, role));
        let first = parts.iter().take(place).map(width).sum();
        let channels = parts.get(place).map_or(0, width);
        for trail in self.trails.iter_mut().skip(first).take(channels) {
            trail.leave(by, before, left, 0, evidence);
        }
    }

    /// Adds a channel.
    pub(crate) fn add(&mut self, state: StateIndex, trail: Trail) {
        self.states.push(state);
        self.numbers.push(self.next);
        self.trails.push(trail);
        self.next = self.next.wrapping_add(1);
    }

    /// The state of each channel.
    pub(crate) fn states(&self) -> &[StateIndex] {
        &self.states
    }

    /// The state of the channel at a place.
    pub(crate) fn state(&self, place: usize) -> Option<StateIndex> {
        self.states.get(place).copied()
    }

    /// Where they began as one.
    pub(crate) fn start(&self) -> StateIndex {
        self.start
    }

    /// Each channel: its place in the list, its number, its state.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, u32, StateIndex)> {
        let pairs = self.numbers.iter().copied().zip(self.states.iter().copied());
        pairs.enumerate().map(|(place, (number, state))| (place, number, state))
    }

    /// How many steps have led a channel to another state.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// The reply to a request, or its cancel, was taken in a direction, before which there were so many steps: the other one
    /// may have crossed it.
    pub(crate) fn ended(&mut self, by: Direction, request: &EndedRequest, before: u64) {
        if self.steps != before {
            self.trails.iter_mut().for_each(|trail| trail.ends(self.steps, by, request));
        }
    }

    /// The sender of a request that has its reply has cancelled it.
    pub(crate) fn cancelled(
        &mut self,
        request: &EndedRequest,
        cancel: MessageIndex,
        evidence: &Evidence<'_>,
    ) {
        cancelled(&mut self.trails, request, cancel, evidence);
    }

    /// The receiver of a request that was cancelled has replied to it.
    pub(crate) fn replied(&mut self, request: &EndedRequest, evidence: &Evidence<'_>) {
        replied(&mut self.trails, request, evidence);
    }

    /// Whether no step has led a channel to another state.
    pub(crate) fn is_at_start(&self) -> bool {
        self.steps == 0
    }

    /// The number of the first channel: of a sub-session that has only been opened, the one with its first message.
    pub(crate) fn first(&self) -> u32 {
        self.numbers.first().copied().unwrap_or_default()
    }

    /// Whether nothing is left if a step leads the channel at a place to a state: it is an end, and the other channels
    /// have ended.
    pub(crate) fn ends_with(&self, place: usize, to: StateIndex, role: &Role) -> bool {
        let is_end = |state: StateIndex| role.state(state).is_some_and(|state| state.kind == StateKind::End);
        let mut others = self.states.iter().enumerate().filter(|(other, _)| *other != place);
        is_end(to) && others.all(|(_, state)| is_end(*state))
    }

    /// The states in which a side may still take the channels to be, if these are not the present ones.
    pub(crate) fn oldest(
        &self,
        direction: Direction,
        evidence: &Evidence<'_>,
    ) -> impl Iterator<Item = StateIndex> {
        self.trails.iter().filter_map(move |trail| trail.oldest(direction, evidence))
    }

    /// Where a side may take the channels to be that has taken the last step of the one at a place: in a state before the
    /// present one as long as it has not received a step of the other side.
    pub(crate) fn known(
        &self,
        place: usize,
        direction: Direction,
        evidence: &Evidence<'_>,
    ) -> impl Iterator<Item = StateIndex> {
        let channels = self.states.iter().zip(&self.trails).enumerate();
        channels.flat_map(move |(number, (state, trail))| {
            let present = (number != place).then_some(*state);
            trail.earlier_states(direction, evidence).chain(present)
        })
    }

    /// The fence of the last step of the other side that a side may not have received, and where it may take the channel of
    /// that step to be.
    pub(crate) fn unreceived(
        &self,
        direction: Direction,
        evidence: &Evidence<'_>,
    ) -> Option<(StateIndex, Fence)> {
        let unreceived = self.trails.iter().filter_map(|trail| trail.unreceived(direction, evidence));
        unreceived.max_by_key(|(_, fence)| *fence)
    }

    /// The fence of the last step of the other side that a side may not have received, and without which a channel is open
    /// for it.
    pub(crate) fn open_until(&self, direction: Direction, evidence: &Evidence<'_>) -> Option<Fence> {
        self.trails.iter().filter_map(|trail| trail.open_until(direction, evidence)).max()
    }

    /// The step that a message for the channel at a place has crossed, if it may have crossed one.
    pub(crate) fn crossed(
        &self,
        place: usize,
        direction: Direction,
        message: MessageIndex,
        evidence: &Evidence<'_>,
    ) -> Option<Left> {
        self.trails.get(place).and_then(|trail| trail.crossed(direction, message, evidence))
    }

    /// What a message is that the followed role has sent for the channel at a place, in a state before the present one.
    pub(crate) fn sent(
        &self,
        place: usize,
        message: MessageIndex,
        evidence: &Evidence<'_>,
    ) -> Option<Crossed> {
        let (trail, state) = (self.trails.get(place)?, self.states.get(place)?);
        trail.sent(self.start, *state, message, evidence)
    }

    /// A message in a direction was accepted for the channel at a place, also as one that is late.
    pub(crate) fn said(
        &mut self,
        place: usize,
        direction: Direction,
        message: MessageIndex,
        evidence: &Evidence<'_>,
    ) {
        said(&mut self.trails, place, direction, message, evidence);
    }

    /// A sub-session took a step in a direction, so its sender was in a state that does not suspend sub-sessions.
    pub(crate) fn awake(&mut self, direction: Direction, evidence: &Evidence<'_>) {
        self.trails.iter_mut().for_each(|trail| trail.awake(direction, evidence));
    }

    /// A message in a direction leads the channel at a place to another state.
    pub(crate) fn leave(&mut self, place: usize, direction: Direction, left: Left, evidence: &Evidence<'_>) {
        self.steps = self.steps.wrapping_add(1);
        let every = self.end_together && self.states.len() > 1;
        if let (Some(trail), Some(state)) = (self.trails.get_mut(place), self.states.get(place))
            && (every || !trail.is_silent(direction.flip(), *state, evidence))
        {
            trail.leave(direction, *state, left, self.steps, evidence);
        }
    }

    /// Nothing of before can come any more: the session was begun once more.
    pub(crate) fn renew(&mut self) {
        self.trails.fill(Trail::default());
    }

    /// Moves the channel at a place. A fork is replaced by its parts, in their order, and so are forks among them.
    pub(crate) fn put(&mut self, place: usize, to: StateIndex, role: &Role) {
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

/// How many channels a state is: of a fork those of its parts.
fn width(state: StateIndex, role: &Role) -> usize {
    let table = role.state(state).filter(|table| table.kind == StateKind::Fork);
    table.map_or(1, |fork| fork.parts.iter().map(|part| width(*part, role)).sum())
}
