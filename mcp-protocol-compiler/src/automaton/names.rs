//! What each state is called.

use std::collections::{HashMap, HashSet};

use mcp_protocol_machine::protocol::{Direction, Origin, StateKind};

use super::raw::{Raw, RawState};
use crate::declarations::Resolution;

/// The name of a state and its aliases.
pub(super) struct StateNames {
    pub(super) name: String,
    pub(super) aliases: Vec<String>,
    /// The definition that names the state.
    pub(super) definition: Option<usize>,
}

/// Names all states; they are in order of appearance.
pub(super) fn name(raw: &Raw, resolution: &Resolution) -> Vec<StateNames> {
    let mut taken = Taken::default();
    let mut taken_in_bodies = Taken::default();
    let mut before: Vec<Option<&str>> = vec![None; raw.states.len()];
    for place in &raw.states {
        for edge in &place.edges {
            if let Some(slot) = before.get_mut(edge.target)
                && slot.is_none()
                && edge.origin == Origin::Written
            {
                *slot = Some(resolution.declarations.message_name(edge.message));
            }
        }
    }
    // What programs see of sub-sessions has names that nothing else in the role has.
    let seen = super::sub_sessions::named(raw, &resolution.declarations);
    let mut names = Vec::with_capacity(raw.states.len());
    // A definition's name goes to its state before any made-up name can take it.
    let given: Vec<Vec<usize>> = raw.states.iter().map(|place| definitions(place, resolution)).collect();
    for definitions in &given {
        if let Some(definition) = definitions.first().and_then(|index| resolution.definitions.get(*index)) {
            taken.names.insert(definition.name.text.clone());
        }
    }
    let mut used: HashSet<&str> = HashSet::new();
    for (state, place) in raw.states.iter().enumerate() {
        let definitions = given.get(state).map(Vec::as_slice).unwrap_or_default();
        let text = |index: &usize| resolution.definitions.get(*index).map(|found| found.name.text.as_str());
        let aliases = definitions.iter().skip(1).filter_map(text).map(str::to_owned).collect();
        let name = match definitions.first().and_then(text) {
            Some(name) if used.insert(name) => name.to_owned(),
            // The same definition with other parallel channels is another state.
            Some(name) => taken.numbered(name),
            None => {
                let hidden = place.in_body() && !seen.get(state).copied().unwrap_or_default();
                let previous = before.get(state).copied().flatten();
                let made = made_up(place, previous, resolution);
                if hidden { &mut taken_in_bodies } else { &mut taken }.numbered(&made)
            }
        };
        names.push(StateNames { name, aliases, definition: definitions.first().copied() });
    }
    names
}

/// The definitions that may name a state: not those of the roles, whose names are the session's.
fn definitions(place: &RawState, resolution: &Resolution) -> Vec<usize> {
    let mut seen: HashSet<&str> = HashSet::new();
    place
        .definitions
        .iter()
        .copied()
        .filter(|index| !is_role(*index, resolution))
        .filter(|index| {
            resolution.definitions.get(*index).is_some_and(|found| seen.insert(found.name.text.as_str()))
        })
        .collect()
}

/// Whether a definition is a role's own.
fn is_role(definition: usize, resolution: &Resolution) -> bool {
    resolution.definitions.get(definition).is_some_and(|found| resolution.is_role(&found.name.text))
}

fn made_up(place: &RawState, before: Option<&str>, resolution: &Resolution) -> String {
    if place.definitions.iter().any(|index| is_role(*index, resolution)) && !place.in_body() {
        return "Start".to_owned();
    }
    if place.kind == StateKind::End {
        return "End".to_owned();
    }
    let written = |direction: Direction| {
        place
            .edges
            .iter()
            .filter(move |edge| !edge.spawn && edge.origin == Origin::Written && edge.direction == direction)
            .map(|edge| resolution.declarations.message_name(edge.message))
    };
    let (mut received, mut sent) = (written(Direction::Receive), written(Direction::Send));
    match ((received.next(), received.next()), (sent.next(), sent.next()), before) {
        ((Some(only), None), (None, _), _) => format!("Awaiting{only}"),
        ((None, _), (Some(only), None), _) => format!("Before{only}"),
        (_, _, Some(before)) => format!("After{before}"),
        _ => "Start".to_owned(),
    }
}

/// Names that are given away, and how far the numbers behind each have come.
#[derive(Default)]
struct Taken {
    names: HashSet<String>,
    numbers: HashMap<String, usize>,
}

impl Taken {
    /// The name itself if it is free, else with the first number that makes it so.
    fn numbered(&mut self, name: &str) -> String {
        if !self.names.contains(name) {
            self.names.insert(name.to_owned());
            return name.to_owned();
        }
        let mut number = self.numbers.get(name).copied().unwrap_or(1);
        let free = loop {
            number += 1;
            let candidate = format!("{name}{number}");
            if self.names.insert(candidate.clone()) {
                break candidate;
            }
        };
        match self.numbers.get_mut(name) {
            Some(known) => *known = number,
            None => _ = self.numbers.insert(name.to_owned(), number),
        }
        free
    }
}
