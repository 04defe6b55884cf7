//! Which steps of sub-sessions a correlation key ties to their sub-session, on every way there.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use mcp_protocol_machine::protocol::{Direction, KeyIndex, KeyPlace, MessageIndex, MessageKey};

use super::keys::{keys, needs_key};
use super::nesting::{Nesting, inner};
use super::open_keys::stands_alone;
use super::raw::{RawEdge, RawState, Step, parts, steps};
use crate::declarations::Declarations;
use crate::hash::Set;
use crate::reach::reachable;

/// A step, and the state it is taken in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct StepAt {
    pub(super) state: usize,
    pub(super) action: Step,
}

/// The steps that need a key and that some way reaches without having carried one of theirs. What has to find a
/// sub-session because it belongs to one within is a step here, too.
pub(super) fn loose(states: &[RawState], nesting: &Nesting, declarations: &Declarations) -> HashSet<StepAt> {
    let mut by_keys: BTreeMap<BTreeSet<KeyIndex>, Vec<StepAt>> = BTreeMap::new();
    let mut add = |step: StepAt| {
        let (_, message) = step.action;
        if declarations.message(message).is_some_and(needs_key) {
            let mut own = keys(declarations, message);
            nesting.around(step.state).for_each(|key| _ = own.remove(key));
            by_keys.entry(own).or_default().push(step);
        }
    };
    later_steps(states).for_each(&mut add);
    for (state, _) in states.iter().enumerate().filter(|(_, place)| place.in_body()) {
        let inner = inner(states, declarations, state);
        inner
            .into_iter()
            .map(|edge| StepAt { state, action: (edge.direction, edge.message) })
            .for_each(&mut add);
    }
    let ways = SubSessionPaths::new(states, declarations);
    by_keys.into_iter().flat_map(|(keys, steps)| ways.without(&keys, steps)).collect()
}

/// The messages with a key in a member of their envelope, where some way has not brought the value: it would not be known.
/// In the session itself no value is known; within another sub-session, the values of that are. What stands alone in the
/// session and is a step of sub-sessions, too, has no value there: whether its key is open is asked elsewhere.
pub(super) fn valueless(
    states: &[RawState],
    nesting: &Nesting,
    declarations: &Declarations,
) -> Vec<(StepAt, KeyIndex)> {
    let mut found: Vec<(StepAt, KeyIndex)> = Vec::new();
    let mut in_bodies: BTreeMap<KeyIndex, Vec<StepAt>> = BTreeMap::new();
    let of_sub_sessions: HashSet<Step> = states
        .iter()
        .filter(|place| place.in_body())
        .flat_map(|place| place.edges.iter().map(|edge| (edge.direction, edge.message)))
        .collect();
    let is_alone = |edge: &RawEdge, action| {
        of_sub_sessions.contains(&action) && stands_alone(states, declarations, edge)
    };
    for (state, place) in states.iter().enumerate() {
        for edge in &place.edges {
            let Some(message) = declarations.message(edge.message) else { continue };
            let step = StepAt { state, action: (edge.direction, edge.message) };
            for (key, _) in message.table.member_keys() {
                if !place.in_body() {
                    if !is_alone(edge, step.action) {
                        found.push((step, key));
                    }
                } else if nesting.around(state).all(|around| *around != key) {
                    in_bodies.entry(key).or_default().push(step);
                }
            }
        }
    }
    if !in_bodies.is_empty() {
        let ways = SubSessionPaths::new(states, declarations);
        for (key, steps) in in_bodies {
            found.extend(ways.without_value(key, steps).into_iter().map(|step| (step, key)));
        }
    }
    found
}

/// The later steps of all sub-sessions.
fn later_steps(states: &[RawState]) -> impl Iterator<Item = StepAt> {
    let bodies = states.iter().enumerate().filter(|(_, place)| place.in_body());
    bodies.flat_map(|(state, _)| {
        steps(states, state).map(move |edge| StepAt { state, action: (edge.direction, edge.message) })
    })
}

/// What opens sub-sessions in certain states.
fn openers_where(states: &[RawState], of: impl Fn(&RawState) -> bool) -> impl Iterator<Item = StepAt> {
    let places = states.iter().enumerate().filter(move |(_, place)| of(place));
    places.flat_map(|(state, place)| {
        let openers = place.edges.iter().filter(|edge| edge.spawn);
        openers.map(move |edge| StepAt { state, action: (edge.direction, edge.message) })
    })
}

/// Every edge that opens a sub-session, each once.
fn openers(states: &[RawState]) -> Vec<&RawEdge> {
    let mut seen = HashSet::new();
    let spawns = states.iter().flat_map(|place| place.edges.iter().filter(|edge| edge.spawn));
    spawns.filter(|edge| seen.insert((edge.direction, edge.message, edge.target))).collect()
}

/// The ways through sub-sessions, forwards and backwards.
struct SubSessionPaths<'a> {
    states: &'a [RawState],
    declarations: &'a Declarations,
    openers: Vec<&'a RawEdge>,
    /// The steps that lead to each state, and those that start its channel together with others: these say nothing.
    before: HashMap<usize, Vec<(usize, Option<MessageIndex>)>>,
}

