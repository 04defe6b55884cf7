//! Which keys belong to the bodies around a body, and which messages of the bodies within it have to find it.
//!
//! A message of an inner sub-session finds the outer one by the outer one's keys, and then its own by the others. So a key
//! that a message of an outer body carries tells inner sub-sessions apart nowhere.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use mcp_protocol_machine::protocol::{KeyIndex, MessageIndex};

use super::keys::{keys, needs_key};
use super::raw::{RawEdge, RawState, after, steps};
use crate::declarations::Declarations;
use crate::reach::reachable;

/// The bodies of a role, each within others.
#[derive(Default)]
pub(super) struct Nesting {
    /// The keys of the bodies around each state of a body.
    around: BTreeMap<usize, BTreeSet<KeyIndex>>,
    /// The states of bodies that stand in another one.
    inner: BTreeSet<usize>,
}

impl Nesting {
    pub(super) fn new(states: &[RawState], declarations: &Declarations) -> Nesting {
        let mut nesting = Nesting::default();
        let session = states.iter().filter(|place| !place.in_body());
        let mut waiting: Vec<(&RawEdge, bool, BTreeSet<KeyIndex>)> =
            session.flat_map(openers_in).map(|opener| (opener, false, BTreeSet::new())).collect();
        let mut seen = HashSet::new();
        while let Some((opener, is_inner, around)) = waiting.pop() {
            if !seen.insert((opener.message, opener.target, is_inner, around.clone())) {
                continue;
            }
            let body: Vec<usize> =
                reachable([opener.target], |state| after(states, state)).into_iter().collect();
            let later = body.iter().flat_map(|state| steps(states, *state)).map(|edge| edge.message);
            let mut within = around.clone();
            for message in std::iter::once(opener.message).chain(later) {
                within.extend(keys(declarations, message));
            }
            nesting.inner.extend(body.iter().filter(|_| is_inner));
            for state in &body {
                nesting.around.entry(*state).or_default().extend(&around);
                let inner = states.get(*state).into_iter().flat_map(openers_in);
                waiting.extend(inner.map(|opener| (opener, true, within.clone())));
            }
        }
        nesting
    }

    /// Whether a state belongs to a body that stands in another one.
    pub(super) fn is_inner(&self, state: usize) -> bool {
        self.inner.contains(&state)
    }

    /// Whether a message may be uncorrelated in the body that a state belongs to: it carries an open key that no body around
    /// this one has.
    pub(super) fn is_open(&self, declarations: &Declarations, state: usize, message: MessageIndex) -> bool {
        let is_own = |key: KeyIndex| self.around(state).all(|around| *around != key);
        let carried = declarations.message(message).map(|message| &*message.table.keys).unwrap_or_default();
        carried.iter().any(|carried| is_own(carried.key) && declarations.is_open(carried))
    }

    /// The keys of the bodies around the one that a state belongs to.
    pub(super) fn around(&self, state: usize) -> impl Iterator<Item = &KeyIndex> {
        self.around.get(&state).into_iter().flatten()
    }
}

fn openers_in(place: &RawState) -> impl Iterator<Item = &RawEdge> {
    place.edges.iter().filter(|edge| edge.spawn)
}

/// What has to find the sub-session that is in a state, besides its steps: what opens sub-sessions within it, and what
/// these go on with, in the bodies within these, too.
pub(super) fn inner<'a>(
    states: &'a [RawState],
    declarations: &Declarations,
    state: usize,
) -> Vec<&'a RawEdge> {
    let openers = |state: usize| states.get(state).into_iter().flat_map(openers_in);
    let mut found: Vec<&RawEdge> = openers(state).collect();
    let inside = |state: usize| after(states, state).chain(openers(state).map(|edge| edge.target));
    let bodies = reachable(found.iter().map(|edge| edge.target), inside);
    found.extend(bodies.into_iter().filter_map(|state| states.get(state)).flat_map(|place| &place.edges));
    found.retain(|edge| declarations.message(edge.message).is_some_and(needs_key));
    found
}
