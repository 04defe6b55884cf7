//! Messages that nothing tells apart on the wire, and requests that nothing can cancel.

use std::collections::HashMap;

use mcp_protocol_machine::protocol::{Condition, Kind};

use crate::declarations::{Declarations, Message};
use crate::diagnostic::Diagnostic;
use crate::findings::{declarations as findings, refusals};

/// Judges the declared messages.
pub fn check(declarations: &Declarations) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    identities(&declarations.messages, &mut found);
    cancellable(&declarations.messages, &mut found);
    found
}

/// Two messages with one method on the wire cannot be told apart.
fn identities(messages: &[Message], diagnostics: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<(Kind, &str, &Option<Condition>), &Message> = Default::default();
    for message in messages {
        if !matches!(message.table.kind, Kind::Request | Kind::Notification) {
            continue;
        }
        let identity = (message.table.kind, message.table.method.as_ref(), &message.table.condition);
        if let Some(first) = seen.get(&identity) {
            diagnostics.push(findings::same_on_the_wire(message, first));
        } else {
            seen.insert(identity, message);
        }
    }
}

/// A request that can be cancelled needs a notification that does it.
fn cancellable(messages: &[Message], diagnostics: &mut Vec<Diagnostic>) {
    if messages.iter().any(|message| message.table.cancels.is_some()) {
        return;
    }
    for message in messages.iter().filter(|message| message.table.cancellable) {
        diagnostics.push(refusals::nothing_cancels(&message.table.name, message.span));
    }
}
