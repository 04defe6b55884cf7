//! Which steps of sub-sessions a correlation key ties to their sub-session, on every way there.
//!
//! In: the states of a role, minimal or not: everything here is judged by ways through them, so an unfolded loop gets
//! the verdict of the folded one. Out: the steps that some way leaves without a key, and the keys whose values never
//! come twice. Refuses nothing; `copies` reports.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use mcp_protocol_machine::protocol::{Direction, KeyIndex, KeyPlace, Kind, MessageIndex};

use super::raw::{RawEdge, RawState};
use crate::declarations::{Declarations, Message};

/// A step: the state it is taken in, and what is said.
pub(super) type Step = (usize, Direction, MessageIndex);

/// The keys that a message carries.
pub(super) fn keys(declarations: &Declarations, message: MessageIndex) -> BTreeSet<KeyIndex> {
    let message = declarations.message(message);
    message.into_iter().flat_map(|message| message.table.keys.iter().map(|carried| carried.key)).collect()
}

/// Whether a later step needs a key: a reply is tied by the id of its request, a cancel and a report name theirs.
pub(super) fn needs_key(message: &Message) -> bool {
    !matches!(message.table.kind, Kind::Reply { .. } | Kind::Refusal { .. })
        && message.table.cancels.is_none()
        && message.table.reports.is_none()
}

/// The steps that need a key and that some way reaches without having carried one of theirs.
pub(super) fn loose(states: &[RawState], declarations: &Declarations) -> HashSet<Step> {
    let mut by_keys: BTreeMap<BTreeSet<KeyIndex>, Vec<Step>> = BTreeMap::new();
    for step in steps(states) {
        if declarations.message(step.2).is_some_and(needs_key) {
            by_keys.entry(keys(declarations, step.2)).or_default().push(step);
        }
    }
    let ways = Ways::new(states, declarations);
    by_keys.into_iter().flat_map(|(keys, steps)| ways.without(&keys, steps)).collect()
}

/// The later steps of all sub-sessions.
fn steps(states: &[RawState]) -> impl Iterator<Item = Step> {
    let bodies = states.iter().enumerate().filter(|(_, place)| place.body.is_some());
    bodies.flat_map(|(state, place)| {
        let edges = place.edges.iter().filter(|edge| !edge.spawn);
        edges.map(move |edge| (state, edge.direction, edge.message))
    })
}

/// Every edge that opens a sub-session, each once.
fn openers(states: &[RawState]) -> Vec<&RawEdge> {
    let mut seen = HashSet::new();
    let spawns = states.iter().flat_map(|place| place.edges.iter().filter(|edge| edge.spawn));
    spawns.filter(|edge| seen.insert((edge.direction, edge.message, edge.target))).collect()
}

/// The ways through sub-sessions, forwards and backwards.
struct Ways<'a> {
    states: &'a [RawState],
    declarations: &'a Declarations,
    openers: Vec<&'a RawEdge>,
    /// The steps that lead to each state.
    before: HashMap<usize, Vec<(usize, MessageIndex)>>,
}

impl<'a> Ways<'a> {
    fn new(states: &'a [RawState], declarations: &'a Declarations) -> Ways<'a> {
        let mut before: HashMap<usize, Vec<(usize, MessageIndex)>> = HashMap::new();
        for (state, place) in states.iter().enumerate().filter(|(_, place)| place.body.is_some()) {
            for edge in place.edges.iter().filter(|edge| !edge.spawn) {
                before.entry(edge.target).or_default().push((state, edge.message));
            }
        }
        Ways { states, declarations, openers: openers(states), before }
    }

    /// Those of some steps that can be reached on a way that carries none of some keys.
    fn without(&self, keys: &BTreeSet<KeyIndex>, steps: Vec<Step>) -> Vec<Step> {
        let carries = |message: MessageIndex| {
            let message = self.declarations.message(message);
            message
                .is_some_and(|message| message.table.keys.iter().any(|carried| keys.contains(&carried.key)))
        };
        if keys.is_empty() {
            return steps;
        }
        // Only what leads to one of the steps is walked, so that keys of other bodies cost nothing.
        let mut behind: HashSet<usize> = HashSet::new();
        let mut waiting: Vec<usize> = steps.iter().map(|(state, ..)| *state).collect();
        while let Some(state) = waiting.pop() {
            if behind.insert(state) {
                let before = self.before.get(&state).into_iter().flatten();
                waiting.extend(before.filter(|(_, message)| !carries(*message)).map(|(state, _)| *state));
            }
        }
        let mut reached: HashSet<usize> = HashSet::new();
        let openers = self.openers.iter().filter(|edge| !carries(edge.message));
        waiting.extend(openers.map(|edge| edge.target));
        while let Some(state) = waiting.pop() {
            if !behind.contains(&state) || !reached.insert(state) {
                continue;
            }
            let edges = self.states.get(state).into_iter().flat_map(|place| &place.edges);
            let on = edges.filter(|edge| !edge.spawn && !carries(edge.message));
            waiting.extend(on.map(|edge| edge.target));
        }
        steps.into_iter().filter(|(state, ..)| reached.contains(state)).collect()
    }
}

