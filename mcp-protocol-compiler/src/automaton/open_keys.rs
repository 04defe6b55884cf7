//! Steps of sub-sessions that may be uncorrelated: `open key`.

use std::collections::{BTreeMap, BTreeSet};

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, Origin, StateKind};

use super::nesting::Nesting;
use super::raw::{RawEdge, RawState, end_of_sub_sessions};
use crate::declarations::Declarations;
use crate::hash::Set;
use crate::source::Span;

/// Whether an edge opens a sub-session in which nothing comes but, if it is a request, its reply.
pub(super) fn stands_alone(states: &[RawState], declarations: &Declarations, edge: &RawEdge) -> bool {
    let ends = |state: usize| states.get(state).is_some_and(|place| place.kind == StateKind::End);
    let replies = |state: usize| {
        states.get(state).filter(|place| place.kind == StateKind::Linear).is_some_and(|place| {
            place.edges.iter().all(|edge| {
                let kind = declarations.message(edge.message).map(|message| message.table.kind);
                ends(edge.target) && matches!(kind, Some(Kind::Reply { .. } | Kind::Refusal { .. }))
            })
        })
    };
    edge.spawn && (ends(edge.target) || replies(edge.target))
}

/// Adds, wherever sub-sessions can be opened, an edge for each of their steps that may be uncorrelated.
pub(super) fn add(states: &mut Vec<RawState>, declarations: &Declarations) {
    let mut carried = declarations.messages.iter().flat_map(|message| message.table.keys.iter());
    if !carried.any(|carried| declarations.is_open(carried)) {
        return;
    }
    let nesting = Nesting::new(states, declarations);
    let opens: BTreeSet<(Direction, MessageIndex)> = states
        .iter()
        .flat_map(|place| place.edges.iter().filter(|edge| edge.spawn))
        .map(|edge| (edge.direction, edge.message))
        .collect();
    let mut steps: BTreeMap<usize, Vec<RawEdge>> = BTreeMap::new();
    let mut targets: BTreeMap<(Direction, MessageIndex), usize> = BTreeMap::new();
    let mut over = end_of_sub_sessions(states);
    for state in 0..states.len() {
        let starts: Vec<usize> = states.get(state).map_or_else(Vec::new, |place| {
            place.edges.iter().filter(|edge| edge.spawn).map(|edge| edge.target).collect()
        });
        let mut added: Vec<RawEdge> = Vec::new();
        let mut known_here: Set<(Direction, MessageIndex)> = Set::default();
        for start in starts {
            let known = match steps.remove(&start) {
                Some(known) => known,
                None => open_steps(states, &nesting, declarations, start)
                    .into_iter()
                    .filter(|(action, _)| !opens.contains(action))
                    .map(|((direction, message), span)| {
                        // Both sides may have a step: the side that receives it answers it.
                        let target = *targets.entry((direction, message)).or_insert_with(|| {
                            body(states, declarations, (direction, message), span, &mut over)
                        });
                        edge(direction, message, target, true, span)
                    })
                    .collect(),
            };
            for step in &known {
                let suspended = states.get(state).is_some_and(|place| place.only.suspends(step.direction));
                if !suspended && known_here.insert((step.direction, step.message)) {
                    added.push(step.clone());
                }
            }
            steps.insert(start, known);
        }
        if let Some(place) = states.get_mut(state) {
            place.edges.append(&mut added);
        }
    }
}

/// The later steps of the sub-sessions that start in a state, as far as their key is open, in order of appearance.
fn open_steps(
    states: &[RawState],
    nesting: &Nesting,
    declarations: &Declarations,
    start: usize,
) -> Vec<((Direction, MessageIndex), Span)> {
    let mut found: Vec<((Direction, MessageIndex), Span)> = Vec::new();
    let mut known: Set<(Direction, MessageIndex)> = Set::default();
    let mut reached: Set<usize> = Set::from_iter([start]);
    let mut seen = vec![start];
    let mut next = 0;
    while let Some((state, place)) = seen.get(next).and_then(|state| Some((*state, states.get(*state)?))) {
        next += 1;
        for edge in place.edges.iter().filter(|edge| !edge.spawn) {
            let action = (edge.direction, edge.message);
            let kind = declarations.message(edge.message).map(|message| message.table.kind);
            if matches!(kind, Some(Kind::Request | Kind::Notification))
                && nesting.is_open(declarations, state, edge.message)
                && known.insert(action)
            {
                found.push((action, edge.span));
            }
            if reached.insert(edge.target) {
                seen.push(edge.target);
            }
        }
        seen.extend(place.parts.iter().copied().filter(|part| reached.insert(*part)));
    }
    found.sort_by_key(|(_, span)| *span);
    found
}

/// What an uncorrelated step opens: nothing, or the wait for one of its replies.
fn body(
    states: &mut Vec<RawState>,
    declarations: &Declarations,
    (direction, message): (Direction, MessageIndex),
    span: Span,
    over: &mut Option<usize>,
) -> usize {
    let over = *over.get_or_insert_with(|| push(states, StateKind::End, None, Vec::new(), span));
    let kind = declarations.message(message).map(|message| message.table.kind);
    if kind != Some(Kind::Request) {
        return over;
    }
    let replies = declarations.replies(message);
    let edges = replies.map(|reply| edge(direction.flip(), reply, over, false, span)).collect();
    push(states, StateKind::Linear, Some(message), edges, span)
}

fn push(
    states: &mut Vec<RawState>,
    kind: StateKind,
    request: Option<MessageIndex>,
    edges: Vec<RawEdge>,
    span: Span,
) -> usize {
    states.push(RawState::of_sub_session(kind, request, edges, span));
    states.len() - 1
}

fn edge(direction: Direction, message: MessageIndex, target: usize, spawn: bool, span: Span) -> RawEdge {
    RawEdge {
        direction,
        message,
        target,
        spawn,
        sub_session: None,
        origin: Origin::Written,
        cancels: None,
        span,
        level: None,
    }
}
