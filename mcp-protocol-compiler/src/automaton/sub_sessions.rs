//! Sub-sessions: whether every later step of a `*` body finds its sub-session, and what their states are called.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mcp_protocol_machine::protocol::{Direction, KeyIndex, Kind, MessageIndex, StateIndex, StateKind};

use super::correlation::{self, StepAt};
use super::finding::{Finding, FindingKind};
use super::keys::{keys, needs_key};
use super::nesting::{Nesting, inner};
use super::open_keys;
use super::raw::{self, Raw, RawEdge, RawState, Step};
use super::state::SubSessionType;
use crate::declarations::{Declarations, Resolution};
use crate::reach::reachable;
use crate::source::Span;

/// Reports notifications that belong to a request, where they are written as steps. One that reports may have a place
/// among the steps: see [`mistakable`]. In a body it needs a key.
pub(super) fn no_steps(states: &[RawState], declarations: &Declarations, findings: &mut Vec<Finding>) {
    let mut seen: BTreeSet<Span> = BTreeSet::new();
    for (place, edge) in states.iter().flat_map(|place| place.edges.iter().map(move |edge| (place, edge))) {
        let Some(message) = declarations.message(edge.message) else { continue };
        let step = (edge.direction, edge.message);
        let what = match (&message.table.cancels, &message.table.reports) {
            (Some(_), _) => FindingKind::CancelAsStep(step),
            (None, Some(_))
                if !edge.spawn && place.in_body() && keys(declarations, edge.message).is_empty() =>
            {
                FindingKind::ReportAsStep(step)
            }
            (None, _) => continue,
        };
        if seen.insert(edge.span) {
            findings.push(what.at(edge.span));
        }
    }
}

/// Reports notifications that move a linear channel, or open a sub-session that goes on, and that their receiver could take
/// for reports on a request of its own: one with the same token, of which their sender has not heard. Within a
/// sub-session the values of that decide. The states are those of the minimal automaton, before there are refusals.
pub(super) fn mistakable(raw: &Raw, declarations: &Declarations, findings: &mut Vec<Finding>) {
    let mut seen: BTreeSet<Span> = BTreeSet::new();
    for (state, place) in raw.states.iter().enumerate() {
        for edge in &place.edges {
            let message = declarations.message(edge.message);
            let reports = message.is_some_and(|message| message.table.reports.is_some());
            let matters = match edge.spawn {
                true => goes_on(&raw.states, declarations, edge.target),
                false => edge.target != state && !place.in_body(),
            };
            if reports && matters && seen.insert(edge.span) {
                let step = (edge.direction, edge.message);
                findings.push(FindingKind::ReportAsStep(step).at(edge.span));
            }
        }
    }
}

/// Reports messages whose envelope is to have a value that no message before has brought. Returns where they stand.
pub(super) fn valueless(
    states: &[RawState],
    declarations: &Declarations,
    findings: &mut Vec<Finding>,
) -> BTreeSet<Span> {
    let mut seen: BTreeSet<Span> = BTreeSet::new();
    if !declarations.messages.iter().any(|message| message.table.has_member_keys()) {
        return seen;
    }
    let nesting = Nesting::new(states, declarations);
    let found: BTreeMap<(usize, Step), KeyIndex> = correlation::valueless(states, &nesting, declarations)
        .into_iter()
        .map(|(step, key)| ((step.state, step.action), key))
        .collect();
    for (state, place) in states.iter().enumerate() {
        for edge in &place.edges {
            let action = (edge.direction, edge.message);
            if let Some(key) = found.get(&(state, action)).copied()
                && seen.insert(edge.span)
            {
                let in_body = place.in_body();
                findings.push(FindingKind::MemberWithoutValue { action, key, in_body }.at(edge.span));
            }
        }
    }
    seen
}