/// The keys whose values never come twice: each is the id of the request that opened the sub-session, and an id is used
/// once in its direction.
pub(super) struct Fresh<'a> {
    declarations: &'a Declarations,
    /// Which way the requests go whose ids are the values.
    keys: BTreeMap<KeyIndex, Direction>,
}

impl<'a> Fresh<'a> {
    pub(super) fn new(states: &[RawState], declarations: &'a Declarations) -> Fresh<'a> {
        let by_id: BTreeSet<KeyIndex> = declarations
            .messages
            .iter()
            .flat_map(|message| message.table.keys.iter())
            .filter(|carried| carried.place == KeyPlace::Id)
            .map(|carried| carried.key)
            .collect();
        let ways = (!by_id.is_empty()).then(|| Ways::new(states, declarations));
        let carried = |message: MessageIndex| {
            let keys = declarations.message(message).map_or(&[][..], |message| &message.table.keys);
            let mut seen = BTreeSet::new();
            keys.iter().filter(move |carried| seen.insert(carried.key))
        };
        let mut later: HashMap<KeyIndex, Vec<Step>> = HashMap::new();
        for step in steps(states).filter(|_| ways.is_some()) {
            carried(step.2).for_each(|carried| later.entry(carried.key).or_default().push(step));
        }
        let mut opening: HashMap<KeyIndex, Vec<(Direction, bool)>> = HashMap::new();
        for edge in ways.iter().flat_map(|ways| &ways.openers) {
            for carried in carried(edge.message) {
                let is_id = carried.place == KeyPlace::Id;
                opening.entry(carried.key).or_default().push((edge.direction, is_id));
            }
        }
        let of = |key: KeyIndex| -> Option<(KeyIndex, Direction)> {
            // A step that brings the key into a sub-session could bring any value.
            let later = later.get(&key).cloned().unwrap_or_default();
            if !ways.as_ref()?.without(&BTreeSet::from([key]), later).is_empty() {
                return None;
            }
            let opening = opening.get(&key)?;
            let (direction, _) = opening.first()?;
            opening.iter().all(|(by, is_id)| *is_id && by == direction).then_some((key, *direction))
        };
        Fresh { declarations, keys: by_id.into_iter().filter_map(of).collect() }
    }

    /// Whether a message finds nothing but sub-sessions that requests of a direction opened, by their ids alone.
    pub(super) fn ties(&self, message: MessageIndex, by: Direction) -> bool {
        let carried = keys(self.declarations, message);
        !carried.is_empty() && carried.iter().all(|key| self.keys.get(key) == Some(&by))
    }
}

/// The keys that every way into each state of a body has carried, for a finding to name.
pub(super) fn held(states: &[RawState], declarations: &Declarations) -> HashMap<usize, BTreeSet<KeyIndex>> {
    let mut held: HashMap<usize, BTreeSet<KeyIndex>> = HashMap::new();
    let mut waiting: Vec<(usize, BTreeSet<KeyIndex>)> =
        openers(states).into_iter().map(|edge| (edge.target, keys(declarations, edge.message))).collect();
    while let Some((state, here)) = waiting.pop() {
        let next = match held.get(&state) {
            Some(known) => known.intersection(&here).copied().collect(),
            None => here,
        };
        if held.get(&state) == Some(&next) {
            continue;
        }
        if let Some(place) = states.get(state) {
            waiting.extend(place.edges.iter().filter(|edge| !edge.spawn).map(|edge| {
                let carried = keys(declarations, edge.message);
                (edge.target, next.union(&carried).copied().collect())
            }));
        }
        held.insert(state, next);
    }
    held
}
