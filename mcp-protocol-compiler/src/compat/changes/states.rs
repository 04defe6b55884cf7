//! What each role may do in each of its states, and what of it has changed.

use std::collections::{BTreeMap, BTreeSet};

use mcp_protocol_machine::protocol::{Action, Direction, MessageIndex, Only, Origin, Side, StateKind};

use super::super::found::{Break, Rule, declared, words};
use super::super::version::Version;
use super::super::wire::Wire;
use super::change::{About, Changes, Part};
use crate::automaton::{Automaton, Edge, State};
use crate::source::Span;

pub(super) fn compare(
    changes: &mut Changes<'_>,
    (old, new): (&Version<'_>, &Version<'_>),
    side: Side,
    wire: &Wire,
) {
    let word = side.word();
    let (Some(before), Some(after)) = (old.role(side), new.role(side)) else {
        let (one, other) = (old.role(side).map(|role| role.span), new.role(side).map(|role| role.span));
        let text = match (one, other) {
            (Some(_), None) => "removed",
            (None, Some(_)) => "added",
            _ => return,
        };
        changes.add((Part::State, word), text.to_owned(), (one, other), &About::default());
        return;
    };
    let (of_before, of_after) = (states(before), states(after));
    for (name, state) in &of_before {
        let id = format!("{word} `{name}`");
        match of_after.get(name) {
            None => changes.add(
                (Part::State, &id),
                "removed".to_owned(),
                (Some(state.span), None),
                &About::default(),
            ),
            Some(now) => {
                let places = (Some(state.span), Some(now.span));
                compare_state(changes, &id, ((old, before, state), (new, after, now)), places, wire);
            }
        }
    }
    for (name, state) in of_after.iter().filter(|(name, _)| !of_before.contains_key(*name)) {
        let id = format!("{word} `{name}`");
        let places = (None, Some(state.span));
        changes.add((Part::State, &id), "added".to_owned(), places, &About::default());
    }
}

/// The states that definitions name, and the start. Others have no name that their author chose.
fn states(role: &Automaton) -> BTreeMap<&str, &State> {
    let known = role.states.iter().enumerate();
    let known = known.filter(|(place, state)| state.named || (*place == 0 && state.kind != StateKind::End));
    known.map(|(_, state)| (state.name.as_str(), state)).collect()
}

/// A file, a role of it, and one of the role's states.
type At<'a> = (&'a Version<'a>, &'a Automaton, &'a State);

fn compare_state(
    changes: &mut Changes<'_>,
    id: &str,
    (before, after): (At<'_>, At<'_>),
    places: (Option<Span>, Option<Span>),
    wire: &Wire,
) {
    let (of_before, of_after) = (edges(before, wire), edges(after, wire));
    let is_order = |found: &Break| matches!(found.rule, Rule::Message | Rule::Order);
    let verb = |direction: Direction| match direction {
        Direction::Send => "send",
        Direction::Receive => "receive",
    };
    let lists = [(after.0, &of_after, &of_before, ALSO), (before.0, &of_before, &of_after, "may no longer")];
    for (version, these, those, what) in lists {
        for ((direction, _), edge) in these.iter().filter(|(key, _)| !those.contains_key(*key)) {
            let text = format!("{what} {} {}", verb(*direction), words(version, edge.message));
            let span = declared(version, edge.message);
            // What a role accepts in addition, or does not send any more, surprises no peer.
            let surprises = (*direction == Direction::Send) == (what == ALSO);
            let spans = if surprises { vec![span] } else { Vec::new() };
            let about = About { spans, counts: Some(&is_order), side: Some(before.1.side) };
            changes.add((Part::State, id), text, places, &about);
        }
    }
    for (key, edge) in &of_before {
        let Some(now) = of_after.get(key) else { continue };
        let (was, is) = (target(before.1, edge), target(after.1, now));
        if let (Some(was), Some(is)) = (was, is)
            && was != is
        {
            let text = format!("{} leads to {is}, no longer to {was}", words(after.0, now.message));
            let spans = vec![declared(before.0, edge.message), declared(after.0, now.message)];
            changes.add(
                (Part::State, id),
                text,
                places,
                &About { spans, counts: Some(&is_order), side: None },
            );
        }
    }
    let rights = |state: &State| (state.may_close, state.peer_may_close);
    if rights(before.2) != rights(after.2) {
        let text = format!("{}, no longer {}", closing(after.2), closing(before.2));
        changes.add((Part::State, id), text, places, &About::default());
    }
    if before.2.only != after.2.only {
        let text = match after.2.only == Only::NONE {
            true => "sub-sessions go on here again",
            false => "sub-sessions are suspended in other directions",
        };
        changes.add((Part::State, id), text.to_owned(), places, &About::default());
    }
}

fn closing(state: &State) -> &'static str {
    match (state.may_close, state.peer_may_close) {
        (true, true) => "both sides may close here",
        (true, false) => "this side may close here",
        (false, true) => "the peer may close here",
        (false, false) => "neither side may close here",
    }
}

/// How a message is introduced that the state did not have.
const ALSO: &str = "may also";

/// What may happen in a state, with what runs side by side with it, by the messages as both files number them. Refusals
/// are not changes of their own.
fn edges<'a>((version, role, state): At<'a>, wire: &Wire) -> BTreeMap<(Direction, MessageIndex), &'a Edge> {
    let (mut open, mut seen, mut found) = (vec![state], BTreeSet::new(), BTreeMap::new());
    while let Some(state) = open.pop() {
        for edge in state.edges.iter().filter(|edge| edge.origin == Origin::Written) {
            if let Some(number) = wire.common(version.age, edge.message) {
                found.entry((edge.direction, number)).or_insert(edge);
            }
        }
        if state.kind == StateKind::Fork {
            for part in &state.parts {
                let place = usize::try_from(part.0).unwrap_or(usize::MAX);
                if seen.insert(place) {
                    open.extend(role.states.get(place));
                }
            }
        }
    }
    found
}

/// The state that a step leads to, if its author has named it.
fn target(role: &Automaton, edge: &Edge) -> Option<String> {
    let Action::Step(target) = edge.action else { return None };
    let state = role.states.get(usize::try_from(target.0).unwrap_or(usize::MAX))?;
    match state.kind {
        StateKind::End => Some("`End`".to_owned()),
        _ => state.named.then(|| format!("`{}`", state.name)),
    }
}
