//! [`Plan`]: which types and methods the generated code has.

use std::collections::HashMap;
use std::sync::Arc;

use mcp_protocol_machine::protocol::{Direction, MessageIndex};

use self::methods::{Planner, is_taken};
use self::sub_sessions::lives;
use crate::automaton::Automaton;
use crate::declarations::Declarations;

mod handle_steps;
mod methods;
pub(crate) mod names;
mod sub_sessions;
mod types;

pub(crate) use methods::{notify_name, pages_name};
pub(crate) use sub_sessions::open_names;
pub(crate) use types::*;

impl Plan {
    /// Plans the types of a sound protocol; `automata` are its roles, the client first.
    pub(crate) fn new(declarations: &Arc<Declarations>, automata: &[&Arc<Automaton>]) -> Self {
        let mut markers: Vec<Marker> = Vec::new();
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        for automaton in automata {
            let mut lives = lives(automaton);
            for (index, state) in indexed(&automaton.states) {
                let sub_sessions = lives.remove(&index).unwrap_or_default();
                if state.body && sub_sessions.is_empty() {
                    continue;
                }
                let place = MarkedState { automaton: Arc::clone(automaton), index, sub_sessions };
                let next = markers.len();
                let known = *numbers.entry(state.name.as_str()).or_insert(next);
                match markers.get_mut(known) {
                    Some(marker) => marker.places.push(place),
                    None => {
                        let mut places = Vec::with_capacity(automata.len());
                        places.push(place);
                        markers.push(Marker { name: state.name.clone(), places });
                    }
                }
            }
        }
        let roles = automata.iter().map(|automaton| RolePlan::new(automaton, declarations)).collect();
        let reports = indices(declarations)
            .filter(|(_, message)| message.table.reports.is_some())
            .map(|(index, _)| index)
            .collect();
        Plan { declarations: Arc::clone(declarations), markers, roles, reports }
    }
}

impl RolePlan {
    fn new(automaton: &Arc<Automaton>, declarations: &Declarations) -> Self {
        let planner = Planner { automaton, declarations };
        let states: Vec<StatePlan> = indexed(&automaton.states)
            .filter(|(_, state)| !state.body)
            .map(|(index, state)| StatePlan::new(index, state, planner.methods(index, state)))
            .collect();
        let outputs = planner.replicated(Direction::Send, |_| true);
        let inputs = planner.replicated(Direction::Receive, is_taken);
        let sub_sessions = planner.sub_sessions();
        let with_states = std::iter::once(&states)
            .chain(sub_sessions.iter().map(|sub_session: &RolePlan| &sub_session.states));
        let within = |side: fn(&RolePlan) -> &[Replicated]| sub_sessions.iter().flat_map(side);
        let written = outputs.iter().chain(within(|plan| &plan.outputs));
        let read = inputs.iter().chain(within(|plan| &plan.inputs));
        let answers = answers(with_states.flatten(), written, read);
        let methods = method_holders(&states);
        let automaton = Arc::clone(automaton);
        RolePlan { automaton, states, methods, outputs, inputs, answers, sub_sessions, sub_session: None }
    }
}

/// The requests of a role that are answered by one of several replies where nothing else depends on which it is.
fn answers<'p>(
    states: impl Iterator<Item = &'p StatePlan>,
    outputs: impl Iterator<Item = &'p Replicated>,
    inputs: impl Iterator<Item = &'p Replicated>,
) -> Vec<Answers> {
    let mut all: Vec<Answers> = Vec::new();
    let mut add = |request: MessageIndex, replies: &[MessageIndex], written: bool| {
        if replies.len() < 2 {
            return;
        }
        let place = all.iter().position(|known| known.request == request).unwrap_or_else(|| {
            all.push(Answers { request, replies: Vec::new(), read: false, written: false });
            all.len() - 1
        });
        if let Some(answers) = all.get_mut(place) {
            answers.replies.extend_from_slice(replies);
            answers.replies.sort_unstable();
            answers.replies.dedup();
            answers.read |= !written;
            answers.written |= written;
        }
    };
    for method in states.flat_map(|state| &state.methods) {
        if let MethodKind::Exchange { request, replies, .. } = &method.what {
            add(*request, replies, false);
        }
    }
    outputs.for_each(|message| add(message.message, &message.replies, false));
    inputs.for_each(|message| add(message.message, &message.replies, true));
    all
}
