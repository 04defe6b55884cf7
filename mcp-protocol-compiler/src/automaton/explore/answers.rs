//! Whether every open request has a reply ahead.
//!
//! In: the states that were explored, with the requests open in each. Out: a finding for each request that nothing
//! answers. Refuses nothing else.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Kind, StateKind};

use super::Explorer;
use crate::automaton::raw::Open;
use crate::checks::replies;
use crate::hash::Map;

impl Explorer<'_> {
    /// Every open request must have a reply ahead, on every way.
    pub(super) fn unanswered(&mut self) {
        let declarations = &self.resolution.declarations;
        let mut answered: BTreeSet<(usize, Open)> = BTreeSet::new();
        let mut backwards: Map<usize, Vec<usize>> = Map::default();
        let mut waiting = Vec::new();
        for (state, place) in self.states.iter().enumerate() {
            for edge in place.edges.iter().filter(|edge| !edge.spawn) {
                backwards.entry(edge.target).or_default().push(state);
                if let Some(Kind::Reply { request } | Kind::Refusal { request }) =
                    declarations.message(edge.message).map(|message| message.table.kind)
                {
                    waiting.push((state, (edge.direction.flip(), request)));
                }
            }
        }
        while let Some((state, open)) = waiting.pop() {
            if !answered.insert((state, open)) {
                continue;
            }
            for before in backwards.get(&state).into_iter().flatten() {
                if self.open.get(*before).is_some_and(|there| there.contains(&open)) {
                    waiting.push((*before, open));
                }
            }
        }
        let mut reported: BTreeSet<Open> = BTreeSet::new();
        let mut found = Vec::new();
        for (state, place) in self.states.iter().enumerate() {
            for open in self.open.get(state).into_iter().flatten() {
                if !answered.contains(&(state, *open)) && reported.insert(*open) {
                    let action = self.action(open.0, open.1);
                    let ends = self.comes_to_an_end(state);
                    let crossed =
                        self.open.get(state).is_some_and(|all| all.contains(&(open.0.flip(), open.1)))
                            || place.edges.iter().any(|edge| (edge.direction.flip(), edge.message) == *open);
                    // The other direction of a request that stands where its reply was meant is no second mistake.
                    reported.extend(crossed.then_some((open.0.flip(), open.1)));
                    let reply = self.answer(open.0, open.1);
                    let opened = self.opener(Some(state), *open);
                    found.push(replies::never_answered(
                        &action,
                        place.span,
                        (ends, answered.iter().any(|(_, other)| other == open)),
                        &reply,
                        crossed,
                        opened,
                    ));
                }
            }
        }
        self.diagnostics.append(&mut found);
    }

    /// Whether `End` lies ahead of a state.
    fn comes_to_an_end(&self, state: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![state];
        while let Some(state) = waiting.pop() {
            let Some(place) = self.states.get(state).filter(|_| seen.insert(state)) else { continue };
            if place.kind == StateKind::End || place.may_close || place.peer_may_close {
                return true;
            }
            waiting.extend(place.edges.iter().filter(|edge| !edge.spawn).map(|edge| edge.target));
        }
        false
    }
}
