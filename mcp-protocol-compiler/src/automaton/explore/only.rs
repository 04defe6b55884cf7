//! Where sub-sessions are suspended: `Name only = S`.
//!
//! Sub-sessions are suspended only in the direction of the messages that led here, and stay suspended from one such
//! state to the next. The sender of such a message takes no further step of them, while the other side may not have
//! received it yet. So no message on its way can come too late.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Direction, Only, StateKind};

use super::{Explorer, Via};
use crate::ast::LevelDirection;
use crate::automaton::finding::{Finding, FindingKind};
use crate::automaton::graph::{Marked, NodeId};
use crate::automaton::normal_form::Head;
use crate::automaton::raw;
use crate::reach::reachable;

impl Explorer<'_> {
    /// The definition with `only` that a place is of: one that is named on the way, or in whose text it stands.
    pub(super) fn marked(&mut self, node: NodeId) -> Option<Marked> {
        let end = self.heads.end(node);
        self.heads.only(node).or_else(|| self.heads.graph.only(end))
    }

    /// In which directions sub-sessions are suspended in a place.
    pub(super) fn suspension(&self, end: NodeId, marked: Option<Marked>, via: Via) -> Only {
        let (Some(marked), Some((direction, node, before))) = (marked, via.before) else { return Only::NONE };
        // A loop enters nothing.
        let after = if node == end { before } else { before.with(direction) };
        match self.suspended_way(marked) {
            Some(Direction::Send) => Only { inward: false, ..after },
            Some(Direction::Receive) => Only { outward: false, ..after },
            None => after,
        }
    }

    /// The one way in which a definition suspends sub-sessions, if it says so.
    fn suspended_way(&self, marked: Marked) -> Option<Direction> {
        let only = self.resolution.definitions.get(marked.definition)?.only?;
        let way = match only.direction? {
            LevelDirection::Out => Direction::Send,
            LevelDirection::In => Direction::Receive,
        };
        Some(if marked.flipped { way.flip() } else { way })
    }

    /// What is wrong with a definition's `only` at a place.
    pub(super) fn no_place_for_only(
        &self,
        definition: usize,
        head: &Head<'_>,
        body: bool,
    ) -> Option<Finding> {
        let definition = self.resolution.definitions.get(definition)?;
        let (name, span) = (definition.name.text.clone(), definition.only?.span);
        let what = match head {
            _ if body => FindingKind::OnlyInSubSession(name),
            Head::Parallel(channels) => {
                let opened = channels.replicated.first().map(|(_, span)| *span);
                FindingKind::OnlyWithChannels { name, opened }
            }
            Head::Choice(choice) => {
                let (_, opened) = choice.replicated.first()?;
                FindingKind::OnlyWithChannels { name, opened: Some(*opened) }
            }
            Head::Broken | Head::End => return None,
        };
        Some(what.at(span))
    }

    /// Reports `only` in parallel with another linear channel, and where it does not suspend anything.
    pub(super) fn useless_marks(&mut self) {
        let definitions = &self.resolution.definitions;
        let mut found = Vec::new();
        let mut told: BTreeSet<usize> = BTreeSet::new();
        for state in self.parallel_to_another() {
            let Some(index) = self.only.get(state).copied().flatten().filter(|index| told.insert(*index))
            else {
                continue;
            };
            if let Some(definition) = definitions.get(index)
                && let Some(only) = definition.only
            {
                found.push(FindingKind::OnlyWithParallelChannel(definition.name.text.clone()).at(only.span));
            }
        }
        let suspended: BTreeSet<usize> = self
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
            let Some(only) = definition.only else { continue };
            let no_bodies = self.bodies.is_empty();
            if (no_bodies || !suspended.contains(index)) && told.insert(*index) {
                let name = definition.name.text.clone();
                found.push(FindingKind::OnlyStopsNothing { name, no_bodies }.at(only.span));
            }
        }
        self.findings.append(&mut found);
    }

    /// The states of parallel linear channels in which sub-sessions would be suspended.
    fn parallel_to_another(&self) -> BTreeSet<usize> {
        let forks = self.states.iter().filter(|place| place.kind == StateKind::Fork);
        let parts = forks.flat_map(|place| place.parts.iter().copied());
        let reached = reachable(parts, |state| raw::after(&self.states, state));
        let marked = |state: &usize| self.only.get(*state).is_some_and(Option::is_some);
        reached.into_iter().filter(marked).collect()
    }
}