/// Reports later steps that nothing ties to their sub-session, or that could be taken for another one's, bodies that
/// could end in silence, and refusals that have their meaning already.
///
/// All of this is judged by what can come before and after a step, so that an unfolded loop gets the verdict of the
/// folded one. What asks whether a step leads back to where it is waits for the minimal automaton: [`confused`]. Nothing more
/// is said of places that were `seen`.
pub(super) fn keyless(
    states: &[RawState],
    declarations: &Declarations,
    mut seen: BTreeSet<Span>,
    findings: &mut Vec<Finding>,
) {
    if !states.iter().any(|place| place.in_body()) {
        return;
    }
    let nesting = Nesting::new(states, declarations);
    let loose = correlation::loose(states, &nesting, declarations);
    let openers = openers(states);
    let outside = self::openers(states.iter().filter(|place| !place.in_body()));
    let unanswered = unanswered(states, declarations);
    let mut held = None;
    let mut opened = None;
    let mut not_open: BTreeSet<(Step, KeyIndex)> = BTreeSet::new();
    // The keyless steps of each sub-session, for one key mends all of them.
    let mut keyless: Vec<Keyless> = Vec::new();
    for (state, place) in states.iter().enumerate().filter(|(_, place)| place.in_body()) {
        if (place.may_close || place.peer_may_close) && seen.insert(place.span) {
            findings.push(FindingKind::BodyMayStop.at(place.span));
        }
        let own = place.edges.iter().filter(|edge| !edge.spawn);
        // What belongs to a sub-session within this one has to find this one first.
        for edge in own.clone().chain(inner(states, declarations, state)) {
            let action = (edge.direction, edge.message);
            if !loose.contains(&StepAt { state, action }) || !seen.insert(edge.span) {
                continue;
            }
            let held = held.get_or_insert_with(|| correlation::held(states, declarations)).get(&state);
            // Values of the sub-sessions around it tell none of these apart.
            let held =
                held.into_iter().flatten().filter(|key| nesting.around(state).all(|around| around != *key));
            let held: Vec<KeyIndex> = held.copied().collect();
            let opened = opened.get_or_insert_with(|| opened_by(states)).get(&state);
            let opener = opened.map(|opener| (opener.message, opener.span));
            let same = |other: &&mut Keyless| {
                (other.opener.map(|(_, at)| at), &other.held) == (opener.map(|(_, at)| at), &held)
            };
            match keyless.iter_mut().find(same) {
                Some(other) => other.steps.push((edge.span, action)),
                None => keyless.push(Keyless { opener, held, steps: vec![(edge.span, action)] }),
            }
        }
        for edge in own {
            let Some(message) = declarations.message(edge.message) else { continue };
            if let Kind::Refusal { request } = message.table.kind
                && place.owner.opener() == Some(request)
                && openers.contains_key(&(edge.direction.flip(), request))
                && unanswered.contains(&state)
                && seen.insert(edge.span)
            {
                let refusal = (edge.direction, edge.message);
                findings.push(FindingKind::RefusalEndsSubSession { refusal, request }.at(edge.span));
            }
            if !needs_key(message) || seen.contains(&edge.span) {
                continue;
            }
            let action = (edge.direction, edge.message);
            let open = nesting.is_open(declarations, state, edge.message);
            let over = || {
                nesting.is_inner(state)
                    || may_be_over(states, place, edge.direction, unanswered.contains(&state))
            };
            for first in openers.get(&action).into_iter().flatten() {
                let stands_alone = open_keys::stands_alone(states, declarations, first);
                let fine = if stands_alone { open } else { !over() };
                if !fine && seen.insert(edge.span) {
                    let key = keys(declarations, edge.message).first().copied();
                    let key = key.filter(|_| stands_alone);
                    // One open key mends all steps of the message.
                    if key.is_some_and(|key| !not_open.insert((action, key))) {
                        continue;
                    }
                    findings.push(FindingKind::StepOpensToo { action, first: first.span, key }.at(edge.span));
                }
            }
        }
        // What opens an instance in a sub-session comes without one only if its key is open, as a step does.
        for edge in place.edges.iter().filter(|edge| edge.spawn) {
            let action = (edge.direction, edge.message);
            let alone = outside.get(&action).into_iter().flatten();
            let alone = alone.copied().find(|first| open_keys::stands_alone(states, declarations, first));
            if let Some(first) = alone
                && let Some(key) = keys(declarations, edge.message).first().copied()
                && !nesting.is_open(declarations, state, edge.message)
                && seen.insert(edge.span)
                && not_open.insert((action, key))
            {
                let key = Some(key);
                findings.push(FindingKind::StepOpensToo { action, first: first.span, key }.at(edge.span));
            }
        }
    }
    for Keyless { opener, held, mut steps } in keyless {
        steps.sort_by_key(|(span, _)| *span);
        if let Some(((at, action), others)) = steps.split_first() {
            let others = others.to_vec();
            findings.push(FindingKind::KeylessSteps { action: *action, others, held, opener }.at(*at));
        }
    }
}

