//! The tables: the machine as data.

use std::borrow::Cow;

use mcp_protocol_machine::protocol::{
    self as machine, Advice, Edge, Gate, GateIndex, Protocol, Requirement, Role, State, StateKind,
};

use crate::automaton::Automaton;
use crate::compiled::Compiled;
use crate::declarations::{DeclaredShape, Message};

/// The tables of a compiled protocol.
///
/// ```
/// # use std::{io, path::Path};
/// # use mcp_protocol_compiler::{compile, generate};
/// # let text = "protocol Counter\nnotification Add \"add\" (_)\nclient Teller\nserver Till = dual Teller\nTeller = !Add . End\n";
/// # let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let compilation = compile(Path::new("counter.session"), &mut read)?;
/// let protocol = compilation.protocol.as_ref().expect("no errors");
/// assert_eq!(generate::machine(protocol).name, "Counter");
/// # Ok::<(), io::Error>(())
/// ```
pub fn machine(compiled: &Compiled) -> Protocol {
    let declarations = &compiled.declarations;
    let name = declarations.name.as_ref().map(|name| name.text.clone()).unwrap_or_default();
    let mut gates = declarations.gates.clone();
    let messages = declarations.messages.iter().map(|message| with_during(message, &mut gates));
    let mut protocol = Protocol::new(name.into(), messages.collect());
    protocol.version = declarations.version.clone().map(Cow::Owned);
    protocol.numeric_version = declarations.numeric_version;
    protocol.batch = declarations.batch;
    protocol.dialect = declarations.dialect;
    protocol.reuses_ids = declarations.reuses_ids;
    protocol.gates = gates.into();
    protocol.shapes = declarations.shapes.iter().map(DeclaredShape::table).collect();
    protocol.keys = declarations.keys.iter().map(|key| key.table.clone()).collect();
    protocol.announcements =
        declarations.announcements.iter().map(|announced| announced.table.clone()).collect();
    protocol.version_field = declarations.version_field.clone();
    protocol.client = compiled.client.as_deref().map(role);
    protocol.server = compiled.server.as_deref().map(role);
    protocol
}

/// The table of a message. What it is permitted `during` is a gate, behind those of all capabilities.
fn with_during(message: &Message, gates: &mut Vec<Gate>) -> machine::Message {
    let mut table = message.table.clone();
    for during in &message.during {
        let gate = Gate::granted_by(during.table.clone());
        let place = gates.iter().position(|known| *known == gate).unwrap_or_else(|| {
            gates.push(gate);
            gates.len() - 1
        });
        // Resolving has counted them.
        if let Ok(place) = u16::try_from(place) {
            table.requires.to_mut().push(Requirement::during(GateIndex(place)));
        }
    }
    table
}

/// The tables of one role.
fn role(automaton: &Automaton) -> Role {
    let states = automaton.states.iter().map(|state| {
        // A fork is not a place of its own: a session that gets there is in its parts at once, which have these edges, too.
        let fork = state.kind == StateKind::Fork;
        let mut edges: Vec<Edge> = state
            .edges
            .iter()
            .filter(|_| !fork)
            .map(|edge| Edge::new(edge.direction, edge.message, edge.action, edge.origin))
            .collect();
        edges.sort_by_key(|edge| (edge.direction, edge.message));
        let mut advice: Vec<Advice> = state
            .edges
            .iter()
            .filter_map(|edge| {
                let level = edge.level.as_deref()?.clone();
                Some(Advice::new(edge.direction, edge.message, level))
            })
            .collect();
        advice.sort_by_key(|advice| (advice.direction, advice.message));
        let mut table = State::new(state.name.clone().into(), state.kind, edges.into());
        table.parts = state.parts.clone().into();
        table.may_close = state.may_close;
        table.peer_may_close = state.peer_may_close;
        table.reaches_end = state.reaches_end;
        table.only = state.only;
        table.outward = state.outward.clone();
        table.inward = state.inward.clone();
        table.advice = advice.into();
        table
    });
    Role::new(automaton.name.clone().into(), states.collect())
}