impl<'a> SubSessionPaths<'a> {
    fn new(states: &'a [RawState], declarations: &'a Declarations) -> SubSessionPaths<'a> {
        let mut before: HashMap<usize, Vec<(usize, Option<MessageIndex>)>> = HashMap::new();
        for (state, _) in states.iter().enumerate().filter(|(_, place)| place.in_body()) {
            for edge in steps(states, state) {
                before.entry(edge.target).or_default().push((state, Some(edge.message)));
            }
            for part in parts(states, state) {
                before.entry(part).or_default().push((state, None));
            }
        }
        SubSessionPaths { states, declarations, openers: openers(states), before }
    }

    /// Those of some steps that can be reached on a way that carries none of some keys.
    fn without(&self, keys: &BTreeSet<KeyIndex>, found: Vec<StepAt>) -> Vec<StepAt> {
        let carries = |message: MessageIndex| {
            let message = self.declarations.message(message);
            message
                .is_some_and(|message| message.table.keys.iter().any(|carried| keys.contains(&carried.key)))
        };
        if keys.is_empty() { found } else { self.around(carries, found) }
    }

    /// Those of some steps that can be reached on a way that brings no value of a key: a member of the envelope brings
    /// none, because its value is that of an earlier message.
    fn without_value(&self, key: KeyIndex, found: Vec<StepAt>) -> Vec<StepAt> {
        let brings = |message: MessageIndex| {
            let keys = self.declarations.message(message).map(|message| &*message.table.keys);
            let is_value =
                |carried: &MessageKey| carried.key == key && !matches!(carried.place, KeyPlace::Member(_));
            keys.unwrap_or_default().iter().any(is_value)
        };
        self.around(brings, found)
    }

    /// Those of some steps that can be reached on a way without certain messages.
    fn around(&self, carries: impl Fn(MessageIndex) -> bool, found: Vec<StepAt>) -> Vec<StepAt> {
        let carries = &carries;
        // Only what leads to one of the steps is walked, so that keys of other bodies cost nothing.
        let before = |state| self.before.get(&state).into_iter().flatten();
        let silent = |state| {
            before(state).filter(move |(_, message)| !message.is_some_and(carries)).map(|(state, _)| *state)
        };
        let behind: Set<usize> = reachable(found.iter().map(|step| step.state), silent).into_iter().collect();
        let on = |edge: &&RawEdge| !carries(edge.message) && behind.contains(&edge.target);
        let starts = self.openers.iter().copied().filter(on).map(|edge| edge.target);
        let silent = |state| {
            let parts = parts(self.states, state).filter(|part| behind.contains(part));
            steps(self.states, state).filter(on).map(|edge| edge.target).chain(parts)
        };
        let reached: Set<usize> = reachable(starts, silent).into_iter().collect();
        found.into_iter().filter(|step| reached.contains(&step.state)).collect()
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
        let ways = (!by_id.is_empty()).then(|| SubSessionPaths::new(states, declarations));
        let carried = |message: MessageIndex| {
            let keys = declarations.message(message).map_or(&[][..], |message| &message.table.keys);
            let mut seen = BTreeSet::new();
            keys.iter().filter(move |carried| seen.insert(carried.key))
        };
        let with_keys = |steps: &mut dyn Iterator<Item = StepAt>| {
            let mut by_key: HashMap<KeyIndex, Vec<StepAt>> = HashMap::new();
            for step in steps.filter(|_| ways.is_some()) {
                carried(step.action.1).for_each(|carried| by_key.entry(carried.key).or_default().push(step));
            }
            by_key
        };
        let later = with_keys(&mut later_steps(states));
        let opening = with_keys(&mut openers_where(states, |place| !place.in_body()));
        let inner = with_keys(&mut openers_where(states, RawState::in_body));
        let of = |key: KeyIndex| -> Option<(KeyIndex, Direction)> {
            let bring = |steps: &HashMap<KeyIndex, Vec<StepAt>>| {
                let steps = steps.get(&key).cloned().unwrap_or_default();
                Some(ways.as_ref()?.without(&BTreeSet::from([key]), steps))
            };
            // A step that brings the key into a sub-session could bring any value.
            if !bring(&later)?.is_empty() {
                return None;
            }
            // What opens a sub-session within one that holds a value of the key finds that one by it.
            let mut opening = opening.get(&key).cloned().unwrap_or_default();
            opening.extend(bring(&inner)?);
            let (direction, _) = opening.first()?.action;
            let is_id =
                |message| carried(message).any(|carried| carried.key == key && carried.place == KeyPlace::Id);
            let is_fresh = |step: &StepAt| step.action.0 == direction && is_id(step.action.1);
            opening.iter().all(is_fresh).then_some((key, direction))
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
            waiting.extend(place.parts.iter().map(|part| (*part, next.clone())));
        }
        held.insert(state, next);
    }
    held
}