/// The steps of a sub-session that nothing ties to it.
struct Keyless {
    /// What opens it.
    opener: Option<(MessageIndex, Span)>,
    /// The keys that it has.
    held: Vec<KeyIndex>,
    steps: Vec<(Span, Step)>,
}

/// The first edge that opens a sub-session in which each state is.
fn opened_by(states: &[RawState]) -> HashMap<usize, &RawEdge> {
    let mut opened: HashMap<usize, &RawEdge> = HashMap::new();
    for spawn in starts(states) {
        let new = |state: &usize| !opened.contains_key(state);
        let start = Some(spawn.target).filter(new);
        let reached = reachable(start, |state| raw::after(states, state).filter(new));
        opened.extend(reached.into_iter().map(|state| (state, spawn)));
    }
    opened
}

/// The edges that open sub-sessions in some states, by what they say.
fn openers<'s>(
    states: impl IntoIterator<Item = &'s RawState>,
) -> BTreeMap<(Direction, MessageIndex), Vec<&'s RawEdge>> {
    let mut openers: BTreeMap<_, Vec<&RawEdge>> = BTreeMap::new();
    // A body that runs in many states has its edges in each of them.
    let mut seen = BTreeSet::new();
    for edge in states.into_iter().flat_map(|place| place.edges.iter().filter(|edge| edge.spawn)) {
        if seen.insert((edge.direction, edge.message, edge.target)) {
            openers.entry((edge.direction, edge.message)).or_default().push(edge);
        }
    }
    openers
}

/// Reports steps that a sub-session may take before their sender can know of the sub-session, and that move it: they
/// may be meant for a sub-session before it, or be uncorrelated. The states are those of the minimal automaton,
/// refusals included, so that a step moves exactly if it leads to another state.
pub(super) fn confused(raw: &Raw, declarations: &Declarations, findings: &mut Vec<Finding>) {
    if declarations.keys.is_empty() {
        return;
    }
    let states = &raw.states;
    let openers = openers(states);
    let late = [Direction::Send, Direction::Receive].map(|by| (by, late(states, &openers, declarations, by)));
    let fresh = correlation::Fresh::new(states, declarations);
    let nesting = Nesting::new(states, declarations);
    let mut seen: BTreeSet<Span> = BTreeSet::new();
    let starts: BTreeSet<(usize, Direction)> =
        openers.values().flatten().map(|edge| (edge.target, edge.direction)).collect();
    for (start, by) in starts {
        let late = late.iter().find(|(way, _)| *way == by).map(|(_, late)| late);
        for state in walk(states, [start], |edge| edge.direction == by) {
            let edges = states.get(state).map_or(&[][..], |place| &place.edges);
            let moves = |edge: &&RawEdge| {
                let moves = match edge.spawn {
                    // An exchange goes by itself; what goes on would go on in the wrong sub-session.
                    true => goes_on(states, declarations, edge.target),
                    false => edge.target != state,
                };
                edge.direction != by && moves
            };
            for edge in edges.iter().filter(moves) {
                if !declarations.message(edge.message).is_some_and(needs_key) {
                    continue;
                }
                // What opens a sub-session has to find the one around it, and may not be uncorrelated there.
                let place = if edge.spawn { edge.target } else { state };
                let open = nesting.is_open(declarations, place, edge.message);
                let late = late.is_some_and(|late| late.contains(&edge.message));
                let mistaken = open || late && !fresh.ties(edge.message, by);
                if mistaken && seen.insert(edge.span) {
                    let action = (edge.direction, edge.message);
                    findings.push(FindingKind::CouldBeAnother { action, open }.at(edge.span));
                }
            }
        }
    }
}

