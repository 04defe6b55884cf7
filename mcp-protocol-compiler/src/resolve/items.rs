//! Which item stands for which name, across files and `override`; and the items that are about the whole protocol.

use std::collections::HashMap;

use mcp_protocol_machine::protocol::{self as machine, Kind, Side};

use super::defaults::Required;
use super::load::LoadedFile;
use super::placed::Placed;
use super::references;
use crate::ast::{AnnouncedField, Item, ItemKind, MessageField, Name, RoleSide};
use crate::declarations::{Announced, Definition, Meaning, Resolution, Role, path};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::limit::LIMIT;
use crate::findings::declarations as finding;
use crate::source::Span;
use crate::suggest::nearest;

/// What an item gives a name to. Messages, groups, definitions, keys and shapes have one name space each with the exception that
/// messages and groups share theirs: both stand behind `!` and `?`.
#[derive(PartialEq, Eq, Hash)]
enum Slot<'a> {
    Message(&'a str),
    Definition(Option<&'a str>, &'a str),
    Key(&'a str),
    Shape(&'a str),
}

/// Every item in order, imports first, an overridden one replaced in its place.
pub(super) fn collect<'a>(files: &'a [LoadedFile], diagnostics: &mut Vec<Diagnostic>) -> Vec<Placed<'a>> {
    let mut result: Vec<Placed<'a>> = Vec::new();
    let mut slots: HashMap<Slot<'a>, usize> = HashMap::new();
    for file in files {
        let types = file.tree.items.iter().find_map(|item| match &item.kind {
            ItemKind::Types(path) => Some(path),
            _ => None,
        });
        for item in &file.tree.items {
            let mut placed = Placed { item, types, imported: file.imported, earlier: Vec::new() };
            // The roles of an imported file are its own, with the session types that stand at their names.
            let is_foreign_role = file.imported && matches!(item.kind, ItemKind::Role { .. });
            let Some((slot, name)) = slot(item).filter(|_| !is_foreign_role) else {
                if let Some(span) = item.overrides {
                    diagnostics.push(finding::nothing_to_override(span, None));
                }
                result.push(placed);
                continue;
            };
            match (slots.get(&slot).and_then(|index| result.get_mut(*index)), item.overrides) {
                (Some(earlier), Some(_)) if earlier.imported => {
                    placed.earlier = std::mem::take(&mut earlier.earlier);
                    placed.earlier.push(earlier.item);
                    *earlier = placed;
                }
                (Some(earlier), Some(span)) => {
                    diagnostics.push(finding::override_of_own_item(span, name, earlier.item.span));
                }
                (Some(earlier), None) => {
                    let first = slot_name(earlier.item).map_or(earlier.item.span, |name| name.span);
                    diagnostics.push(finding::declared_twice(
                        name,
                        first,
                        earlier.imported && !placed.imported,
                    ));
                }
                (None, overrides) => {
                    if let Some(span) = overrides {
                        let imported = result.iter().filter(|earlier| earlier.imported);
                        let names =
                            imported.filter_map(|earlier| Some(slot_name(earlier.item)?.text.as_str()));
                        let shapes = result.iter().filter(|earlier| earlier.imported);
                        let mut shapes = shapes.flat_map(|earlier| earlier.item.shapes());
                        // What is not shown costs no search.
                        let is_shown = diagnostics.len() < LIMIT;
                        let near = is_shown.then(|| nearest(&name.text, names)).flatten();
                        let carrier = match slot {
                            Slot::Shape(own) if is_shown => {
                                shapes.find(|shape| shape.name.text == own).and_then(|shape| shape.carrier)
                            }
                            _ => None,
                        };
                        diagnostics.push(match (carrier, near) {
                            (Some(carrier), _) => finding::override_of_a_payload(span, name, carrier),
                            (None, Some(near)) => finding::misspelt_override(span, name, near),
                            (None, None) => finding::nothing_to_override(span, Some(name)),
                        });
                    }
                    slots.insert(slot, result.len());
                    result.push(placed);
                }
            }
        }
    }
    result
}

