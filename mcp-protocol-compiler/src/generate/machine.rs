//! The tables: the machine as data.
//!
//! In: a [`Compiled`] protocol. Out: the same as the checker and the runtime read it, with sorted edges. Refuses to add
//! anything that the automaton does not say.

use std::borrow::Cow;

use mcp_protocol_machine::protocol::{Advice, Edge, Protocol, Role, State, StateKind};

use crate::Compiled;
use crate::automaton::Automaton;

/// The tables of a compiled protocol.
pub fn machine(compiled: &Compiled) -> Protocol {
    let declarations = &compiled.declarations;
    Protocol {
        name: declarations.name.as_ref().map(|name| name.text.clone()).unwrap_or_default().into(),
        version: declarations.version.clone().map(Cow::Owned),
        batch: declarations.batch,
        messages: declarations.messages.iter().map(|message| message.table.clone()).collect(),
        gates: declarations.gates.clone().into(),
        keys: declarations.keys.iter().map(|key| key.table.clone()).collect(),
        announcements: declarations.announcements.iter().map(|announced| announced.table.clone()).collect(),
        version_field: declarations.version_field.clone(),
        client: compiled.client.as_ref().map(role),
        server: compiled.server.as_ref().map(role),
    }
}

/// The tables of one role.
fn role(automaton: &Automaton) -> Role {
    let states = automaton.states.iter().map(|state| {
        // A fork is no place of its own: whoever gets there is in its parts at once, which have these edges, too.
        let fork = state.kind == StateKind::Fork;
        let mut edges: Vec<Edge> = state
            .edges
            .iter()
            .filter(|_| !fork)
            .map(|edge| Edge {
                direction: edge.direction,
                message: edge.message,
                action: edge.action,
                origin: edge.origin,
            })
            .collect();
        edges.sort_by_key(|edge| (edge.direction, edge.message));
        let mut advice: Vec<Advice> = state
            .edges
            .iter()
            .filter_map(|edge| {
                let level = edge.level.as_deref()?.clone();
                Some(Advice { direction: edge.direction, message: edge.message, level })
            })
            .collect();
        advice.sort_by_key(|advice| (advice.direction, advice.message));
        State {
            name: state.name.clone().into(),
            kind: state.kind,
            edges: edges.into(),
            parts: state.parts.clone().into(),
            may_close: state.may_close,
            peer_may_close: state.peer_may_close,
            reaches_end: state.reaches_end,
            only: state.only,
            outward: state.outward.clone(),
            inward: state.inward.clone(),
            advice: advice.into(),
        }
    });
    Role { name: automaton.name.clone().into(), states: states.collect() }
}
