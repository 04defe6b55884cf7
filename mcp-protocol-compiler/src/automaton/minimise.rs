//! Minimises an automaton, with Hopcroft's algorithm.
//!
//! Only behaviour tells states apart: an implied refusal and one that is written are the same edge, and channels side
//! by side stand in no order. How a refusal is presented depends on the text, so an edge that is written somewhere is
//! [`Origin::Written`] in the state that is left.

use mcp_protocol_machine::protocol::{Direction, Level, MessageIndex, Only, Origin, StateKind};

use self::partition::Partition;
use super::raw::{Raw, RawState};
use crate::hash::{Map, Set};
use crate::lists::Lists;

mod partition;

/// What an edge looks like from outside, whatever it leads to. No state has two edges that look alike.
type Label = (Direction, MessageIndex, bool, Option<MessageIndex>, Option<(bool, String)>);

/// What a state looks like from outside.
#[derive(PartialEq, Eq, Hash)]
struct Look {
    kind: StateKind,
    may_close: bool,
    peer_may_close: bool,
    only: Only,
    outward: Option<Level>,
    inward: Option<Level>,
    body: bool,
    parts: usize,
    labels: Vec<usize>,
}

/// Merges states that behave alike.
pub(super) fn minimise(mut raw: Raw) -> Raw {
    let classes = classes(&raw.states);
    let count = classes.iter().max().map_or(0, |last| last + 1);
    let mut states: Vec<Option<RawState>> = vec![None; count];
    let class = |state: usize| classes.get(state).copied().unwrap_or_default();
    let mut named: Set<(usize, usize)> = Set::default();
    for (state, place) in raw.states.iter_mut().enumerate() {
        let class_of_state = class(state);
        let Some(slot) = states.get_mut(class_of_state) else { continue };
        let new = place.definitions.iter().filter(|definition| named.insert((class_of_state, **definition)));
        let new: Vec<usize> = new.copied().collect();
        match slot {
            Some(merged) => {
                merged.definitions.extend(new);
                present_as_written(merged, place);
            }
            None => {
                let mut place = place.take();
                for edge in &mut place.edges {
                    edge.target = class(edge.target);
                }
                for part in &mut place.parts {
                    *part = class(*part);
                }
                // Two `*` bodies that behave alike are one, wherever they stand in the text.
                if place.edges.len() > 1 {
                    let mut seen = Set::default();
                    place
                        .edges
                        .retain(|edge| seen.insert((edge.direction, edge.message, edge.spawn, edge.target)));
                }
                *slot = Some(place);
            }
        }
    }
    Raw { states: states.into_iter().flatten().collect(), start: class(raw.start) }
}

/// Where another state of the same class has an edge that is written, and the state that is left has it implied, the
/// written one is presented.
fn present_as_written(merged: &mut RawState, other: &RawState) {
    for edge in merged.edges.iter_mut().filter(|edge| edge.origin == Origin::Refusal) {
        let written = other.edges.iter().find(|written| {
            (written.direction, written.message, written.origin)
                == (edge.direction, edge.message, Origin::Written)
        });
        if let Some(written) = written {
            (edge.origin, edge.span) = (written.origin, written.span);
        }
    }
}

/// The class of each state; classes are numbered by their first state.
pub(super) fn classes(states: &[RawState]) -> Vec<usize> {
    let mut labels: Map<Label, usize> = Map::default();
    let mut number = |label: Label| {
        let next = labels.len();
        *labels.entry(label).or_insert(next)
    };
    // Where each edge leads, its label, and the state that has it.
    let mut edges: Vec<(usize, (usize, usize))> = Vec::with_capacity(states.len());
    let mut looks: Map<Look, usize> = Map::default();
    let mut blocks: Vec<usize> = Vec::with_capacity(states.len());
    let mut own = Vec::new();
    for (state, place) in states.iter().enumerate() {
        own.clear();
        for edge in &place.edges {
            let level = edge.level.as_ref().map(|level| {
                (
                    level.strictness == mcp_protocol_machine::protocol::Strictness::Must,
                    level.rule.as_deref().unwrap_or_default().to_owned(),
                )
            });
            let label = (edge.direction, edge.message, edge.spawn, edge.cancels, level);
            own.push((number(label), edge.target));
        }
        own.sort_unstable();
        own.dedup();
        edges.extend(own.iter().map(|(label, target)| (*target, (*label, state))));
        let look = Look {
            kind: place.kind,
            may_close: place.may_close,
            peer_may_close: place.peer_may_close,
            only: place.only,
            outward: place.outward.clone(),
            inward: place.inward.clone(),
            body: place.in_body(),
            parts: place.parts.len(),
            labels: own.iter().map(|(label, _)| *label).collect(),
        };
        let next = looks.len();
        blocks.push(*looks.entry(look).or_insert(next));
    }
    // Who leads to a state, and by which label.
    let incoming = Lists::grouped(states.len(), edges.iter().copied());
    let mut partition = Partition::new(&blocks, looks.len());
    let mut forks = Forks::new(states);
    let mut waiting: Vec<usize> = (0..partition.len()).collect();
    let mut queued: Vec<bool> = vec![true; partition.len()];
    let mut by_label: Vec<(usize, usize)> = Vec::new();
    let mut parted = Vec::new();
    loop {
        if let Some(splitter) = waiting.pop() {
            if let Some(queued) = queued.get_mut(splitter) {
                *queued = false;
            }
            by_label.clear();
            by_label.extend(partition.members(splitter).iter().flat_map(|member| incoming.get(*member)));
            by_label.sort_unstable();
            by_label.dedup();
            for group in by_label.chunk_by(|left, right| left.0 == right.0) {
                partition.split(group.iter().map(|(_, state)| *state), &mut parted);
            }
        } else if !forks.changed.is_empty() {
            forks.split(states, &mut partition, &mut parted);
        } else {
            return partition.numbered_by_first();
        }
        for (old, new) in parted.drain(..) {
            forks.renamed(partition.members(new));
            queued.resize(partition.len(), false);
            let size = |block: usize| partition.members(block).len();
            let is_queued = queued.get(old).copied().unwrap_or_default();
            let next = if is_queued || size(new) <= size(old) { new } else { old };
            if let Some(queued) = queued.get_mut(next) {
                *queued = true;
            }
            waiting.push(next);
        }
    }
}

