//! Gates: a role must announce what a message requires, and a message must require what is announced by default.

use std::collections::{BTreeSet, VecDeque};

use mcp_protocol_machine::protocol::{Action, Direction, Holder, Kind, Payload, Side, StateIndex};

use crate::automaton::Automaton;
use crate::compiled::Compiled;
use crate::declarations::{Declarations, Form, Message, PayloadType, Record, Shapes};
use crate::diagnostic::{Code, Diagnostic, Edit, TextChange};
use crate::findings::listed;
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
    let of = |side: Side| {
        let gates = missing.iter().filter(|(_, holder, _)| *holder == side);
        let gates = gates.filter_map(|(index, _, gate)| {
            let message = declarations.message(*index)?;
            let mut places = message.table.requires.iter().zip(&message.requires);
            let (_, place) = places.find(|(requirement, _)| requirement.gate == *gate)?;
            let path = declarations.gates.get(usize::from(gate.0))?.to_string();
            Some(ClosedGate { message, path, place: *place })
        });
        let gates: Vec<ClosedGate<'_>> = gates.collect();
        let likely = likely(compiled, side).map(|message| Likely {
            name: &message.table.name,
            declared: undeclared(declarations, message, &gates),
        });
        never_announced(&gates, side, likely)
    };
    [Side::Client, Side::Server].into_iter().filter_map(of).collect()
}

/// A capability that a message requires, of a side that announces none.
struct ClosedGate<'a> {
    message: &'a Message,
    path: String,
    place: Span,
}

/// The message that most likely announces what a side can do.
struct Likely<'a> {
    name: &'a str,
    /// The fields that its payload lacks for that.
    declared: Vec<Edit>,
}

/// The fields that a message lacks for announcing what gates ask for, in its field `capabilities`.
fn undeclared(declarations: &Declarations, message: &Message, gates: &[ClosedGate<'_>]) -> Vec<Edit> {
    let PayloadType::Shape { index, .. } = &message.payload else { return Vec::new() };
    let shapes = Shapes(&declarations.shapes);
    let before = |record: &Record, field: String| {
        // In front of the first field, unless its documentation stands there.
        let first = record.fields.first().filter(|first| first.documentation.is_empty());
        first.map(|first| Edit::before(first.name.span, format!("{field}?: object, ")))
    };
    let payload = Form::Named(*index);
    let Form::Record(record) = shapes.behind(&payload) else { return Vec::new() };
    let Some(field) = record.field("capabilities") else {
        return before(record, "capabilities".to_owned()).into_iter().collect();
    };
    let Form::Record(capabilities) = shapes.behind(&field.form) else { return Vec::new() };
    let keys: BTreeSet<&str> =
        gates.iter().map(|gate| gate.path.split('.').next().unwrap_or_default()).collect();
    let missing = keys.into_iter().filter(|key| capabilities.field(key).is_none());
    missing.filter_map(|key| before(capabilities, crate::format::json_key(key))).collect()
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

/// One finding for all gates of a side, because one line is missing.
fn never_announced(gates: &[ClosedGate<'_>], holder: Side, likely: Option<Likely<'_>>) -> Option<Diagnostic> {
    let (first, others) = gates.split_first()?;
    let word = holder.word();
    let message = format!(
        "`{}` requires `{word}.{}`, but the {word} never announces what it can do",
        first.message.table.name, first.path
    );
    let mut finding =
        Diagnostic::error(NEVER_ANNOUNCED, first.message.span, message).label("this gate would never open");
    if !others.is_empty() {
        let mut names: Vec<&str> = others.iter().map(|gate| gate.message.table.name.as_ref()).collect();
        names.dedup();
        names.retain(|name| *name != first.message.table.name);
        finding = finding.with_note(match names.len() {
            0 => format!("the other gates of `{}` would never open either", first.message.table.name),
            _ => format!("the gates of {} would never open either", listed(names.into_iter())),
        });
    }
    Some(match likely {
        Some(likely) => {
            let item = format!("capabilities {word} = {}.capabilities", likely.name);
            let mut help = format!("say where the {word} announces it, for instance `{item}`");
            if !likely.declared.is_empty() {
                help += ", with a field for it in that payload";
            }
            let has_field = likely.declared.is_empty();
            let declared = likely.declared.into_iter().map(TextChange::from);
            let finding = finding.changes(help, declared.chain([TextChange::Item(item)]));
            match has_field {
                true => finding,
                false => finding
                    .changes("or give the gate up", gates.iter().map(|gate| Edit::delete(gate.place).into())),
            }
        }
        None => finding.changes(
            format!(
                "give the gate up, or have the {word} send a message that announces it before, and say where: \
                 `capabilities {word} = Message.capabilities`"
            ),
            gates.iter().map(|gate| Edit::delete(gate.place).into()),
        ),
    })
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

/// The first message with a payload that a side sends in a session whose gates are all closed: one that has a field for
/// capabilities, or else one that may get it.
fn likely(compiled: &Compiled, holder: Side) -> Option<&Message> {
    let declarations = &compiled.declarations;
    let machine = compiled.client.as_ref().or(compiled.server.as_ref())?;
    let mut other = None;
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
                return Some(message);
            }
            if sends && !refuses && is_record(declarations, message) {
                other = other.or(Some(message));
            }
            waiting.push_back(match edge.action {
                Action::Step(to) | Action::Spawn(to) => to,
            });
        }
    }
    other
}

/// Whether a payload is a record with fields.
fn is_record(declarations: &Declarations, message: &Message) -> bool {
    let PayloadType::Shape { index, .. } = &message.payload else { return false };
    let form = Form::Named(*index);
    matches!(Shapes(&declarations.shapes).behind(&form), Form::Record(record) if !record.fields.is_empty())
}
