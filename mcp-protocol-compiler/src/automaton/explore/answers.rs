//! Whether every open request has a reply ahead.

use mcp_protocol_machine::protocol::Kind;

use super::Explorer;
use crate::automaton::finding::FindingKind;
use crate::automaton::open::OpenSet;
use crate::automaton::raw::{Step, reaches_end};
use crate::components::components;
use crate::diagnostic::limit::LIMIT;

impl Explorer<'_> {
    /// Every open request must have a reply ahead, on every way.
    pub(super) fn unanswered(&mut self) {
        if self.open.iter().all(|open| open.is_empty()) {
            return;
        }
        let ahead = self.answers_ahead();
        let replied = ahead.iter().fold(OpenSet::EMPTY, |all, set| self.open_sets.union(all, *set));
        let mut reported = OpenSet::EMPTY;
        let mut ending = None;
        let mut found = Vec::new();
        for state in 0..self.states.len() {
            let open = self.open.get(state).copied().unwrap_or_default();
            let answered = ahead.get(state).copied().unwrap_or_default();
            let unanswered = self.open_sets.minus(open, answered);
            let unanswered = self.open_sets.minus(unanswered, reported);
            if unanswered.is_empty() || found.len() >= LIMIT {
                continue;
            }
            let ending = ending.get_or_insert_with(|| reaches_end(&self.states));
            let ends = ending.get(state).copied().unwrap_or_default();
            let Some(span) = self.states.get(state).map(|place| place.span) else { continue };
            for request in self.open_sets.requests(unanswered).take(LIMIT).collect::<Vec<_>>() {
                if self.open_sets.contains(reported, request) {
                    continue;
                }
                reported = self.open_sets.with(reported, request);
                let (direction, message) = request;
                let other_way = (direction.flip(), message);
                let crossed = self.open_sets.contains(open, other_way) || self.has(state, other_way);
                // That a request has no reply at all is a finding of its declaration.
                if self.resolution.declarations.replies(message).next().is_none() {
                    continue;
                }
                // A request in the other direction, where its reply was meant, is not a second mistake.
                if crossed {
                    reported = self.open_sets.with(reported, other_way);
                }
                let elsewhere = self.open_sets.contains(replied, request);
                let opened = self.opener(Some(state), request);
                found.push(FindingKind::NeverAnswered { request, ends, elsewhere, crossed, opened }.at(span));
            }
        }
        self.findings.append(&mut found);
    }

    /// Whether a state has an action.
    fn has(&self, state: usize, (direction, message): Step) -> bool {
        let edges = self.states.get(state).map(|place| place.edges.as_slice()).unwrap_or_default();
        edges.iter().any(|edge| (edge.direction, edge.message) == (direction, message))
    }

    /// The requests that are answered on some way from each state on. As a request stays open until it is answered,
    /// that is all there is to know, and it is the same for states that lead to one another.
    fn answers_ahead(&mut self) -> Vec<OpenSet> {
        let steps = |state: usize| {
            let edges = self.states.get(state).map(|place| place.edges.as_slice()).unwrap_or_default();
            edges.iter().filter(|edge| !edge.spawn)
        };
        let component_of = components(self.states.len(), |state| steps(state).map(|edge| edge.target));
        let mut order: Vec<usize> = (0..component_of.len()).collect();
        order.sort_by_key(|state| component_of.get(*state).copied());
        let mut ahead = vec![OpenSet::EMPTY; component_of.len()];
        let of = |ahead: &[OpenSet], state: usize| {
            component_of.get(state).and_then(|component| ahead.get(*component)).copied().unwrap_or_default()
        };
        // What a component leads to comes before it.
        for state in order {
            let mut here = of(&ahead, state);
            for edge in steps(state) {
                here = self.open_sets.union(here, of(&ahead, edge.target));
                let kind =
                    self.resolution.declarations.message(edge.message).map(|message| message.table.kind);
                if let Some(Kind::Reply { request } | Kind::Refusal { request }) = kind {
                    here = self.open_sets.with(here, (edge.direction.flip(), request));
                }
            }
            if let Some(slot) = component_of.get(state).and_then(|component| ahead.get_mut(*component)) {
                *slot = here;
            }
        }
        (0..component_of.len()).map(|state| of(&ahead, state)).collect()
    }
}
