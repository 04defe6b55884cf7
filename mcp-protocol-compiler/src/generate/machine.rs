//! The tables: the machine as data.

use std::borrow::Cow;

use mcp_protocol_machine::protocol::{Advice, Edge, Protocol, Role, State, StateKind};

use crate::automaton::Automaton;
use crate::compiled::Compiled;
use crate::declarations::DeclaredShape;

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
    let messages = declarations.messages.iter().map(|message| message.table.clone());
    let mut protocol = Protocol::new(name.into(), messages.collect());
    protocol.version = declarations.version.clone().map(Cow::Owned);
    protocol.numeric_version = declarations.numeric_version;
    protocol.batch = declarations.batch;
    protocol.without_jsonrpc = declarations.without_jsonrpc;
    protocol.gates = declarations.gates.clone().into();
    protocol.shapes = declarations.shapes.iter().map(DeclaredShape::table).collect();
    protocol.keys = declarations.keys.iter().map(|key| key.table.clone()).collect();
    protocol.announcements =
        declarations.announcements.iter().map(|announced| announced.table.clone()).collect();
    protocol.version_field = declarations.version_field.clone();
    protocol.client = compiled.client.as_deref().map(role);
    protocol.server = compiled.server.as_deref().map(role);
    protocol
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
