//! Gates: what a message requires, somebody must announce.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Direction, Holder, Side};

use crate::Compiled;
use crate::automaton::Automaton;
use crate::checks::declarations::side_word;
use crate::diagnostic::{Code, Diagnostic};
use crate::resolve::{Declarations, Message};

/// A capability of a side that announces none.
pub const NEVER_ANNOUNCED: Code = Code("S0113");

/// Looks at every message that a role can send or receive; what stands in no session type is nobody's concern.
pub fn check(compiled: &Compiled) -> Vec<Diagnostic> {
    let declarations = &compiled.declarations;
    let mut missing = BTreeSet::new();
    for automaton in compiled.client.iter().chain(&compiled.server) {
        for edge in automaton.states.iter().flat_map(|state| &state.edges) {
            let Some(message) = declarations.message(edge.message) else { continue };
            for requirement in message.table.requires.iter() {
                let holder = holder(automaton, edge.direction, requirement.holder);
                if !declarations.announcements.iter().any(|announcement| announcement.side == holder) {
                    missing.insert((edge.message, holder, requirement.gate));
                }
            }
        }
    }
    let mut diagnostics = Vec::new();
    for (message, holder, gate) in missing {
        let path: Vec<&str> = declarations
            .gates
            .get(usize::from(gate.0))
            .map(|gate| gate.path.iter().map(AsRef::as_ref).collect())
            .unwrap_or_default();
        if let Some(message) = declarations.message(message) {
            diagnostics.push(never_announced(message, holder, &path.join("."), declarations));
        }
    }
    diagnostics
}

/// Whose announcement a requirement asks, where a message goes one way.
fn holder(automaton: &Automaton, direction: Direction, holder: Holder) -> Side {
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

fn never_announced(message: &Message, holder: Side, path: &str, declarations: &Declarations) -> Diagnostic {
    let word = side_word(holder);
    // The handshake is where such things are said; its first reply or request is the likely place.
    let likely = declarations.messages.iter().find(|message| {
        let kind = message.table.kind;
        match holder {
            Side::Client => kind == mcp_protocol_machine::protocol::Kind::Request,
            Side::Server => matches!(kind, mcp_protocol_machine::protocol::Kind::Reply { .. }),
        }
    });
    let likely = likely.map_or("Message", |message| message.table.name.as_ref());
    Diagnostic::error(
        NEVER_ANNOUNCED,
        message.span,
        format!(
            "`{}` requires `{word}.{path}`, but the {word} never announces what it can do",
            message.table.name
        ),
    )
    .label("this gate would stay closed for ever")
    .help(format!(
        "say where the {word} announces it, for instance `capabilities {word} = {likely}.capabilities`"
    ))
}