/// The forks, and those of them whose parts have come into another block. Parts stand in no order, so a fork is
/// identified by the set of their blocks; work is done only for what has changed.
struct Forks {
    /// The forks that each state is a part of.
    of: Map<usize, Vec<usize>>,
    changed: Vec<usize>,
}

impl Forks {
    fn new(states: &[RawState]) -> Forks {
        let mut forks = Forks { of: Map::default(), changed: Vec::new() };
        for (state, place) in states.iter().enumerate().filter(|(_, place)| !place.parts.is_empty()) {
            forks.changed.push(state);
            for part in &place.parts {
                forks.of.entry(*part).or_default().push(state);
            }
        }
        forks
    }

    /// States have come into a new block.
    fn renamed(&mut self, states: &[usize]) {
        self.changed.extend(states.iter().filter_map(|state| self.of.get(state)).flatten());
    }

    /// Parts the blocks of the forks that have changed. What has not changed has no part in a new block, so the two
    /// differ in any case.
    fn split(&mut self, states: &[RawState], partition: &mut Partition, parted: &mut Vec<(usize, usize)>) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        let block = |state: &usize| partition.block(*state);
        let parts = |fork: usize| -> Vec<usize> {
            let parts = states.get(fork).map_or(&[][..], |place| &place.parts);
            let mut blocks: Vec<usize> = parts.iter().filter_map(block).collect();
            blocks.sort_unstable();
            blocks.dedup();
            blocks
        };
        let mut signed: Vec<_> = changed.into_iter().map(|fork| (block(&fork), parts(fork), fork)).collect();
        signed.sort_unstable();
        for group in signed.chunk_by(|one, other| (one.0, &one.1) == (other.0, &other.1)) {
            partition.split(group.iter().map(|(.., fork)| *fork), parted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automaton::raw::{Owner, RawEdge};
    use crate::source::Span;

    /// Random numbers that are the same in every run of one seed.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % bound as u64) as usize
        }
    }

    /// A deterministic automaton with few messages and few of all else, so that many states behave alike: linear
    /// channels, `*` in parallel with them, forks, and states of sub-sessions; levels at states and at actions. In each
    /// automaton some of this varies and the rest does not, so that what varies is all that can tell two states apart.
    fn random(random: &mut Random) -> Raw {
        let count = 1 + random.below(12);
        let aspects = [random.below(10), random.below(10)];
        let varies = |random: &mut Random, aspect: usize| aspects.contains(&aspect) && random.below(3) == 0;
        let states = (0..count)
            .map(|_| {
                let fork = random.below(4) == 0;
                let edges = if fork { Vec::new() } else { edges(random, count, aspects) };
                let parts = if fork { 1 + random.below(2) } else { 0 };
                // As a branch of a choice a `*` stands in a channel that goes on; else it is what is left of one.
                let only_sub_sessions = edges.iter().all(|edge| edge.spawn) && varies(random, 0);
                RawState {
                    kind: match edges.as_slice() {
                        [] if fork => StateKind::Fork,
                        [] => StateKind::End,
                        _ if only_sub_sessions => StateKind::Replicated,
                        _ => StateKind::Linear,
                    },
                    own: edges.len(),
                    edges,
                    parts: (0..parts).map(|_| random.below(count)).collect(),
                    may_close: varies(random, 1),
                    peer_may_close: varies(random, 2),
                    end: None,
                    only: Only { outward: varies(random, 3), inward: varies(random, 4) },
                    outward: varies(random, 5).then(|| level(random)),
                    inward: varies(random, 6).then(|| level(random)),
                    owner: if varies(random, 7) { Owner::SubSession(None) } else { Owner::Session },
                    definitions: Vec::new(),
                    span: Span::default(),
                }
            })
            .collect();
        Raw { states, start: 0 }
    }

