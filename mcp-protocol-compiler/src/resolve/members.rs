//! Keys in members of the envelope: which messages have them.

use mcp_protocol_machine::protocol::{KeyIndex, KeyPlace, Kind, Message, MessageIndex, MessageKey};

use super::placed::Placed;
use crate::ast::{ItemKind, KeyFieldPlace, Name};
use crate::declarations::{Meaning, Resolution};
use crate::diagnostic::Diagnostic;
use crate::findings::{declarations as names, members as finding};
use crate::source::Span;

/// The members that JSON-RPC has.
const OF_JSON_RPC: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// Gives a message, or those of a group, a key in a member of their envelopes. `open` is where that word stands before this
/// place. The places in payloads are declared before.
pub(super) fn declare(
    key: KeyIndex,
    (member, of): (&Name, &Name),
    open: Option<Span>,
    resolution: &mut Resolution,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if OF_JSON_RPC.contains(&member.text.as_str()) {
        return diagnostics.push(finding::of_json_rpc(member, of));
    }
    let Some(messages) = named(of, resolution, diagnostics) else { return };
    for index in messages {
        match fault(key, (member, of), index, resolution) {
            Some(found) => return diagnostics.push(found),
            None => {
                let declared = resolution.declarations.messages.get_mut(usize::from(index.0));
                let Some(message) = declared else { continue };
                let place = KeyPlace::Member(member.text.clone().into());
                carry(&mut message.table, key, place, open.is_some());
            }
        }
    }
}

/// Reports messages with an open key in their envelope and another key. Without a value in the envelope they would stand
/// alone, and the other value would say that they do not.
pub(super) fn open_ones_are_alone(
    items: &[Placed<'_>],
    resolution: &Resolution,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let declarations = &resolution.declarations;
    for placed in items {
        let ItemKind::Key { open: all, name, fields } = &placed.item.kind else { continue };
        for field in fields {
            let (KeyFieldPlace::Member { member, of, .. }, Some(open)) = (&field.place, field.open.or(*all))
            else {
                continue;
            };
            let other = messages(of, resolution).into_iter().flatten().find_map(|message| {
                let message = &declarations.message(message)?.table;
                let mut keys = message.keys.iter().map(|carried| declarations.key_name(carried.key));
                Some((&*message.name, keys.find(|key| *key != name.text)?))
            });
            if let Some((message, other)) = other {
                diagnostics.push(finding::open_with_another(open, (member, of), message, other));
            }
        }
    }
}

/// The message of a name, or those of a group; nothing if it is neither.
fn messages(of: &Name, resolution: &Resolution) -> Option<Vec<MessageIndex>> {
    match resolution.names.get(&of.text)? {
        Meaning::Message(message) => Some(vec![*message]),
        Meaning::Group(messages) => Some(messages.clone()),
    }
}

/// The same; reports a name that is neither.
fn named(of: &Name, resolution: &Resolution, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<MessageIndex>> {
    let messages = messages(of, resolution);
    if messages.is_none() {
        diagnostics.push(names::undefined_message(of, resolution));
    }
    messages
}

/// The requests whose ids are a key. Only requests have ids of their own.
pub(super) fn with_ids(
    of: &Name,
    resolution: &Resolution,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<MessageIndex>> {
    let messages = named(of, resolution, diagnostics)?;
    let declarations = &resolution.declarations;
    let fault = messages.iter().find_map(|index| {
        let message = declarations.message(*index)?;
        match message.table.kind {
            Kind::Request => None,
            Kind::Notification => Some(finding::without_id(of, &message.table.name)),
            Kind::Reply { request } | Kind::Refusal { request } => {
                Some(finding::of_reply(of, &message.table.name, declarations.message_name(request)))
            }
        }
    });
    match fault {
        Some(fault) => {
            diagnostics.push(fault);
            None
        }
        None => Some(messages),
    }
}

/// Why a message cannot have the key there.
fn fault(
    key: KeyIndex,
    (member, of): (&Name, &Name),
    index: MessageIndex,
    resolution: &Resolution,
) -> Option<Diagnostic> {
    let declarations = &resolution.declarations;
    let message = declarations.message(index)?;
    let name = &message.table.name;
    if let Kind::Reply { request } | Kind::Refusal { request } = message.table.kind {
        return Some(finding::of_reply(of, name, declarations.message_name(request)));
    }
    let place = member.span.to(of.span);
    message.table.keys.iter().find_map(|carried| {
        let is_here = matches!(&carried.place, KeyPlace::Member(name) if **name == member.text);
        match (carried.key == key, is_here) {
            (true, false) => Some(finding::twice(place, name, declarations.key_name(key), None)),
            (false, true) => {
                let other = declarations.keys.get(usize::from(carried.key.0))?;
                let other = Some((&*other.table.name, other.span));
                Some(finding::twice(place, name, declarations.key_name(key), other))
            }
            _ => None,
        }
    })
}

/// Gives a message a key. By itself and in a group it may be named for the same place, which is open if one of them says so.
pub(super) fn carry(message: &mut Message, key: KeyIndex, place: KeyPlace, open: bool) {
    let keys = message.keys.to_mut();
    // A message may have very many keys, and those with places in its payload are not joined.
    let by_group = !matches!(place, KeyPlace::Path(_));
    let is_same = |known: &&mut MessageKey| known.key == key && known.place == place;
    match by_group.then(|| keys.iter_mut().find(is_same)).flatten() {
        Some(known) => known.open |= open,
        None => {
            let mut carried = MessageKey::new(key, place);
            carried.open = open;
            keys.push(carried);
        }
    }
}
