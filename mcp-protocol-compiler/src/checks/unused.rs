//! Messages that are declared and never said.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::{Kind, MessageIndex};

use crate::compiled::Compiled;
use crate::diagnostic::{Change, Code, Diagnostic};
use crate::source::FileId;

/// A message that no session type uses.
pub const UNUSED_MESSAGE: Code = Code("S0114");

/// Finds messages of the first file that no role ever sends or receives.
pub fn check(compiled: &Compiled, first_file: FileId) -> Vec<Diagnostic> {
    let automata = || compiled.client.iter().chain(&compiled.server);
    if automata().next().is_none() {
        return Vec::new();
    }
    let used: HashSet<MessageIndex> = automata()
        .flat_map(|automaton| &automaton.states)
        .flat_map(|state| &state.edges)
        .map(|edge| edge.message)
        .collect();
    let mut found = Vec::new();
    let declarations = &compiled.declarations;
    // That one never runs is said where it is named.
    let named: HashSet<&str> = declarations
        .messages
        .iter()
        .flat_map(|message| &message.during)
        .flat_map(|during| &during.names)
        .map(|(name, _)| name.text.as_str())
        .collect();
    for (index, message) in declarations.indices().zip(&declarations.messages) {
        let table = &message.table;
        let exempt = message.undeclared
            || table.cancels.is_some()
            || table.reports.is_some()
            || named.contains(&*table.name)
            || message.span.file != first_file;
        if exempt || used.contains(&index) || !matches!(table.kind, Kind::Request | Kind::Notification) {
            continue;
        }
        let name = &table.name;
        found.push(
            Diagnostic::warning(UNUSED_MESSAGE, message.span, format!("the message `{name}` is never used"))
                .label("no session type of a role has it")
                .changes(
                    format!("remove the declaration, or write `!{name}` where it is sent"),
                    [Change::DeleteItem(message.span)],
                ),
        );
    }
    found
}