fn slot(item: &Item) -> Option<(Slot<'_>, &Name)> {
    match &item.kind {
        ItemKind::Request(request) => Some((Slot::Message(&request.name.text), &request.name)),
        ItemKind::Notification(notification) => {
            Some((Slot::Message(&notification.name.text), &notification.name))
        }
        ItemKind::Group { name, operator: crate::ast::GroupOperator::Define, .. } => {
            Some((Slot::Message(&name.text), name))
        }
        ItemKind::Definition { role, name, .. } => {
            Some((Slot::Definition(role.as_ref().map(|role| role.text.as_str()), &name.text), name))
        }
        ItemKind::Key { name, .. } => Some((Slot::Key(&name.text), name)),
        ItemKind::Shape { name, .. } => Some((Slot::Shape(&name.text), name)),
        ItemKind::Role { body: Some(_), name, .. } => Some((Slot::Definition(None, &name.text), name)),
        _ => None,
    }
}

fn slot_name(item: &Item) -> Option<&Name> {
    slot(item).map(|(_, name)| name)
}

/// The protocol's name, and where capabilities and the version are announced.
pub(super) fn announce(
    items: &[Placed<'_>],
    sides: &Sides<'_>,
    resolution: &mut Resolution,
    diagnostics: &mut Vec<Diagnostic>,
) {
    // What messages require is looked at if there is a default, and once.
    let mut required = None;
    let mut version: Option<Span> = None;
    for placed in items {
        // An import brings what can be shared, never what a file says about itself.
        if placed.imported {
            continue;
        }
        match &placed.item.kind {
            ItemKind::Protocol { name, version, envelope } => {
                if let Some(first) = &resolution.declarations.name {
                    diagnostics.push(finding::declared_twice(name, first.span, false));
                    continue;
                }
                let declarations = &mut resolution.declarations;
                declarations.name = Some(name.clone());
                declarations.version = version.as_ref().map(|version| version.name.text.clone());
                declarations.numeric_version = version.as_ref().is_some_and(|version| version.is_number);
                declarations.batch = envelope.batch.is_some();
                declarations.dialect = envelope.dialect.map(|(_, dialect)| dialect).unwrap_or_default();
                declarations.reuses_ids = envelope.reuses_ids.is_some();
                declarations.documentation.clone_from(&placed.item.documentation);
            }
            ItemKind::Capabilities { role, field, open, defaults, error } => {
                let Some(side) = sides.side(&role.text) else {
                    diagnostics.push(finding::unknown_role(role, sides.names()));
                    continue;
                };
                let defaults = if defaults.is_empty() {
                    Vec::new()
                } else {
                    let required = required.get_or_insert_with(|| Required::of(resolution));
                    required.defaults(side, defaults, resolution, diagnostics)
                };
                let (message, table) = match field {
                    AnnouncedField::Message(field) => {
                        let found = message_field(field, resolution, diagnostics);
                        (field.message.span, found.map(|field| machine::Announcement::new(side, field)))
                    }
                    AnnouncedField::EachRequest { path: field, span } => {
                        (*span, Some(machine::Announcement::in_each_request(side, path(field))))
                    }
                };
                if let Some(mut table) = table {
                    table.defaults = defaults.into();
                    table.open = open.is_some();
                    table.error = *error;
                    resolution.declarations.announcements.push(Announced { table, message });
                }
            }
            ItemKind::Version { field, error } => {
                if let Some(first) = version.replace(placed.item.span) {
                    diagnostics.push(finding::version_twice(placed.item.span, first));
                    continue;
                }
                resolution.declarations.version_field = match field {
                    AnnouncedField::Message(field) => {
                        message_field(field, resolution, diagnostics).map(machine::VersionField::Message)
                    }
                    AnnouncedField::EachRequest { path: field, .. } => {
                        let place = machine::RequestVersion::new(path(field), *error);
                        Some(machine::VersionField::EachRequest(place))
                    }
                };
            }
            _ => {}
        }
    }
}

pub(super) fn message_field(
    field: &MessageField,
    resolution: &Resolution,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<machine::Field> {
    match resolution.names.get(&field.message.text) {
        Some(Meaning::Message(message)) => Some(machine::Field::new(*message, path(&field.path))),
        _ => {
            diagnostics.push(finding::undefined_message(&field.message, resolution));
            None
        }
    }
}

/// What stands for a side.
pub(super) struct Sides<'a> {
    /// `client`, `server` and every role's own name, the first of a name.
    by_name: HashMap<&'a str, Side>,
    /// The same in order, without those that are too many.
    names: Vec<String>,
}

impl<'a> Sides<'a> {
    pub(super) fn of(items: &[Placed<'a>]) -> Self {
        let mut by_name = HashMap::from([("client", Side::Client), ("server", Side::Server)]);
        let mut names = vec!["client".to_owned(), "server".to_owned()];
        for placed in items {
            let ItemKind::Role { side, name, .. } = &placed.item.kind else { continue };
            by_name.entry(&name.text).or_insert(side_from(*side));
            // A protocol has two; more of them have been reported.
            if names.len() < 4 {
                names.push(name.text.clone());
            }
        }
        Sides { by_name, names }
    }

    /// The side a word means.
    pub(super) fn side(&self, word: &str) -> Option<Side> {
        self.by_name.get(word).copied()
    }

    /// The words that mean a side.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}

fn side_from(side: RoleSide) -> Side {
    match side {
        RoleSide::Client => Side::Client,
        RoleSide::Server => Side::Server,
    }
}

/// The definitions and the roles.
pub(super) fn define(
    items: &[Placed<'_>],
    sides: &Sides<'_>,
    resolution: &mut Resolution,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for placed in items {
        let Placed { item, imported, .. } = placed;
        match &item.kind {
            ItemKind::Definition { role, name, only, levels, body } => {
                let side = match role {
                    None => None,
                    Some(role) => match sides.side(&role.text) {
                        Some(side) => Some(side),
                        None => {
                            // `client` and `server` are words of the language, and no names of definitions.
                            let names = sides.names();
                            let own = names.get(2..).filter(|own| !own.is_empty()).unwrap_or(names);
                            diagnostics.push(finding::unknown_role(role, own));
                            continue;
                        }
                    },
                };
                resolution.definitions.push(Definition {
                    side,
                    name: name.clone(),
                    only: *only,
                    levels: levels.clone(),
                    body: body.clone(),
                    documentation: item.documentation.clone(),
                    imported: *imported,
                    span: item.span,
                });
            }
            ItemKind::Role { side, name, body, compatible } if !imported => {
                let side = side_from(*side);
                if let Some(first) = resolution.role(side) {
                    diagnostics.push(finding::second_role(name, first));
                    continue;
                }
                if let Some(other) = resolution.role_named(&name.text) {
                    let free = |name: &&&str| {
                        let taken = items.iter().any(|placed| match &placed.item.kind {
                            ItemKind::Definition { name: other, .. } => other.text == **name,
                            _ => false,
                        });
                        !taken && !resolution.names.contains_key(**name)
                    };
                    let names = match side {
                        Side::Client => ["Client", "TheClient"],
                        Side::Server => ["Server", "TheServer"],
                    };
                    let free = names.iter().find(free).copied();
                    diagnostics.push(finding::one_name_for_both_roles(name, other, free, body.is_some()));
                    continue;
                }
                resolution.roles.push(Role { side, name: name.clone(), compatible: *compatible });
                if let Some(body) = body {
                    resolution.definitions.push(Definition {
                        side: None,
                        name: name.clone(),
                        only: None,
                        levels: Vec::new(),
                        body: body.clone(),
                        documentation: item.documentation.clone(),
                        imported: false,
                        span: item.span,
                    });
                }
            }
            _ => {}
        }
    }
    for role in &resolution.roles {
        if !resolution.definitions.iter().any(|definition| definition.name.text == role.name.text) {
            let other = resolution.role(role.side.other());
            // What only the other role may use cannot be this one's session type.
            let defined = resolution.definitions.iter().filter(|definition| {
                definition.side.is_none_or(|side| side == role.side)
                    && !resolution.is_role(&definition.name.text)
            });
            let candidates: Vec<&Name> = defined.map(|definition| &definition.name).collect();
            let rename = |from: &str, to: &str| references::rename(items, from, to);
            diagnostics.push(finding::role_without_type(role, other, &candidates, rename));
        }
    }
    // The requests' refusals need names that nothing else has.
    for message in &resolution.declarations.messages {
        if let Kind::Refusal { .. } = message.table.kind
            && let Some(Meaning::Group(_)) = resolution.names.get(message.table.name.as_ref())
        {
            let name = Name { text: message.table.name.to_string(), span: message.span };
            diagnostics.push(finding::declared_twice(&name, message.span, false));
        }
    }
}
