//! Copies with a life of their own: which session types there are, and how a value of one comes about.

use std::collections::{BTreeMap, BTreeSet};

use mcp_protocol_machine::protocol::{Action, Kind, MessageIndex, StateIndex, StateKind};

use super::methods::Planner;
use super::{Opening, Plan, Role, StatePlan, What, by_name, kind, notify_name, state};
use crate::automaton::{Automaton, CopyType};
use crate::generate::names::snake;
use crate::reach::reachable;

/// The states of copies that have a session type, by number, and which copies can be in them.
pub(super) fn lives(automaton: &Automaton) -> BTreeMap<usize, Vec<&CopyType>> {
    let mut lives: BTreeMap<usize, Vec<&CopyType>> = BTreeMap::new();
    for copy in &automaton.copies {
        for state in copy_states(automaton, copy) {
            lives.entry(state).or_default().push(copy);
        }
    }
    lives
}

/// The states that copies of a type can be in, in order; the end is no such state.
fn copy_states(automaton: &Automaton, copy: &CopyType) -> BTreeSet<usize> {
    let place = |index: StateIndex| state(automaton, index).filter(|state| state.kind != StateKind::End);
    let reached = reachable(copy.starts.iter().copied(), |index| {
        let edges = place(index).into_iter().flat_map(|state| &state.edges);
        edges.filter_map(|edge| match edge.action {
            Action::Step(target) => Some(target),
            Action::Spawn(_) => None,
        })
    });
    let own = reached.into_iter().filter(|index| place(*index).is_some());
    own.filter_map(|index| usize::try_from(index.0).ok()).collect()
}

impl<'a> Planner<'a> {
    /// The reply to a request and the state after it, where nothing but that reply can happen in a state.
    fn answer(&self, request: MessageIndex, waiting: StateIndex) -> Option<(MessageIndex, StateIndex)> {
        // A refusal ends the copy, so it leads nowhere that would have to be compared.
        match self.exchange_from(None, request, waiting)? {
            What::Exchange { replies, target, .. } => match replies.as_slice() {
                [reply] => Some((*reply, target)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What the first message of a copy opens, if that has a session type of its own.
    pub(super) fn opening(&self, message: MessageIndex, start: StateIndex) -> Option<Opening> {
        let copy = self.automaton.copies.iter().position(|copy| copy.starts.contains(&start))?;
        let answer = match kind(self.declarations, message) {
            Some(Kind::Request) => self.answer(message, start),
            _ => None,
        };
        Some(Opening { copy, start, answer })
    }

    /// The session types of copies.
    pub(super) fn copies(&self) -> Vec<Role<'a>> {
        let automaton = self.automaton;
        let lives = lives(automaton);
        let plan = |copy: &'a CopyType| {
            let states = copy_states(automaton, copy).into_iter().filter_map(|number| {
                let index = StateIndex(u32::try_from(number).ok()?);
                let state = state(automaton, index)?;
                let mut methods = self.methods(index, state);
                for method in &mut methods {
                    // A state of two types of copies has a choice in each.
                    if let What::Next(next) = &mut method.what
                        && lives.get(&number).is_some_and(|types| types.len() > 1)
                    {
                        next.name = format!("{}{}", copy.name, next.name);
                    }
                }
                Some(StatePlan { index, state, methods })
            });
            let states: Vec<StatePlan<'a>> = states.collect();
            Role {
                automaton,
                methods: by_name(&states),
                states,
                outputs: Vec::new(),
                inputs: Vec::new(),
                answers: Vec::new(),
                copies: Vec::new(),
                copy: Some(copy),
            }
        };
        automaton.copies.iter().map(plan).collect()
    }
}

/// The names of the methods that open a copy: the one that only sends, and the one that takes the reply, too.
pub(crate) fn open_names(
    plan: &Plan<'_>,
    message: MessageIndex,
    opening: &Opening,
) -> (String, Option<String>) {
    match kind(plan.declarations, message) {
        Some(Kind::Request) => (
            format!("send_{}", snake(plan.message_name(message))),
            opening.answer.map(|_| plan.call_name(message)),
        ),
        _ => (notify_name(plan.declarations, message), None),
    }
}
