//! Keys: by which values later steps of a sub-session find it.

use mcp_protocol_machine::protocol as machine;

use super::items::message_field;
use super::members;
use super::placed::Placed;
use crate::ast::{ItemKind, KeyFieldPlace};
use crate::declarations::{Key, Resolution, next_number};
use crate::diagnostic::Diagnostic;
use crate::findings::size;

/// Declares every key, those that come with imports included.
pub(super) fn declare(items: &[Placed<'_>], resolution: &mut Resolution, diagnostics: &mut Vec<Diagnostic>) {
    for placed in items {
        let ItemKind::Key { open, name, fields } = &placed.item.kind else { continue };
        let Some(index) = next_number(&resolution.declarations.keys) else {
            diagnostics.push(size::too_many_keys(name.span));
            return;
        };
        let key = machine::KeyIndex(index);
        resolution.declarations.keys.push(Key {
            table: machine::Key::new(name.text.clone().into(), open.is_some()),
            span: open.unwrap_or(name.span),
        });
        for field in fields {
            let found = match &field.place {
                KeyFieldPlace::Field(field) => message_field(field, resolution, diagnostics)
                    .map(|field| (vec![field.message], machine::KeyPlace::Path(field.path))),
                KeyFieldPlace::Id(of) => members::with_ids(of, resolution, diagnostics)
                    .map(|messages| (messages, machine::KeyPlace::Id)),
                KeyFieldPlace::Member { .. } => None,
            };
            let Some((messages, place)) = found else { continue };
            for message in messages {
                let declared = resolution.declarations.messages.get_mut(usize::from(message.0));
                let Some(message) = declared else { continue };
                members::carry(&mut message.table, key, place.clone(), field.open.is_some());
            }
        }
        for field in fields {
            if let KeyFieldPlace::Member { member, of, .. } = &field.place {
                members::declare(key, (member, of), field.open, resolution, diagnostics);
            }
        }
    }
    members::open_ones_are_alone(items, resolution, diagnostics);
}