/// What one side may still be sending in a sub-session of any kind when the other has ended it, by a step or by
/// cancelling the request that opened it. `by` is the way of what ends the sub-session.
fn late(
    states: &[RawState],
    openers: &BTreeMap<(Direction, MessageIndex), Vec<&RawEdge>>,
    declarations: &Declarations,
    by: Direction,
) -> BTreeSet<MessageIndex> {
    let mut ended: BTreeSet<usize> = BTreeSet::new();
    let ends = |place: &RawState| {
        let mut steps = place.edges.iter().filter(|edge| edge.direction == by && !edge.spawn);
        steps.any(|edge| is_end(states, edge.target))
    };
    let all = walk(states, openers.values().flatten().map(|edge| edge.target), |_| true);
    ended.extend(all.into_iter().filter(|state| states.get(*state).is_some_and(ends)));
    let ends_by_cancel = declarations.ends_by_cancel().is_some();
    let is_cancelled = |opener: &RawEdge| {
        let message = declarations.message(opener.message);
        ends_by_cancel && opener.direction == by && message.is_some_and(|message| message.table.cancellable)
    };
    // What ends a sub-session ends those within it, whatever state they are in. That the next one of this kind begins with
    // an answer does not help: one of another kind may be opened with the same value, and without an answer.
    let mut anywhere: Vec<usize> = Vec::new();
    for opener in openers.values().flatten() {
        let body = walk(states, [opener.target], |_| true);
        let is_cancelled = is_cancelled(opener);
        anywhere.extend(is_cancelled.then_some(opener.target));
        if is_cancelled || body.iter().any(|state| ended.contains(state)) {
            let places = body.iter().filter_map(|state| states.get(*state));
            anywhere
                .extend(places.flat_map(|place| starts(std::slice::from_ref(place))).map(|edge| edge.target));
        }
    }
    let within = |state| {
        let place = states.get(state).map(std::slice::from_ref).unwrap_or_default();
        raw::after(states, state).chain(starts(place).map(|edge| edge.target))
    };
    ended.extend(reachable(anywhere, within));
    let on = walk(states, ended, |edge| edge.direction != by);
    let places = on.into_iter().filter_map(|state| states.get(state));
    // What opens a sub-session within is among them.
    let edges = places.flat_map(|place| place.edges.iter().filter(|edge| edge.direction != by));
    edges.map(|edge| edge.message).collect()
}

/// Whether a body has messages that have to find their sub-session, after the one that leads to a state.
fn goes_on(states: &[RawState], declarations: &Declarations, start: usize) -> bool {
    let body = walk(states, [start], |_| true);
    let mut edges = body.iter().filter_map(|state| states.get(*state)).flat_map(|place| &place.edges);
    edges.any(|edge| declarations.message(edge.message).is_some_and(needs_key))
}

fn is_end(states: &[RawState], state: usize) -> bool {
    states.get(state).is_some_and(|place| place.kind == StateKind::End)
}

/// The states that certain edges lead to from some, these included, and the channels that start there.
fn walk(
    states: &[RawState],
    starts: impl IntoIterator<Item = usize>,
    along: impl Fn(&RawEdge) -> bool,
) -> BTreeSet<usize> {
    let reached = reachable(starts, |state| {
        raw::steps(states, state)
            .filter(|edge| along(edge))
            .map(|edge| edge.target)
            .chain(raw::parts(states, state))
    });
    reached.into_iter().collect()
}