    fn edges(random: &mut Random, count: usize, aspects: [usize; 2]) -> Vec<RawEdge> {
        let mut edges: Vec<RawEdge> = Vec::new();
        for _ in 0..random.below(4) {
            let direction = if random.below(2) == 0 { Direction::Send } else { Direction::Receive };
            let message = MessageIndex(random.below(3) as u16);
            if edges.iter().any(|edge| (edge.direction, edge.message) == (direction, message)) {
                continue;
            }
            edges.push(RawEdge {
                direction,
                message,
                target: random.below(count),
                spawn: random.below(5) == 0,
                sub_session: None,
                origin: if aspects.contains(&8) && random.below(3) == 0 {
                    Origin::Refusal
                } else {
                    Origin::Written
                },
                cancels: None,
                span: Span::default(),
                level: (aspects.contains(&9) && random.below(3) == 0).then(|| Box::new(level(random))),
            });
        }
        edges
    }

    /// One of three that differ in one thing each.
    fn level(random: &mut Random) -> Level {
        match random.below(3) {
            0 => Level::must("one"),
            1 => Level::should("one"),
            _ => Level::should("other"),
        }
    }

    /// Which states behave alike, by the definition: all pairs that look alike, without those whose edges or parts have
    /// no counterpart, until none is left out any more.
    fn alike(raw: &Raw) -> Vec<Vec<bool>> {
        let look = |state: &RawState| {
            let levels = (state.outward.clone(), state.inward.clone());
            (
                state.kind,
                state.only,
                state.owner,
                state.may_close,
                state.peer_may_close,
                levels,
                state.parts.len(),
            )
        };
        let states = &raw.states;
        let row = |one| states.iter().map(|other| look(one) == look(other)).collect::<Vec<bool>>();
        let mut alike: Vec<Vec<bool>> = states.iter().map(row).collect();
        loop {
            let fits = |one: &RawState, other: &RawState| {
                let label = |edge: &RawEdge| {
                    (edge.direction, edge.message, edge.spawn, edge.cancels, edge.level.clone())
                };
                let edge = |edge: &RawEdge, found: &RawEdge| {
                    label(edge) == label(found) && alike[edge.target][found.target]
                };
                one.edges.iter().all(|own| other.edges.iter().any(|found| edge(own, found)))
                    && one.parts.iter().all(|own| other.parts.iter().any(|found| alike[*own][*found]))
            };
            let pairs = (0..states.len()).flat_map(|left| (0..states.len()).map(move |right| (left, right)));
            let apart: Vec<(usize, usize)> = pairs
                .filter(|(left, right)| alike[*left][*right])
                .filter(|(left, right)| {
                    let (one, other) = (&states[*left], &states[*right]);
                    !fits(one, other) || !fits(other, one)
                })
                .collect();
            if apart.is_empty() {
                return alike;
            }
            apart.into_iter().for_each(|(left, right)| alike[left][right] = false);
        }
    }

    #[test]
    fn states_are_one_exactly_if_they_behave_alike() {
        let (mut merged, mut forks_merged) = (0, 0);
        for seed in 1..=5_000u64 {
            let raw = random(&mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
            let (classes, expected) = (classes(&raw.states), alike(&raw));
            for left in 0..raw.states.len() {
                for right in 0..left {
                    let same = classes[left] == classes[right];
                    merged += u64::from(same);
                    forks_merged += u64::from(same && raw.states[left].kind == StateKind::Fork);
                    assert_eq!(
                        same, expected[left][right],
                        "seed {seed}: states {right} and {left} of {raw:#?}"
                    );
                }
            }
            // What is left behaves as before, and no two of it behave alike.
            let small = minimise(raw.clone());
            let both = Raw {
                states: raw
                    .states
                    .iter()
                    .cloned()
                    .chain(small.states.iter().cloned().map(|mut state| {
                        state.edges.iter_mut().for_each(|edge| edge.target += raw.states.len());
                        state.parts.iter_mut().for_each(|part| *part += raw.states.len());
                        state
                    }))
                    .collect(),
                start: 0,
            };
            assert!(alike(&both)[raw.start][raw.states.len() + small.start], "seed {seed}");
            let left_over = alike(&small);
            for (left, alike) in left_over.iter().enumerate() {
                assert!(!alike[..left].contains(&true), "seed {seed}");
            }
        }
        assert!(
            merged > 1_000 && forks_merged > 50,
            "{merged} pairs of states are one, {forks_merged} of forks"
        );
    }
}
