//! Session types without declarations: every message they name is made up.

use mcp_protocol_machine::protocol::{Kind, MessageIndex};

use crate::ast::{Choice, Name, Tail};
use crate::declarations::{Meaning, Message, NO_MESSAGE, Resolution, next_number};
use crate::diagnostic::Diagnostic;
use crate::findings::size;

/// Makes up the messages of a file that declares none.
pub(super) fn make_up(resolution: &mut Resolution, diagnostics: &mut Vec<Diagnostic>) {
    if !resolution.declarations.messages.is_empty() {
        return;
    }
    let mut names = Vec::new();
    for definition in &resolution.definitions {
        collect(&definition.body, &mut names);
    }
    let mut full = false;
    for name in names {
        if resolution.names.contains_key(&name.text) {
            continue;
        }
        let Some(index) = next_number(&resolution.declarations.messages) else {
            if !std::mem::replace(&mut full, true) {
                diagnostics.push(size::too_many_messages(name.span));
            }
            resolution.names.insert(name.text, Meaning::Message(NO_MESSAGE));
            continue;
        };
        resolution.names.insert(name.text.clone(), Meaning::Message(MessageIndex(index)));
        let message = Message::plain(&name, Kind::Notification, &name.text);
        resolution.declarations.messages.push(Message { undeclared: true, ..message });
    }
}

fn collect(choice: &Choice, names: &mut Vec<Name>) {
    for branch in &choice.branches {
        names.extend(
            branch.actions.iter().map(|action| action.message.clone()).filter(|name| name.text != "reply"),
        );
        collect_tail(&branch.tail, names);
    }
}

fn collect_tail(tail: &Tail, names: &mut Vec<Name>) {
    match tail {
        Tail::Recursion { body, .. } | Tail::Group(body, _) => collect(body, names),
        Tail::Parallel(parts, _) => parts.iter().for_each(|part| collect(part, names)),
        Tail::Replicated(body, _) => collect_tail(body, names),
        Tail::End(_) | Tail::Name(_) | Tail::Dual { .. } | Tail::Missing(_) => {}
    }
}
