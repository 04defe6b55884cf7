//! Gates: what a message requires, somebody must announce; and what is announced by default, a message must require.

use std::collections::{BTreeSet, VecDeque};

use mcp_protocol_machine::protocol::{
    Action, Direction, Gate, Holder, Kind, Path, Payload, Side, StateIndex,
};

use crate::Compiled;
use crate::ast::JsonPath;
use crate::automaton::Automaton;
use crate::checks::declarations::side_word;
use crate::diagnostic::{Change, Code, Diagnostic, Edit};
use crate::resolve::{Message, path};
use crate::source::Span;
use crate::suggest::nearest;

/// A capability of a side that announces none.
pub const NEVER_ANNOUNCED: Code = Code("S0113");

/// A default that is part of no capability, or that no message requires.
pub const BAD_DEFAULT: Code = Code("S0117");

/// `default elicitation`: there is nothing around it. `part` is a part of it that some message requires.
pub fn default_of_nothing(default: &JsonPath, part: Option<&Path>) -> Diagnostic {
    let written = dotted(&path(default));
    let example = part.map_or_else(|| format!("{written}.part"), dotted);
    let message = format!("`{written}` is part of no other capability");
    Diagnostic::error(BAD_DEFAULT, default.span, message)
        .label("a default is what another capability stands for that has nothing in it")
        .suggest(
            format!("write `default {example}`, or delete the default"),
            [Edit::replace(default.span, example.clone())],
        )
}

/// The same default once more.
pub fn default_twice(default: &JsonPath, path: &Path) -> Diagnostic {
    let message = format!("`{}` is a default twice", dotted(path));
    Diagnostic::error(BAD_DEFAULT, default.span, message)
        .changes("delete one of the two", [Change::DeleteDefault(default.span)])
}

/// A default that no message requires. `inner` is the path without its first key, if that is required; `parts` are
/// the parts of capabilities that are.
pub fn default_not_required<'p>(
    default: &JsonPath,
    path: &Path,
    side: Side,
    inner: Option<&Path>,
    parts: impl Iterator<Item = &'p Path>,
) -> Diagnostic {
    let (word, written) = (side_word(side), dotted(path));
    let message = format!("no message requires `{word}.{written}`");
    let finding = Diagnostic::error(BAD_DEFAULT, default.span, message).label("this default changes nothing");
    if let Some(inner) = inner {
        let help = format!("write `default {}`: whose it is stands behind `capabilities`", dotted(inner));
        return finding.suggest(help, [Edit::replace(default.span, dotted(inner))]);
    }
    let parts: Vec<String> = parts.map(dotted).collect();
    match nearest(&written, parts.iter().map(String::as_str)) {
        Some(near) => finding.suggest(format!("did you mean `{near}`?"), [Edit::replace(default.span, near)]),
        None => finding.changes(
            format!("delete it, or write `requires {word}.{written}` behind a message"),
            [Change::DeleteDefault(default.span)],
        ),
    }
}

/// Looks at every message that a role can send or receive; what stands in no session type is nobody's concern.
pub fn check(compiled: &Compiled) -> Vec<Diagnostic> {
    let declarations = &compiled.declarations;
    let mut missing = BTreeSet::new();
    for automaton in compiled.client.iter().chain(&compiled.server) {
        for edge in automaton.states.iter().flat_map(|state| &state.edges) {
            let Some(message) = declarations.message(edge.message) else { continue };
            for requirement in message.table.requires.iter() {
                let holder = holder(automaton, edge.direction, requirement.holder);
                if !declarations.announcements.iter().any(|announcement| announcement.table.side == holder) {
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
    .label("this gate would stay closed for ever")
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
                Change::Item(format!("capabilities {word} = {likely}.capabilities"))
            }
            None => Edit::delete(at).into(),
        }],
    )
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
            if sends && !refuses && message.table.payload != Payload::None {
                return Some(&message.table.name);
            }
            waiting.push_back(match edge.action {
                Action::Step(to) | Action::Spawn(to) => to,
            });
        }
    }
    None
}

/// A path as it is written.
pub(super) fn dotted(path: &Path) -> String {
    Gate::new(path.clone()).to_string()
}
