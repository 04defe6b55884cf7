//! Replies that may come: a role that awaits the reply of a request awaits each of its alternatives somewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex};

use super::finding::{Finding, FindingKind};
use super::open::{OpenSet, OpenSets};
use super::raw::{RawEdge, RawState, Step};
use crate::declarations::Declarations;
use crate::reach::reachable;
use crate::source::Span;

/// Finds alternatives that are not accepted.
pub(super) fn missing(
    states: &[RawState],
    open: (&[OpenSet], &OpenSets),
    declarations: &Declarations,
) -> Vec<Finding> {
    // Most protocols have no request with several replies, and then nothing is walked.
    let replies: HashMap<MessageIndex, Vec<MessageIndex>> = declarations
        .indices()
        .filter(|index| {
            declarations.message(*index).is_some_and(|message| message.table.kind == Kind::Request)
        })
        .map(|request| (request, declarations.replies(request).collect::<Vec<_>>()))
        .filter(|(_, replies)| replies.len() > 1)
        .collect();
    let mut found = Vec::new();
    let mut walked: HashSet<(MessageIndex, usize)> = HashSet::new();
    let mut reported: BTreeSet<(MessageIndex, Span)> = BTreeSet::new();
    let asked = states.iter().flat_map(|state| &state.edges).filter(|edge| edge.direction == Direction::Send);
    for edge in asked.filter(|_| !replies.is_empty()) {
        let Some(all) = replies.get(&edge.message) else { continue };
        if !walked.insert((edge.message, edge.target)) {
            continue;
        }
        let (accepted, at) = accepted(states, open, edge.message, edge.target, all);
        let missing: Vec<MessageIndex> =
            all.iter().copied().filter(|reply| accepted.binary_search(reply).is_err()).collect();
        // A request that nothing answers has its finding already.
        let Some(at) = at.filter(|_| !missing.is_empty()) else { continue };
        if reported.insert((edge.message, at)) {
            found.push(FindingKind::NotAccepted { request: edge.message, missing, accepted }.at(at));
        }
    }
    found
}

/// The replies that are accepted on some way from a state, as long as the request is open, and a place of one.
fn accepted(
    states: &[RawState],
    open: (&[OpenSet], &OpenSets),
    request: MessageIndex,
    from: usize,
    all: &[MessageIndex],
) -> (Vec<MessageIndex>, Option<Span>) {
    let (here, sets) = open;
    let all: HashSet<MessageIndex> = all.iter().copied().collect();
    let waits =
        |state: &usize| here.get(*state).is_some_and(|here| sets.contains(*here, (Direction::Send, request)));
    let steps = |state: usize| {
        let places = states.get(state).into_iter().filter(move |_| waits(&state));
        places.flat_map(|place| place.edges.iter().filter(|edge| !edge.spawn))
    };
    let answers = |edge: &&RawEdge| edge.direction == Direction::Receive && all.contains(&edge.message);
    let reached =
        reachable([from], |state| steps(state).filter(|edge| !answers(edge)).map(|edge| edge.target));
    let answers: Vec<&RawEdge> = reached.into_iter().flat_map(steps).filter(answers).collect();
    let accepted: BTreeSet<MessageIndex> = answers.iter().map(|edge| edge.message).collect();
    (accepted.into_iter().collect(), answers.iter().map(|edge| edge.span).min())
}

/// A request that is answered in a state: the first edge with its reply, and whether its refusal is written.
#[derive(Clone, Copy, Default)]
pub(super) struct Answered {
    pub(super) reply: Option<Span>,
    pub(super) refused: bool,
}

/// The requests that are answered in a state, in order.
pub(super) fn answered(edges: &[RawEdge], declarations: &Declarations) -> BTreeMap<Step, Answered> {
    let mut answered: BTreeMap<Step, Answered> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| !edge.spawn) {
        match declarations.message(edge.message).map(|message| message.table.kind) {
            Some(Kind::Reply { request }) => {
                let found = answered.entry((edge.direction.flip(), request)).or_default();
                found.reply = found.reply.or(Some(edge.span));
            }
            Some(Kind::Refusal { request }) => {
                answered.entry((edge.direction.flip(), request)).or_default().refused = true;
            }
            _ => {}
        }
    }
    answered
}
