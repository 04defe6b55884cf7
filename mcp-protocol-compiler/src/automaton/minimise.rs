//! The smallest automaton with the same behaviour.
//!
//! In: a [`Raw`] automaton. Out: one in which no two states behave alike, by Hopcroft's algorithm: states are first
//! told apart by what they are and offer, then by where it leads, splitting on the smaller half each time, so that a
//! chain of a hundred thousand states takes no more than n log n steps. Refuses nothing.

use std::collections::HashMap;

use mcp_protocol_machine::protocol::{Direction, Level, MessageIndex, Origin, StateKind};

use super::explore::{Raw, RawState};

/// What an edge looks like from outside, whatever it leads to.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Label {
    Edge(Direction, MessageIndex, bool, Origin, Option<(bool, String)>),
    Part(usize),
}

/// What a state looks like from outside.
#[derive(PartialEq, Eq, Hash)]
struct Look {
    kind: StateKind,
    may_close: bool,
    peer_may_close: bool,
    outward: Option<Level>,
    inward: Option<Level>,
    body: bool,
    labels: Vec<usize>,
}

/// Merges states that behave alike.
pub(super) fn minimise(raw: &Raw) -> Raw {
    let classes = classes(raw);
    let count = classes.iter().max().map_or(0, |last| last + 1);
    let mut states: Vec<Option<RawState>> = vec![None; count];
    let class = |state: usize| classes.get(state).copied().unwrap_or_default();
    for (state, place) in raw.states.iter().enumerate() {
        let Some(slot) = states.get_mut(class(state)) else { continue };
        match slot {
            Some(merged) => {
                for definition in &place.definitions {
                    if !merged.definitions.contains(definition) {
                        merged.definitions.push(*definition);
                    }
                }
            }
            None => {
                let mut place = place.clone();
                for edge in &mut place.edges {
                    edge.target = class(edge.target);
                }
                for part in &mut place.parts {
                    *part = class(*part);
                }
                // Two `*` bodies that behave alike are one, wherever they stand in the text.
                let mut seen = std::collections::HashSet::new();
                place
                    .edges
                    .retain(|edge| seen.insert((edge.direction, edge.message, edge.spawn, edge.target)));
                *slot = Some(place);
            }
        }
    }
    Raw { states: states.into_iter().flatten().collect(), start: class(raw.start) }
}

/// The class of each state; classes are numbered by their first state.
pub(super) fn classes(raw: &Raw) -> Vec<usize> {
    let mut labels: HashMap<Label, usize> = HashMap::new();
    let mut number = |label: Label| {
        let next = labels.len();
        *labels.entry(label).or_insert(next)
    };
    // Who leads to a state, and by which label.
    let mut incoming: Vec<Vec<(usize, usize)>> = vec![Vec::new(); raw.states.len()];
    let mut looks: HashMap<Look, usize> = HashMap::new();
    let mut partition = Partition::default();
    for (state, place) in raw.states.iter().enumerate() {
        let mut own = Vec::with_capacity(place.edges.len() + place.parts.len());
        for edge in &place.edges {
            let level = edge.level.as_ref().map(|level| {
                (
                    level.strictness == mcp_protocol_machine::protocol::Strictness::Must,
                    level.rule.as_deref().unwrap_or_default().to_owned(),
                )
            });
            own.push((
                number(Label::Edge(edge.direction, edge.message, edge.spawn, edge.origin, level)),
                edge.target,
            ));
        }
        for (index, part) in place.parts.iter().enumerate() {
            own.push((number(Label::Part(index)), *part));
        }
        own.sort_unstable();
        own.dedup();
        for (label, target) in &own {
            if let Some(list) = incoming.get_mut(*target) {
                list.push((*label, state));
            }
        }
        let look = Look {
            kind: place.kind,
            may_close: place.may_close,
            peer_may_close: place.peer_may_close,
            outward: place.outward.clone(),
            inward: place.inward.clone(),
            body: place.body.is_some(),
            labels: own.iter().map(|(label, _)| *label).collect(),
        };
        let next = looks.len();
        let block = *looks.entry(look).or_insert(next);
        partition.put(state, block);
    }
    let mut waiting: Vec<usize> = (0..partition.blocks.len()).collect();
    let mut queued: Vec<bool> = vec![true; partition.blocks.len()];
    while let Some(splitter) = waiting.pop() {
        if let Some(queued) = queued.get_mut(splitter) {
            *queued = false;
        }
        let members = partition.blocks.get(splitter).cloned().unwrap_or_default();
        let mut by_label: Vec<(usize, usize)> =
            members.iter().filter_map(|member| incoming.get(*member)).flatten().copied().collect();
        by_label.sort_unstable();
        by_label.dedup();
        for group in by_label.chunk_by(|left, right| left.0 == right.0) {
            for (old, new) in partition.split(group.iter().map(|(_, state)| *state)) {
                queued.resize(partition.blocks.len(), false);
                let size = |block: usize| partition.blocks.get(block).map_or(0, Vec::len);
                let is_queued = queued.get(old).copied().unwrap_or_default();
                let next = if is_queued || size(new) <= size(old) { new } else { old };
                if let Some(queued) = queued.get_mut(next) {
                    *queued = true;
                }
                waiting.push(next);
            }
        }
    }
    partition.numbered_by_first()
}

#[derive(Default)]
struct Partition {
    blocks: Vec<Vec<usize>>,
    /// The block of each state and its place in it.
    places: Vec<(usize, usize)>,
}

impl Partition {
    /// States are put in order.
    fn put(&mut self, state: usize, block: usize) {
        if self.blocks.len() <= block {
            self.blocks.resize(block + 1, Vec::new());
        }
        if let Some(members) = self.blocks.get_mut(block) {
            self.places.push((block, members.len()));
            debug_assert_eq!(self.places.len(), state + 1);
            members.push(state);
        }
    }

    /// Parts every block in those that are named and those that are not; gives the old and the new number of each
    /// block that was parted. The work is that of the states named.
    fn split(&mut self, named: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
        let mut touched: Vec<(usize, usize)> =
            named.filter_map(|state| self.places.get(state).map(|(block, _)| (*block, state))).collect();
        touched.sort_unstable();
        let mut parted = Vec::new();
        for group in touched.chunk_by(|left, right| left.0 == right.0) {
            let Some((block, _)) = group.first().copied() else { continue };
            if self.blocks.get(block).is_none_or(|members| members.len() == group.len()) {
                continue;
            }
            let new = self.blocks.len();
            for (index, (_, state)) in group.iter().enumerate() {
                let Some((_, at)) = self.places.get(*state).copied() else { continue };
                let Some(members) = self.blocks.get_mut(block) else { continue };
                members.swap_remove(at);
                if let Some(moved) = members.get(at).copied()
                    && let Some(place) = self.places.get_mut(moved)
                {
                    place.1 = at;
                }
                if let Some(place) = self.places.get_mut(*state) {
                    *place = (new, index);
                }
            }
            self.blocks.push(group.iter().map(|(_, state)| *state).collect());
            parted.push((block, new));
        }
        parted
    }

    fn numbered_by_first(&self) -> Vec<usize> {
        let mut numbers: HashMap<usize, usize> = HashMap::new();
        self.places
            .iter()
            .map(|(block, _)| {
                let next = numbers.len();
                *numbers.entry(*block).or_insert(next)
            })
            .collect()
    }
}
