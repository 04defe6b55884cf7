//! Gates: a role must announce what a message requires, and a message must require what is announced by default.

use std::collections::{BTreeSet, VecDeque};

use mcp_protocol_machine::protocol::{Action, Direction, Holder, Kind, Payload, Side, StateIndex};

use crate::automaton::Automaton;
use crate::compiled::Compiled;
use crate::declarations::{Declarations, Form, Message, PayloadType, Shapes};
use crate::diagnostic::{Code, Diagnostic, Edit, TextChange};
use crate::findings::side_word;
use crate::source::Span;

/// A capability of a side that announces none.
pub const NEVER_ANNOUNCED: Code = Code("S0113");

/// Looks at every message that a role can send or receive; what no session type has is not looked at.
pub fn check(compiled: &Compiled) -> Vec<Diagnostic> {
    let declarations = &compiled.declarations;
    let mut missing = BTreeSet::new();
    for automaton in compiled.client.iter().chain(&compiled.server) {
        for edge in automaton.states.iter().flat_map(|state| &state.edges) {
            let Some(message) = declarations.message(edge.message) else { continue };
            for requirement in message.table.requires.iter() {
                let holder = holder(automaton, edge.direction, requirement.holder);
                let announces =
                    declarations.announcements.iter().any(|announcement| announcement.table.side == holder);
                if !announces && !grants(automaton, declarations, holder) {
                    missing.insert((edge.message, holder, requirement.gate));
                }
            }
        }
    }
    let mut diagnostics = Vec::new();
    for (message, holder, gate) in missing {
        let path = declarations.gates.get(usize::from(gate.0)).map(ToString::to_string).unwrap_or_default();
        if let Some(message) = declarations.message(message) {
            let likely = likely(compiled, holder);
            let gates = message.table.requires.iter().zip(&message.requires);
            let place =
                gates.filter(|(requirement, _)| requirement.gate == gate).map(|(_, place)| *place).next();
            diagnostics.push(never_announced(message, holder, (&path, place.unwrap_or_default()), likely));
        }
    }
    diagnostics
}

/// Whether a side grants capabilities while a session runs.
pub(super) fn grants(automaton: &Automaton, declarations: &Declarations, side: Side) -> bool {
    automaton.states.iter().flat_map(|state| &state.edges).any(|edge| {
        let sends = (edge.direction == Direction::Send) == (automaton.side == side);
        sends && declarations.message(edge.message).is_some_and(|message| message.table.grants.is_some())
    })
}

/// Whose announcement a requirement asks, where a message goes one way.
pub(super) fn holder(automaton: &Automaton, direction: Direction, holder: Holder) -> Side {
    let sender = match direction {
        Direction::Send => automaton.side,
        Direction::Receive => automaton.side.other(),
    };
    match holder {
        Holder::Side(side) => side,
        Holder::Sender => sender,
        Holder::Receiver => sender.other(),
    }
}

fn never_announced(
    message: &Message,
    holder: Side,
    (path, at): (&str, Span),
    likely: Option<&str>,
) -> Diagnostic {
    let word = side_word(holder);
    Diagnostic::error(
        NEVER_ANNOUNCED,
        message.span,
        format!(
            "`{}` requires `{word}.{path}`, but the {word} never announces what it can do",
            message.table.name
        ),
    )
    .label("this gate would never open")
    .changes(
        match likely {
            Some(likely) => format!(
                "say where the {word} announces it, for instance `capabilities {word} = {likely}.capabilities`"
            ),
            None => format!(
                "give the gate up, or have the {word} send a message that announces it before, and say where: \
                 `capabilities {word} = Message.capabilities`"
            ),
        },
        [match likely {
            Some(likely) => {
                TextChange::Item(format!("capabilities {word} = {likely}.capabilities"))
            }
            None => Edit::delete(at).into(),
        }],
    )
}

/// Whether a payload may have a field `capabilities`.
fn may_announce(declarations: &Declarations, message: &Message) -> bool {
    let PayloadType::Shape { index, .. } = &message.payload else {
        return message.table.payload != Payload::None;
    };
    match Shapes(&declarations.shapes).behind(&Form::Named(*index)) {
        Form::Record(record) => record.field("capabilities").is_some(),
        Form::Any | Form::Object | Form::Map(_) => true,
        _ => false,
    }
}

/// The first message with a payload that a side sends in a session whose gates are all closed.
fn likely(compiled: &Compiled, holder: Side) -> Option<&str> {
    let declarations = &compiled.declarations;
    let machine = compiled.client.as_ref().or(compiled.server.as_ref())?;
    let mut seen = BTreeSet::new();
    let mut waiting = VecDeque::from([StateIndex(0)]);
    while let Some(index) = waiting.pop_front() {
        let state = machine.states.get(usize::try_from(index.0).ok()?).filter(|_| seen.insert(index));
        let Some(state) = state else { continue };
        waiting.extend(&state.parts);
        for edge in &state.edges {
            let Some(message) = declarations.message(edge.message) else { continue };
            let answers = matches!(message.table.kind, Kind::Reply { .. } | Kind::Refusal { .. });
            if !answers && message.table.requires.iter().any(|gate| gate.condition.is_none()) {
                continue;
            }
            let sends = (edge.direction == Direction::Send) == (machine.side == holder);
            let refuses = matches!(message.table.kind, Kind::Refusal { .. });
            if sends && !refuses && may_announce(declarations, message) {
                return Some(&message.table.name);
            }
            waiting.push_back(match edge.action {
                Action::Step(to) | Action::Spawn(to) => to,
            });
        }
    }
    None
}
