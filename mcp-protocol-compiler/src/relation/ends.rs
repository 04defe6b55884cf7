//! Ends of channels, each channel's apart from the others'.
//!
//! Minimising makes one state of all ends that look alike, whichever channel they end. Closing the diamond may add late
//! messages to the end of one channel, and another channel that is at its end must not accept those. So the ends are
//! separated while the diamond is closed, and those that are still alike afterwards become one state again.

use std::collections::{BTreeSet, HashMap, HashSet};

use mcp_protocol_machine::protocol::{Action, Origin, StateIndex, StateKind};

use super::machine::{Event, position};
use super::words;
use crate::automaton::{Automaton, Edge, State};
use crate::declarations::Message;
use crate::reach::reachable;
use crate::source::Span;

/// What a channel is entered by: the channel that a state belongs to, or a place among the parts of a fork.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Channel {
    /// The channel of these states, by the first of them.
    Of(usize),
    /// A part of a fork that is at its end from the beginning.
    Part(usize, usize),
    /// The start of the session.
    Start,
    /// The one channel of a sub-session: where it ends, nothing comes late.
    Alone,
}

/// The ends of a role, one state for each channel.
///
/// The states before `first` are those of the role as it was; those behind are further copies of an end.
pub(super) struct ChannelEnds {
    first: usize,
    /// The state that each state from `first` on is a copy of.
    originals: Vec<StateIndex>,
}

/// A late message at an end, and the body that it opens.
pub(super) type Late = BTreeSet<(Event, Option<StateIndex>)>;

/// Whether a channel takes no step from here on.
fn is_end(state: &State) -> bool {
    state.kind != StateKind::Fork && state.edges.iter().all(|edge| spawns(edge.action))
}

fn spawns(action: Action) -> bool {
    matches!(action, Action::Spawn(_))
}

impl ChannelEnds {
    /// The ends of a role as they are.
    pub(super) fn none(automaton: &Automaton) -> ChannelEnds {
        ChannelEnds { first: automaton.states.len(), originals: Vec::new() }
    }

    /// Gives each channel of a role ends of its own.
    pub(super) fn apart(automaton: &mut Automaton) -> ChannelEnds {
        let first = automaton.states.len();
        let mut ends = ChannelEnds { first, originals: Vec::new() };
        if automaton.states.iter().all(|state| state.kind != StateKind::Fork) {
            return ends;
        }
        let channels = channels(automaton);
        let is_end: Vec<bool> = automaton.states.iter().map(is_end).collect();
        let is_end = |state: StateIndex| is_end.get(position(state)).copied().unwrap_or_default();
        // The channel that has each end to itself, and the copies for the others.
        let mut owners: HashMap<StateIndex, Channel> = HashMap::new();
        let mut copies: HashMap<(StateIndex, Channel), StateIndex> = HashMap::new();
        if is_end(StateIndex(0)) {
            owners.insert(StateIndex(0), Channel::Start);
        }
        let alone = alone(automaton);
        let alone = |place: usize| alone.get(place).copied().unwrap_or_default();
        for (place, state) in automaton.states.iter().enumerate() {
            let apart = |edge: &Edge| !alone(place) && !spawns(edge.action);
            let ends = state.edges.iter().filter(|edge| !apart(edge)).map(|edge| edge.action.target());
            owners.extend(ends.filter(|end| is_end(*end)).map(|end| (end, Channel::Alone)));
        }
        let mut own = |end: StateIndex, channel: Channel| {
            if *owners.entry(end).or_insert(channel) == channel {
                return end;
            }
            *copies.entry((end, channel)).or_insert_with(|| {
                ends.originals.push(end);
                index(first + ends.originals.len() - 1)
            })
        };
        for (place, state) in automaton.states.iter_mut().enumerate().filter(|(place, _)| !alone(*place)) {
            let channel = channels.get(place).map_or(Channel::Start, |channel| Channel::Of(*channel));
            for edge in &mut state.edges {
                if let Action::Step(target) = edge.action
                    && is_end(target)
                {
                    edge.action = Action::Step(own(target, channel));
                }
            }
        }
        // An end is named after the step that first leads to it, so that one keeps it.
        for (place, state) in automaton.states.iter_mut().enumerate() {
            for (number, part) in state.parts.iter_mut().enumerate() {
                if is_end(*part) {
                    *part = own(*part, Channel::Part(place, number));
                }
            }
        }
        let copied = ends.originals.iter().filter_map(|end| automaton.states.get(position(*end)).cloned());
        let copied: Vec<State> = copied.collect();
        automaton.states.extend(copied);
        ends
    }

