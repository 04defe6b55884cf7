//! The automaton as later stages see it: its states in order of appearance, with what the text says of them.

use mcp_protocol_machine::protocol::{Action, Level, StateIndex};

use super::names::StateNames;
use super::raw::{Raw, RawState, reaches_end};
use super::state::{Automaton, Edge, State};
use super::sub_sessions;
use crate::declarations::{Definition, Resolution, Role};

/// Renumbers the states in order of appearance, those of `*` bodies last, and leaves out what cannot be reached.
pub(super) fn in_order(mut raw: Raw) -> Raw {
    let mut numbers: Vec<Option<usize>> = vec![None; raw.states.len()];
    let mut order: Vec<usize> = Vec::new();
    let mut bodies: Vec<usize> = Vec::new();
    let mut waiting = vec![raw.start];
    loop {
        while let Some(state) = waiting.pop() {
            let Some(number) = numbers.get_mut(state).filter(|number| number.is_none()) else { continue };
            let Some(place) = raw.states.get(state) else { continue };
            *number = Some(order.len());
            order.push(state);
            bodies.extend(place.edges.iter().filter(|edge| edge.spawn).map(|edge| edge.target));
            let steps = place.edges.iter().filter(|edge| !edge.spawn).map(|edge| edge.target);
            let first = waiting.len();
            waiting.extend(place.parts.iter().copied().chain(steps));
            waiting.get_mut(first..).unwrap_or_default().reverse();
        }
        if bodies.is_empty() {
            break;
        }
        waiting = std::mem::take(&mut bodies);
        waiting.reverse();
    }
    let number = |state: usize| numbers.get(state).copied().flatten().unwrap_or_default();
    let mut states = Vec::with_capacity(order.len());
    for state in order {
        let Some(place) = raw.states.get_mut(state) else { continue };
        let mut place = place.take();
        place.edges.iter_mut().for_each(|edge| edge.target = number(edge.target));
        place.parts.iter_mut().for_each(|part| *part = number(*part));
        states.push(place);
    }
    Raw { states, start: 0 }
}

/// The automaton of a role, from its states in order.
pub(super) fn finish(raw: &Raw, names: Vec<StateNames>, resolution: &Resolution, role: &Role) -> Automaton {
    let reaches_end = reaches_end(&raw.states);
    let states = raw
        .states
        .iter()
        .zip(names)
        .enumerate()
        .map(|(number, (place, names))| {
            let definition = names.definition.and_then(|index| resolution.definitions.get(index));
            State {
                name: names.name,
                named: definition.is_some(),
                aliases: names.aliases,
                kind: place.kind,
                edges: edges(place),
                parts: place.parts.iter().map(|part| index(*part)).collect(),
                may_close: place.may_close,
                peer_may_close: place.peer_may_close,
                end: place.end,
                reaches_end: reaches_end.get(number).copied().unwrap_or_default(),
                only: place.only,
                outward: place.outward.clone().unwrap_or(Level::MUST),
                inward: place.inward.clone().unwrap_or(Level::MUST),
                body: place.in_body(),
                span: definition.map_or(place.span, |definition| definition.span),
                documentation: definition.map(|found| found.documentation.clone()).unwrap_or_default(),
            }
        })
        .collect();
    let definition = resolution.definitions.iter().find(|found| found.name.text == role.name.text);
    Automaton {
        side: role.side,
        name: role.name.text.clone(),
        span: role.name.span,
        documentation: definition.map(|found| found.documentation.clone()).unwrap_or_default(),
        inline: definition.is_some_and(|found| {
            found.span.file == role.name.span.file
                && (found.span.start..found.span.end).contains(&role.name.span.start)
        }),
        derived: definition.and_then(Definition::dual_of).is_some(),
        states,
        sub_sessions: sub_sessions::types(raw, resolution),
    }
}

/// The index of a state; there are fewer states than it can count.
fn index(state: usize) -> StateIndex {
    StateIndex(u32::try_from(state).unwrap_or(u32::MAX))
}

fn edges(place: &RawState) -> Vec<Edge> {
    place
        .edges
        .iter()
        .map(|edge| Edge {
            direction: edge.direction,
            message: edge.message,
            action: match edge.spawn {
                true => Action::Spawn(index(edge.target)),
                false => Action::Step(index(edge.target)),
            },
            origin: edge.origin,
            cancels: edge.cancels,
            span: edge.span,
            level: edge.level.clone(),
        })
        .collect()
}
