//! `during`: the requests that permit a message while they run.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{self as machine, Kind, MessageIndex};

use super::placed::Placed;
use crate::ast::{self, ItemKind, Modifier, Name};
use crate::declarations::{During, Meaning, Resolution, condition};
use crate::diagnostic::Diagnostic;
use crate::findings::{declarations as finding, during, size};
use crate::source::Span;

/// Finds what each `during` names. All messages and groups are declared.
pub(super) fn declare(items: &[Placed<'_>], resolution: &mut Resolution, diagnostics: &mut Vec<Diagnostic>) {
    let mut gates: Vec<machine::During> = Vec::new();
    let mut full = false;
    for placed in items {
        let (name, modifiers) = match &placed.item.kind {
            ItemKind::Request(request) => (&request.name, &request.modifiers),
            ItemKind::Notification(notification) => (&notification.name, &notification.modifiers),
            _ => continue,
        };
        for modifier in modifiers {
            let Modifier::During { requests, condition, span } = modifier else { continue };
            let Some(found) = resolve(requests, condition.as_ref(), *span, resolution, diagnostics) else {
                continue;
            };
            // In the tables it is a gate, and gates are counted.
            if !gates.contains(&found.table) {
                if resolution.declarations.gates.len() + gates.len() >= usize::from(u16::MAX) {
                    if !std::mem::replace(&mut full, true) {
                        diagnostics.push(size::too_many_gates(*span));
                    }
                    continue;
                }
                gates.push(found.table.clone());
            }
            // A message that is declared twice, which is reported, is the first one.
            let Some(Meaning::Message(index)) = resolution.names.get(&name.text) else { continue };
            let messages = &mut resolution.declarations.messages;
            if let Some(message) = messages.get_mut(usize::from(index.0))
                && message.span == name.span
            {
                message.during.push(found);
            }
        }
    }
}

/// The requests of one modifier; nothing if a name is wrong, which is reported.
fn resolve(
    written: &[Name],
    when: Option<&ast::Condition>,
    span: Span,
    resolution: &Resolution,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<During> {
    let declarations = &resolution.declarations;
    let mut names: Vec<(Name, Vec<MessageIndex>)> = Vec::new();
    let mut wrong = false;
    for name in written {
        let Some(meaning) = resolution.names.get(&name.text) else {
            diagnostics.push(finding::undefined_message(name, resolution));
            wrong = true;
            continue;
        };
        let is_request = |index: &MessageIndex| {
            declarations.message(*index).is_some_and(|message| message.table.kind == Kind::Request)
        };
        let requests: Vec<MessageIndex> = meaning.messages().iter().copied().filter(is_request).collect();
        if requests.is_empty() {
            // A group without members is reported as such.
            if let Some(first) = meaning.messages().first() {
                diagnostics.push(during::not_a_request(name, *first, meaning, declarations));
            }
            wrong = true;
        }
        names.push((name.clone(), requests));
    }
    if wrong {
        return None;
    }
    let requests: BTreeSet<MessageIndex> =
        names.iter().flat_map(|(_, requests)| requests.iter().copied()).collect();
    let table = machine::During::new(requests.into_iter().collect(), when.map(condition));
    Some(During { table, names, span })
}
