//! Replies that may come: whoever awaits the reply of a request awaits each of its alternatives somewhere.
//!
//! In: the explored states, with the requests that are open in each. Out: a diagnostic for each request with an
//! alternative that no state accepts on any way from there. Refuses to judge whoever replies: which alternative it
//! chooses is its own affair, and the relation between the roles is judged elsewhere.

use std::collections::{BTreeSet, HashMap, HashSet};

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex};

use super::open::{OpenSet, OpenSets};
use super::raw::RawState;
use crate::declarations::Declarations;
use crate::diagnostic::Diagnostic;
use crate::findings::replies;
use crate::source::Span;

/// Finds alternatives that are not accepted.
pub(super) fn missing(
    states: &[RawState],
    open: (&[OpenSet], &OpenSets),
    declarations: &Declarations,
) -> Vec<Diagnostic> {
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
        let (Some(first), Some(at)) = (missing.first(), at) else { continue };
        if reported.insert((edge.message, at)) {
            let names = |messages: &[MessageIndex]| -> Vec<String> {
                messages.iter().map(|message| declarations.message_name(*message).to_owned()).collect()
            };
            found.push(replies::not_accepted(
                declarations.message_name(edge.message),
                &names(&missing),
                &names(&accepted),
                at,
                declarations.message(*first).map(|message| message.span).unwrap_or_default(),
            ));
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
    let mut accepted = BTreeSet::new();
    let mut at = None;
    let mut seen = HashSet::from([from]);
    let mut waiting = vec![from];
    while let Some(state) = waiting.pop() {
        let still = here.get(state).is_some_and(|here| sets.contains(*here, (Direction::Send, request)));
        let Some(place) = states.get(state).filter(|_| still) else { continue };
        for edge in place.edges.iter().filter(|edge| !edge.spawn) {
            if edge.direction == Direction::Receive && all.contains(&edge.message) {
                at = Some(at.map_or(edge.span, |first: Span| first.min(edge.span)));
                accepted.insert(edge.message);
            } else if seen.insert(edge.target) {
                waiting.push(edge.target);
            }
        }
    }
    (accepted.into_iter().collect(), at)
}
