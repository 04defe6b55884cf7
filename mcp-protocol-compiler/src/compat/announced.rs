//! Which capabilities a peer of a file may announce, and which messages its peer therefore never sends.
//!
//! A peer announces the capabilities that its own file names: in a gate, or as a field of the shape of its announcement. So
//! a message whose gate asks for another one is never sent to it.

use std::collections::{BTreeMap, BTreeSet};

use mcp_protocol_machine::protocol::{Condition, Direction, Holder, MessageIndex, Requirement, Side, Text};

use super::version::Version;
use crate::declarations::{Announced, DeclaredShape, Form, PayloadType};

/// The side whose announcement a requirement of a message asks.
pub(super) fn holder(requirement: &Requirement, sender: Side) -> Side {
    match requirement.holder {
        Holder::Side(side) => side,
        Holder::Sender => sender,
        Holder::Receiver => sender.other(),
    }
}

/// The capability of a requirement.
pub(super) fn path<'a>(version: &Version<'a>, requirement: &Requirement) -> &'a [Text] {
    let gate = version.declarations.gates.get(usize::from(requirement.gate.0));
    gate.map_or(&[], |gate| &gate.path)
}

/// The capabilities that a side of a file may announce.
pub(super) struct Announceable<'a> {
    paths: BTreeSet<&'a [Text]>,
    announcements: Vec<&'a Announced>,
    version: &'a Version<'a>,
}

impl<'a> Announceable<'a> {
    pub(super) fn new(version: &'a Version<'a>, side: Side) -> Announceable<'a> {
        let announcements: Vec<&Announced> = announcements_of(version, side).collect();
        let mut paths = BTreeSet::new();
        for index in version.declarations.indices().filter(|_| !announcements.is_empty()) {
            let Some(message) = version.message(index) else { continue };
            let senders = version.senders(index);
            for requirement in message.table.requires.iter() {
                // A message that no role sends names its capabilities, too.
                let is_of_side = match requirement.holder {
                    Holder::Side(whose) => whose == side,
                    Holder::Sender | Holder::Receiver => {
                        senders.is_empty()
                            || senders.iter().any(|sender| holder(requirement, *sender) == side)
                    }
                };
                if is_of_side {
                    paths.insert(path(version, requirement));
                }
            }
        }
        Announceable { paths, announcements, version }
    }

    /// Whether the side may announce a capability, as a reader sees it whose own file implies some by others.
    pub(super) fn may_announce(&self, wanted: &[Text], implied: impl Fn(&[Text]) -> bool) -> bool {
        let names = |wanted: &[Text]| {
            self.paths.iter().any(|path| path.starts_with(wanted)) || self.has_field(wanted)
        };
        let parent = wanted.split_last().map(|(_, parent)| parent).filter(|parent| !parent.is_empty());
        names(wanted) || (implied(wanted) && parent.is_some_and(names))
    }

    /// Whether the side may announce a capability and no part of it: because a gate asks for just this, because it has a
    /// part of it by default, or because the shape of its announcement has the field.
    pub(super) fn may_announce_alone(&self, side: Side, wanted: &[Text]) -> bool {
        let is_around = |path: &[Text]| path.split_last().is_some_and(|(_, around)| around == wanted);
        self.paths.contains(wanted) || defaults(self.version, side).any(is_around) || self.has_field(wanted)
    }

    /// Whether the shape of the announcement has a field for a capability.
    fn has_field(&self, wanted: &[Text]) -> bool {
        self.announcements.iter().any(|announced| {
            let message = announced.table.message.and_then(|message| self.version.message(message));
            let Some(PayloadType::Shape { index, .. }) = message.map(|message| &message.payload) else {
                return false;
            };
            let full: Vec<Text> = announced.table.path.iter().chain(wanted).cloned().collect();
            has_field(&self.version.shapes.declared, &Form::Named(*index), &full)
        })
    }
}

