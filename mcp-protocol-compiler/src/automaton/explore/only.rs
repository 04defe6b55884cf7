//! Where copies rest: `Name only = S`.
//!
//! In: a place that is reached, and by which message. Out: which ways copies take no step there. Refuses `only` where
//! copies could be opened, in a copy itself, and beside another linear channel; warns about one that stops nothing.
//!
//! Copies rest only in the direction of the messages that led here, and stay at rest from one state of the kind to the
//! next: who has sent such a message has said its last word, while the other side may not know of it yet. So nothing
//! that is on its way can come too late.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Only, StateKind};

use super::{Explorer, Via};
use crate::automaton::graph::NodeId;
use crate::automaton::head::Head;
use crate::diagnostic::Diagnostic;
use crate::findings::only;

impl Explorer<'_> {
    /// The definition with `only` that a place is of: one that is named on the way, or in whose text it stands.
    pub(super) fn marked(&mut self, node: NodeId) -> Option<usize> {
        let end = self.heads.end(node);
        self.heads.only(node).or_else(|| self.heads.graph.only(end))
    }

    /// Which ways copies rest in a place.
    pub(super) fn rest(&self, end: NodeId, marked: Option<usize>, via: Via) -> Only {
        match via.before {
            // A loop enters nothing.
            Some((_, node, before)) if marked.is_some() && node == end => before,
            Some((direction, _, before)) if marked.is_some() => before.with(direction),
            _ => Only::NONE,
        }
    }

    /// What is wrong with a definition's `only` at a place.
    pub(super) fn no_place_for_only(
        &self,
        definition: usize,
        head: &Head<'_>,
        body: bool,
    ) -> Option<Diagnostic> {
        let definition = self.resolution.definitions.get(definition)?;
        let (name, span) = (&definition.name.text, definition.only?);
        match head {
            _ if body => Some(only::in_a_copy(span, name)),
            Head::Parallel(channels) => {
                let replicated = channels.replicated.first().map(|(_, span)| *span);
                Some(only::channels(span, name, replicated))
            }
            Head::Choice(choice) => {
                let (_, opened) = choice.replicated.first()?;
                Some(only::channels(span, name, Some(*opened)))
            }
            Head::Broken | Head::End => None,
        }
    }

    /// Reports `only` beside another linear channel, and where there is nothing that it could stop.
    pub(super) fn resting(&mut self) {
        let definitions = &self.resolution.definitions;
        let mut found = Vec::new();
        let mut told: BTreeSet<usize> = BTreeSet::new();
        for state in self.beside_another() {
            let Some(index) = self.only.get(state).copied().flatten().filter(|index| told.insert(*index))
            else {
                continue;
            };
            if let Some(definition) = definitions.get(index)
                && let Some(span) = definition.only
            {
                found.push(only::beside_another(span, &definition.name.text));
            }
        }
        let rests: BTreeSet<usize> = self
            .states
            .iter()
            .zip(&self.only)
            .filter(|(place, _)| place.only != Only::NONE)
            .filter_map(|(_, definition)| *definition)
            .collect();
        for index in self.only.iter().flatten() {
            let Some(definition) = definitions.get(*index).filter(|definition| !definition.imported) else {
                continue;
            };
            let (name, Some(span)) = (&definition.name.text, definition.only) else { continue };
            let nothing = self.bodies.is_empty();
            if (nothing || !rests.contains(index)) && told.insert(*index) {
                found.push(only::stops_nothing(span, name, nothing));
            }
        }
        self.diagnostics.append(&mut found);
    }

    /// The states of linear channels that run beside one another, and in which copies would rest.
    fn beside_another(&self) -> BTreeSet<usize> {
        let forks = self.states.iter().filter(|place| place.kind == StateKind::Fork);
        let mut waiting: Vec<usize> = forks.flat_map(|place| &place.parts).copied().collect();
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        while let Some(state) = waiting.pop() {
            let Some(place) = self.states.get(state).filter(|_| seen.insert(state)) else { continue };
            waiting.extend(place.edges.iter().filter(|edge| !edge.spawn).map(|edge| edge.target));
            waiting.extend(&place.parts);
        }
        seen.retain(|state| self.only.get(*state).is_some_and(Option::is_some));
        seen
    }
}
