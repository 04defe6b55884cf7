//! The state machine of a role as JSON: what the checker follows, for programs in other languages.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{
    Action, Direction, Edge, Kind, MessageIndex, Origin, Protocol, Role, Side, State, StateIndex, StateKind,
};
use serde::Serialize;

/// What of a machine is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachinePart {
    /// The state that the others are reached from.
    pub(crate) start: StateIndex,
    /// Whether refusals and cancels are written that the author did not write.
    pub(crate) refusals: bool,
}

/// A machine, or what of it can be reached from a state.
#[derive(Serialize)]
pub(crate) struct MachineJson<'a> {
    protocol: &'a str,
    version: Option<&'a str>,
    role: &'a str,
    side: &'static str,
    start: &'a str,
    states: Vec<StateJson<'a>>,
}

#[derive(Serialize)]
struct StateJson<'a> {
    name: &'a str,
    kind: &'static str,
    may_close: bool,
    peer_may_close: bool,
    /// The channels that a fork splits into.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<&'a str>,
    messages: Vec<EdgeJson<'a>>,
}

#[derive(Serialize)]
struct EdgeJson<'a> {
    direction: &'static str,
    message: &'a str,
    kind: &'static str,
    method: &'a str,
    /// The request that a reply or a refusal answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<&'a str>,
    /// The state of this channel afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    /// The first state of the sub-session that begins, in parallel with this channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    opens: Option<&'a str>,
    origin: &'static str,
}

/// The machine of one side, if that is declared.
pub(crate) fn of(protocol: &Protocol, side: Side, part: MachinePart) -> Option<MachineJson<'_>> {
    let role = protocol.role(side)?;
    Some(MachineJson {
        protocol: &protocol.name,
        version: protocol.version.as_deref(),
        role: &role.name,
        side: side.word(),
        start: state_name(role, part.start),
        states: reachable(role, part)
            .into_iter()
            .filter_map(|index| state(protocol, role, index, part))
            .collect(),
    })
}

/// What can be reached, in the order of the tables.
fn reachable(role: &Role, part: MachinePart) -> BTreeSet<StateIndex> {
    let mut found = BTreeSet::new();
    let mut left = vec![part.start];
    while let Some(index) = left.pop() {
        let Some(state) = role.state(index).filter(|_| found.insert(index)) else { continue };
        left.extend(state.parts.iter().copied());
        left.extend(edges(state, part).map(|edge| edge.action.target()));
    }
    found
}

fn edges(state: &State, part: MachinePart) -> impl Iterator<Item = &Edge> {
    let is_implied = |edge: &&Edge| matches!(edge.origin, Origin::Refusal | Origin::Cancel);
    state.edges.iter().filter(move |edge| part.refusals || !is_implied(edge))
}

fn state<'a>(
    protocol: &'a Protocol,
    role: &'a Role,
    index: StateIndex,
    part: MachinePart,
) -> Option<StateJson<'a>> {
    let state = role.state(index)?;
    Some(StateJson {
        name: &state.name,
        kind: match state.kind {
            StateKind::Linear => "linear",
            StateKind::End => "end",
            StateKind::Replicated => "replicated",
            StateKind::Fork => "fork",
        },
        may_close: state.may_close,
        peer_may_close: state.peer_may_close,
        parts: state.parts.iter().map(|part| state_name(role, *part)).collect(),
        messages: edges(state, part).filter_map(|edge| message(protocol, role, edge)).collect(),
    })
}

fn message<'a>(protocol: &'a Protocol, role: &'a Role, edge: &Edge) -> Option<EdgeJson<'a>> {
    let message = protocol.message(edge.message)?;
    let (kind, request) = match message.kind {
        Kind::Request => ("request", None),
        Kind::Notification => ("notification", None),
        Kind::Reply { request } => ("result", Some(request)),
        Kind::Refusal { request } => ("error", Some(request)),
    };
    let (to, opens) = match edge.action {
        Action::Step(to) => (Some(to), None),
        Action::Spawn(first) => (None, Some(first)),
    };
    let name = |index: MessageIndex| protocol.message(index).map(|message| &*message.name);
    Some(EdgeJson {
        direction: match edge.direction {
            Direction::Send => "send",
            Direction::Receive => "receive",
        },
        message: &message.name,
        kind,
        method: &message.method,
        answers: request.and_then(name),
        to: to.map(|to| state_name(role, to)),
        opens: opens.map(|first| state_name(role, first)),
        origin: match edge.origin {
            Origin::Written => "written",
            Origin::Refusal => "refusal",
            Origin::Cancel => "cancel",
            Origin::Closure => "late",
        },
    })
}

fn state_name(role: &Role, index: StateIndex) -> &str {
    role.state(index).map_or("", |state| &state.name)
}