    /// Makes one state of the ends that are alike, given what comes late at each.
    pub(super) fn join(
        self,
        automaton: &mut Automaton,
        late: impl Fn(StateIndex) -> Late,
        messages: &[Message],
    ) -> Joined {
        // The ends that stay, by what they were and what comes late there; those that have it to themselves first.
        let mut kept: HashMap<(StateIndex, Late), StateIndex> = HashMap::new();
        for original in self.originals.iter().collect::<BTreeSet<_>>() {
            kept.insert((*original, late(*original)), *original);
        }
        let mut places: Vec<StateIndex> = Vec::with_capacity(self.originals.len());
        let mut stay: Vec<usize> = Vec::new();
        for (number, original) in self.originals.iter().enumerate() {
            let place = *kept.entry((*original, late(index(self.first + number)))).or_insert_with(|| {
                stay.push(number);
                index(self.first + stay.len() - 1)
            });
            places.push(place);
        }
        let first = self.first;
        let joined = Joined { first, places };
        if self.originals.is_empty() {
            return joined;
        }
        let mut names = EndNames::new(automaton, first, messages);
        let states: Vec<State> = stay
            .iter()
            .filter_map(|number| {
                let mut state = automaton.states.get(first + number)?.clone();
                names.rename(&mut state, index(first + number));
                Some(state)
            })
            .collect();
        automaton.states.truncate(first);
        automaton.states.extend(states);
        for state in &mut automaton.states {
            for edge in &mut state.edges {
                if let Action::Step(target) = edge.action {
                    edge.action = Action::Step(joined.now(target));
                }
            }
            for part in &mut state.parts {
                *part = joined.now(*part);
            }
        }
        joined
    }
}

/// Where the states are once the ends that are alike are one again.
pub(super) struct Joined {
    first: usize,
    /// For each state from `first` on.
    places: Vec<StateIndex>,
}

impl Joined {
    /// Where a state is now.
    pub(super) fn now(&self, state: StateIndex) -> StateIndex {
        let copy = position(state).checked_sub(self.first).and_then(|number| self.places.get(number));
        copy.copied().unwrap_or(state)
    }
}

fn index(place: usize) -> StateIndex {
    StateIndex(u32::try_from(place).unwrap_or(u32::MAX))
}

/// The channel that each state belongs to, by a state of it: those that steps connect. An end belongs to none, and a
/// fork to the channel that it ends.
fn channels(automaton: &Automaton) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..automaton.states.len()).collect();
    fn root(parents: &mut [usize], mut at: usize) -> usize {
        while let Some(&parent) = parents.get(at)
            && parent != at
        {
            let above = parents.get(parent).copied().unwrap_or(parent);
            if let Some(slot) = parents.get_mut(at) {
                *slot = above;
            }
            at = above;
        }
        at
    }
    for (place, state) in automaton.states.iter().enumerate() {
        for edge in &state.edges {
            let Action::Step(target) = edge.action else { continue };
            if automaton.states.get(position(target)).is_none_or(is_end) {
                continue;
            }
            let (one, other) = (root(&mut parents, place), root(&mut parents, position(target)));
            if let Some(slot) = parents.get_mut(one) {
                *slot = other;
            }
        }
    }
    (0..parents.len()).map(|place| root(&mut parents, place)).collect()
}

/// The states of sub-sessions in which these have one channel.
fn alone(automaton: &Automaton) -> Vec<bool> {
    let next = |index: StateIndex| {
        let state = automaton.states.get(position(index)).into_iter();
        state.flat_map(|state| {
            let steps =
                state.edges.iter().filter(|edge| !spawns(edge.action)).map(|edge| edge.action.target());
            state.parts.iter().copied().chain(steps)
        })
    };
    let mut alone: Vec<bool> = automaton.states.iter().map(|state| state.body).collect();
    let parts = automaton.states.iter().flat_map(|state| state.parts.iter().copied());
    for part in reachable(parts, next) {
        if let Some(slot) = alone.get_mut(position(part)) {
            *slot = false;
        }
    }
    alone
}

/// Names for further ends of a role.
struct EndNames {
    taken: HashSet<String>,
    /// The message that first leads to each end, and where it stands.
    before: HashMap<StateIndex, (String, Span)>,
}

impl EndNames {
    /// `first` is the first of the states that want a name.
    fn new(automaton: &Automaton, first: usize, messages: &[Message]) -> EndNames {
        let old = automaton.states.iter().take(first);
        let taken = old.clone().map(|state| state.name.clone()).collect();
        let mut before = HashMap::new();
        for edge in old.flat_map(|state| &state.edges).filter(|edge| !spawns(edge.action)) {
            let target = edge.action.target();
            if position(target) >= first && edge.origin == Origin::Written {
                let lead = || (words::name(messages, edge.message).to_owned(), edge.span);
                before.entry(target).or_insert_with(lead);
            }
        }
        EndNames { taken, before }
    }

    /// Names the copy of an end after what leads there, as it would have been named had it been alone.
    fn rename(&mut self, state: &mut State, copy: StateIndex) {
        let base = match self.before.get(&copy) {
            Some((message, span)) if !state.named => {
                state.span = *span;
                format!("After{message}")
            }
            None if !state.named => "End".to_owned(),
            _ => state.name.clone(),
        };
        let numbered = (2..).map(|number| format!("{base}{number}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        if let Some(name) = names.find(|name| self.taken.insert(name.clone())) {
            state.name = name;
        }
    }
}
