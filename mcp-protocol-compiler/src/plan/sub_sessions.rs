//! Sub-sessions: which session types they have, and which methods return their values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcp_protocol_machine::protocol::{Action, Direction, Kind, MessageIndex, StateIndex, StateKind};

use super::methods::{Planner, is_over, is_taken, notify_name};
use super::types::{MethodKind, Opening, Plan, RolePlan, StatePlan, kind, method_holders, state};
use crate::automaton::{Automaton, Edge, SubSessionType};
use crate::declarations::Message;
use crate::plan::names::snake;
use crate::reach::reachable;

/// The states of sub-sessions that have a session type, by number, and which sub-sessions can be in them.
pub(super) fn lives(automaton: &Automaton) -> BTreeMap<StateIndex, Vec<usize>> {
    let mut lives: BTreeMap<StateIndex, Vec<usize>> = BTreeMap::new();
    for (number, sub_session) in automaton.sub_sessions.iter().enumerate() {
        for state in sub_session_states(automaton, sub_session) {
            lives.entry(state).or_default().push(number);
        }
    }
    lives
}

/// The states that sub-sessions of a type can be in, in order, without the end.
fn sub_session_states(automaton: &Automaton, sub_session: &SubSessionType) -> BTreeSet<StateIndex> {
    let place = |index: StateIndex| state(automaton, index).filter(|state| state.kind != StateKind::End);
    let reached = reachable(sub_session.starts.iter().copied(), |index| {
        place(index).into_iter().flat_map(|state| {
            let steps = state.edges.iter().filter_map(|edge| match edge.action {
                Action::Step(target) => Some(target),
                Action::Spawn(_) => None,
            });
            steps.chain(state.parts.iter().copied())
        })
    });
    reached.into_iter().filter(|index| place(*index).is_some()).collect()
}

impl Planner<'_> {
    /// The reply to a request and the state after it, where nothing but that reply can happen in a state, and something
    /// after it. A program that awaits the reply alone would have no value for what comes before.
    fn answer(&self, request: MessageIndex, waiting: StateIndex) -> Option<(MessageIndex, StateIndex)> {
        let runs = |edge: &Edge| matches!(edge.action, Action::Spawn(_));
        if state(self.automaton, waiting)?.edges.iter().any(runs) {
            return None;
        }
        // A refusal ends the sub-session, so it leads nowhere that would have to be compared.
        match self.exchange_from(None, request, waiting)? {
            MethodKind::Exchange { replies, target, .. } => match replies.as_slice() {
                [reply] if !is_over(self.automaton, target) => Some((*reply, target)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What the first message of a sub-session opens, if that has a session type of its own.
    pub(super) fn opening(&self, message: MessageIndex, start: StateIndex) -> Option<Opening> {
        let sub_session =
            self.automaton.sub_sessions.iter().position(|sub_session| sub_session.starts.contains(&start))?;
        let answer = match kind(self.declarations, message) {
            Some(Kind::Request) => self.answer(message, start),
            _ => None,
        };
        Some(Opening { sub_session, start, answer })
    }

    /// The session types of sub-sessions.
    pub(super) fn sub_sessions(&self) -> Vec<RolePlan> {
        let automaton = self.automaton;
        let lives = lives(automaton);
        let plan = |(number, sub_session): (usize, &SubSessionType)| {
            let states = sub_session_states(automaton, sub_session).into_iter().filter_map(|index| {
                let state = state(automaton, index)?;
                let mut methods = self.methods(index, state);
                for method in &mut methods {
                    // A state of two types of sub-sessions has a choice in each.
                    if let MethodKind::Next(next) = &mut method.what
                        && lives.get(&index).is_some_and(|types| types.len() > 1)
                    {
                        next.name = format!("{}{}", sub_session.name, next.name);
                    }
                }
                Some(StatePlan::new(index, state, methods))
            });
            let states: Vec<StatePlan> = states.collect();
            let places = sub_session_states(automaton, sub_session);
            let within = |direction, wanted: fn(&Message) -> bool| {
                let states = places.iter().filter_map(|index| Some((*index, state(automaton, *index)?)));
                self.replicated_in(states, direction, wanted)
            };
            let mut outputs = within(Direction::Send, |_| true);
            outputs.extend(self.handle_steps(&places));
            RolePlan {
                automaton: Arc::clone(automaton),
                methods: method_holders(&states),
                states,
                outputs,
                inputs: within(Direction::Receive, is_taken),
                answers: Vec::new(),
                sub_sessions: Vec::new(),
                sub_session: Some(number),
            }
        };
        automaton.sub_sessions.iter().enumerate().map(plan).collect()
    }
}

/// The names of the methods that open a sub-session: the one that only sends, and the one that takes the reply, too.
pub(crate) fn open_names(plan: &Plan, message: MessageIndex, opening: &Opening) -> (String, Option<String>) {
    match kind(&plan.declarations, message) {
        Some(Kind::Request) => (
            format!("send_{}", snake(plan.message_name(message))),
            opening.answer.map(|_| plan.call_name(message)),
        ),
        _ => (notify_name(&plan.declarations, message), None),
    }
}