fn has_field(shapes: &[DeclaredShape], form: &Form, path: &[Text]) -> bool {
    let Some((key, rest)) = path.split_first() else { return true };
    let (mut open, mut seen) = (vec![form], BTreeSet::new());
    while let Some(form) = open.pop() {
        match form {
            Form::Named(index) if seen.insert(*index) => {
                open.extend(shapes.get(*index).map(|shape| &shape.form));
            }
            Form::Union(parts) => open.extend(parts.iter().map(|part| &part.form)),
            Form::Record(record) => {
                if let Some(field) = record.field(key) {
                    return has_field(shapes, &field.form, rest);
                }
            }
            _ => {}
        }
    }
    false
}

/// Whether a side of a file has a capability by default: one that announces the capability around it, and no part of that,
/// has it.
pub(super) fn is_default(version: &Version<'_>, side: Side, wanted: &[Text]) -> bool {
    defaults(version, side).any(|path| path == wanted)
}

/// The capabilities that a side of a file has by default.
fn defaults<'a>(version: &'a Version<'_>, side: Side) -> impl Iterator<Item = &'a [Text]> {
    let gates = announcements_of(version, side).flat_map(|announced| announced.table.defaults.iter());
    gates.filter_map(|gate| version.declarations.gates.get(usize::from(gate.0))).map(|gate| &*gate.path)
}

/// The messages with which a side of a file announces what it can do.
pub(super) fn announcements_of<'a>(
    version: &Version<'a>,
    side: Side,
) -> impl Iterator<Item = &'a Announced> + use<'a> {
    version.declarations.announcements.iter().filter(move |announced| announced.table.side == side)
}

/// Whether all gates of a side are open for a file until the side has announced something.
pub(super) fn is_open(version: &Version<'_>, side: Side) -> bool {
    announcements_of(version, side).any(|announced| announced.table.open)
}

/// Whether a sender may send a message before a side has announced what it can do.
pub(super) fn may_come_before_announcement(
    (version, sender): (&Version<'_>, Side),
    message: MessageIndex,
    side: Side,
) -> bool {
    let Some(role) = version.role(sender) else { return false };
    let announces = |message: MessageIndex| {
        announcements_of(version, side).any(|announced| announced.table.message == Some(message))
    };
    role.passes_before((Direction::Send, message), announces)
}

/// When a message is never sent to a peer of another file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Withheld {
    /// Always.
    pub(super) always: bool,
    /// Where its payload meets one of these, or does not: the flag says which.
    pub(super) payloads: Vec<(Condition, bool)>,
}

/// What a role of a pairing withholds, by the index of the message in its file.
pub(super) type AllWithheld = BTreeMap<MessageIndex, Withheld>;

/// When a sender withholds a message because a gate in its file cannot open. `other` is its peer.
pub(super) fn withheld(
    sender: (&Version<'_>, Side),
    message: MessageIndex,
    others: &Announceable<'_>,
) -> Withheld {
    let (version, side) = sender;
    let mut found = Withheld::default();
    let Some(message) = version.message(message) else { return found };
    for requirement in message.table.requires.iter() {
        if holder(requirement, side) == side {
            continue;
        }
        // Until there is an announcement, such a gate is open.
        if is_open(version, side.other()) {
            continue;
        }
        let wanted = path(version, requirement);
        if others.may_announce(wanted, |wanted| is_default(version, side.other(), wanted)) {
            continue;
        }
        match &requirement.condition {
            None => found.always = true,
            Some(condition) => {
                let own = message.table.condition.as_ref();
                if !requirement.unless && own.is_some_and(|own| condition.covers(own)) {
                    found.always = true;
                }
                found.payloads.push((condition.clone(), !requirement.unless));
            }
        }
    }
    found
}

/// A path as it is written.
pub(super) fn dotted(path: &[Text]) -> String {
    let plain =
        |key: &str| key.chars().all(|character| character.is_alphanumeric() || "_-".contains(character));
    let keys = path.iter().map(|key| if plain(key) { key.to_string() } else { format!("{key:?}") });
    keys.collect::<Vec<_>>().join(".")
}