/// The states of sub-sessions in which the request that opened them has no reply yet.
fn unanswered(states: &[RawState], declarations: &Declarations) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    // A body that runs in many states has its edges in each of them.
    let mut seen = BTreeSet::new();
    for opener in states.iter().flat_map(|place| place.edges.iter().filter(|edge| edge.spawn)) {
        let message = declarations.message(opener.message);
        if !seen.insert((opener.direction, opener.message, opener.target)) {
            continue;
        }
        if message.is_none_or(|message| message.table.kind != Kind::Request) {
            continue;
        }
        let answers = |edge: &RawEdge| {
            let kind = declarations.message(edge.message).map(|message| message.table.kind);
            edge.direction != opener.direction
                && matches!(kind, Some(Kind::Reply { request } | Kind::Refusal { request })
                    if request == opener.message)
        };
        found.extend(walk(states, [opener.target], |edge| !answers(edge)));
    }
    found
}

/// Whether a sub-session may be over by a message of the other side while a message is on its way to a state: what goes
/// on with the sub-session here would open one there. The refusal of what opened it ends it as long as it has no reply.
fn may_be_over(states: &[RawState], place: &RawState, direction: Direction, unanswered: bool) -> bool {
    let mut others = place.edges.iter().filter(|edge| edge.direction != direction && !edge.spawn);
    unanswered || others.any(|edge| is_end(states, edge.target))
}

/// The states of a body that is longer than a request and its reply; nothing if it is not.
fn life(raw: &Raw, declarations: &Declarations, start: usize) -> Option<BTreeSet<usize>> {
    let mut states = walk(&raw.states, [start], |_| true);
    states.retain(|state| !is_end(&raw.states, *state));
    let own = |message: MessageIndex| {
        declarations
            .message(message)
            .is_some_and(|message| matches!(message.table.kind, Kind::Request | Kind::Notification))
    };
    let mut edges = states.iter().filter_map(|state| raw.states.get(*state)).flat_map(|place| &place.edges);
    edges.any(|edge| own(edge.message)).then_some(states)
}

/// Whether each state is one of a sub-session, and so has a name that programs see.
pub(super) fn named(raw: &Raw, declarations: &Declarations) -> Vec<bool> {
    let mut named = vec![false; raw.states.len()];
    let starts: BTreeSet<usize> = starts(&raw.states).map(|edge| edge.target).collect();
    for state in starts.into_iter().filter_map(|start| life(raw, declarations, start)).flatten() {
        if let Some(slot) = named.get_mut(state) {
            *slot = true;
        }
    }
    named
}

/// The edges that open sub-sessions, in each state that has them.
fn starts(states: &[RawState]) -> impl Iterator<Item = &RawEdge> + Clone {
    states.iter().flat_map(|place| place.edges.iter().filter(|edge| edge.spawn))
}

/// The session types of sub-sessions, in order of appearance. A body without a name has none.
pub(super) fn types(raw: &Raw, resolution: &Resolution) -> Vec<SubSessionType> {
    let mut found: Vec<SubSessionType> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    // A body that runs in many states is one edge in each of them.
    let mut seen: BTreeSet<(usize, usize)> = BTreeSet::new();
    for edge in starts(&raw.states) {
        let Some(definition) = edge
            .sub_session
            .filter(|index| seen.insert((*index, edge.target)))
            .and_then(|index| resolution.definitions.get(index))
        else {
            continue;
        };
        let start = StateIndex(u32::try_from(edge.target).unwrap_or(u32::MAX));
        let known = places.get(definition.name.text.as_str()).and_then(|place| found.get_mut(*place));
        if let Some(known) = known {
            if !known.starts.contains(&start) && life(raw, &resolution.declarations, edge.target).is_some() {
                known.starts.push(start);
            }
            continue;
        }
        if life(raw, &resolution.declarations, edge.target).is_none() {
            continue;
        }
        places.insert(&definition.name.text, found.len());
        found.push(SubSessionType {
            name: definition.name.text.clone(),
            span: definition.span,
            documentation: definition.documentation.clone(),
            starts: vec![start],
        });
    }
    found
}
