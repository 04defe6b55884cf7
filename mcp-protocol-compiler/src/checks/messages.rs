//! Messages that nothing tells apart on the wire, requests that nothing can cancel, and those that nothing could cancel
//! longer.

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
    until_reply(declarations, &mut found);
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
    // That it belongs to a request is another finding.
    let requests =
        messages.iter().filter(|message| message.table.cancellable && message.table.kind == Kind::Request);
    let requests: Vec<_> = requests.map(|message| (message.table.name.as_ref(), message.span)).collect();
    diagnostics.extend(refusals::nothing_cancels(&requests));
}

/// Where the reply follows every cancel, no request can be cancelled after its reply.
fn until_reply(declarations: &Declarations, diagnostics: &mut Vec<Diagnostic>) {
    let messages = &declarations.messages;
    if declarations.ends_by_cancel().is_some() || messages.iter().all(|known| known.table.cancels.is_none()) {
        return;
    }
    for message in messages {
        if let Some(span) = message.until_reply {
            diagnostics.push(refusals::always_until_reply(&message.table.name, span));
        }
    }
}
