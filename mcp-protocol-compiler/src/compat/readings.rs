//! What of a message is sent, and as which message of its own file the receiver reads it.
//!
//! The payload says which message of a method is meant. So a payload that its sender writes as one message is another one
//! for a receiver whose file has a message with a condition that the sender's file does not have, or has behind others.

use mcp_protocol_machine::protocol::{Condition, Direction, Kind, MessageIndex, Side};

use super::announced::{
    AllWithheld, Announceable, holder, is_default, is_open, may_come_before_announcement, path,
};
use super::found::Pairing;
use super::version::Version;
use crate::automaton::{Automaton, Edge};
use crate::declarations::restrict::{may_hold, names, restricted};
use crate::declarations::{DeclaredShape, During, Form, Message, PayloadType};
use crate::source::Span;

/// A message that the receiver reads as another one where its payload meets a condition.
pub(super) struct Reading {
    /// The message, in the sender's file.
    pub(super) sent: MessageIndex,
    /// What it is for the receiver, in the receiver's file.
    pub(super) read_as: MessageIndex,
    /// Where this is so.
    pub(super) condition: Condition,
}

/// All that a receiver reads as another message than its sender writes.
pub(super) fn readings(pairing: &Pairing<'_>, sender: Side, withheld: &AllWithheld) -> Vec<Reading> {
    let (version, receiver) = (pairing.version(sender), pairing.version(sender.other()));
    let senders = Announceable::new(version, sender);
    let mut found = Vec::new();
    for sent in version.declarations.indices() {
        let Some(received) = pairing.received_as(sender, sent) else { continue };
        let is_withheld = withheld.get(&sent).is_some_and(|withheld| withheld.always);
        if is_withheld || !version.senders(sent).contains(&sender) {
            continue;
        }
        let Some(message) = version.message(sent) else { continue };
        let shape = match &message.payload {
            PayloadType::Shape { index, .. } => Form::Named(*index),
            PayloadType::Any | PayloadType::Type(_) => Form::Any,
            PayloadType::None => continue,
        };
        // A field that a gate looks at may be there, whatever the payload's type is.
        let conditions: Vec<&Condition> =
            message.table.requires.iter().filter_map(|requirement| requirement.condition.as_ref()).collect();
        for (read_as, condition) in before((receiver, sender), received) {
            let own = pairing.received_as(sender.other(), read_as);
            let is_known = own.is_some_and(|own| {
                let is_withheld = withheld.get(&own).is_some_and(|withheld| withheld.always);
                let mut first = before((version, sender), sent);
                // The sender's condition may be one for its own shape alone.
                !is_withheld && first.any(|(first, known)| first == own && known.covers(&condition))
            });
            // A message whose capability was not announced does not exist, if there is one without a condition: that is read.
            let plain = receiver.declarations.without_condition(read_as);
            // All of the sender's are open for a receiver to which it has announced nothing so far.
            let is_open_at_first =
                is_open(receiver, sender) && may_come_before_announcement((version, sender), sent, sender);
            let exists = receiver.message(read_as).is_some_and(|message| {
                let mut of_sender = message.table.requires.iter();
                of_sender.all(|requirement| {
                    holder(requirement, sender) != sender
                        || is_open_at_first
                        || senders.may_announce(path(receiver, requirement), |_| false)
                })
            }) || plain.is_none();
            let is_named = names(&version.shapes.declared, &shape, &condition.path)
                || conditions.iter().any(|other| other.path == condition.path)
                || (message.table.kind == Kind::Request && version.has_token_at(&condition.path));
            if !is_named {
                continue;
            }
            let form = match own.filter(|_| is_known) {
                None => {
                    let meets = met_if_sent(pairing, sender, sent, withheld);
                    restricted_by(&version.shapes.declared, shape.clone(), &meets)
                }
                Some(own) => hidden(pairing, sender, (sent, own, read_as), &shape),
            };
            if !form.is_some_and(|form| may_hold(&version.shapes.declared, &form, &condition)) {
                continue;
            }
            let has_gate = receiver.message(read_as).is_some_and(Message::has_gate);
            let plain = plain.filter(|plain| has_gate && !is_known && *plain != received);
            found.extend(plain.map(|read_as| Reading { sent, read_as, condition: condition.clone() }));
            if exists {
                found.push(Reading { sent, read_as, condition });
            }
        }
    }
    found
}

/// The payloads of a message without a condition for which the sender does not look at another one of the method: that one,
/// or one that is declared before it, holds, and its gate is closed. The receiver looks at it all the same.
fn hidden(
    pairing: &Pairing<'_>,
    sender: Side,
    (sent, own, read_as): (MessageIndex, MessageIndex, MessageIndex),
    shape: &Form,
) -> Option<Form> {
    let version = pairing.version(sender);
    version.message(sent).filter(|message| message.table.condition.is_none())?;
    let conditions = before((version, sender), own).filter(|(first, _)| {
        let is_first = pairing.received_as(sender, *first).is_some_and(|first| first < read_as);
        !is_first && version.message(*first).is_some_and(Message::has_gate)
    });
    let own_condition = version.message(own).and_then(|message| message.table.condition.clone());
    let own_condition = own_condition.filter(|_| may_be_closed_for_one(pairing, sender, (own, read_as)));
    let conditions = conditions.chain(own_condition.map(|condition| (own, condition)));
    let shapes = &version.shapes.declared;
    let parts = conditions.filter_map(|(_, condition)| restricted(shapes, shape, &condition, true));
    let parts: Vec<Form> = parts.collect();
    match parts.len() {
        0 | 1 => parts.into_iter().next(),
        // Any of these may be closed.
        _ => Some(shape.clone()),
    }
}

/// Whether the gates of a message may be closed for the sender while they are open for the receiver.
fn may_be_closed_for_one(
    pairing: &Pairing<'_>,
    sender: Side,
    (own, read_as): (MessageIndex, MessageIndex),
) -> bool {
    let (version, receiver) = (pairing.version(sender), pairing.version(sender.other()));
    let (Some(own), Some(read_as)) = (version.message(own), receiver.message(read_as)) else { return false };
    let is_within_receivers = |during: &During| {
        read_as.during.iter().any(|other| pairing.is_during_within(sender.other(), other, during))
    };
    if !own.during.iter().all(is_within_receivers) {
        return true;
    }
    !own.table.requires.iter().all(|requirement| {
        let (whose, wanted) = (holder(requirement, sender), path(version, requirement));
        let is_closed_earlier = is_open(version, whose) || !is_open(receiver, whose);
        let has_default = is_default(receiver, whose, wanted) && !is_default(version, whose, wanted);
        let is_demanded = read_as.table.requires.iter().any(|other| {
            holder(other, sender) == whose
                && path(receiver, other) == wanted
                && other.condition == requirement.condition
                && other.unless == requirement.unless
        });
        is_demanded && is_closed_earlier && !has_default
    })
}

/// The same with the common numbers of both files.
pub(super) struct NumberedReading {
    pub(super) sent: MessageIndex,
    pub(super) read_as: MessageIndex,
    /// The sender's file has the message, too, and declares it in another place.
    pub(super) is_known: bool,
}

impl NumberedReading {
    /// The step of the message where what it is read as leads to another place for the sender.
    pub(super) fn crossing(&self, role: &Automaton) -> Option<Span> {
        role.states.iter().find_map(|state| {
            let step = |message| state.edges.iter().find(|edge| is_sent(edge, message));
            let (one, other) = (step(self.sent)?, step(self.read_as)?);
            (one.action != other.action).then_some(one.span)
        })
    }
}

/// What a role sends that its peer reads as another message.
pub(super) fn numbered(pairing: &Pairing<'_>, sender: Side, withheld: &AllWithheld) -> Vec<NumberedReading> {
    let common = |side: Side, index| pairing.wire.common(pairing.age(side), index);
    let found = readings(pairing, sender, withheld).into_iter().filter_map(|reading| {
        let is_known = pairing.received_as(sender.other(), reading.read_as).is_some();
        let (sent, read_as) = (common(sender, reading.sent)?, common(sender.other(), reading.read_as)?);
        Some(NumberedReading { sent, read_as, is_known })
    });
    found.collect()
}

/// Lets a role send what a message is read as wherever it sends the message.
pub(super) fn add(role: &mut Automaton, reading: &NumberedReading) {
    for state in &mut role.states {
        if !state.edges.iter().any(|edge| is_sent(edge, reading.read_as)) {
            let sent = state.edges.iter().filter(|edge| is_sent(edge, reading.sent));
            let read: Vec<Edge> =
                sent.map(|edge| Edge { message: reading.read_as, ..edge.clone() }).collect();
            state.edges.extend(read);
        }
    }
}

fn is_sent(edge: &Edge, message: MessageIndex) -> bool {
    edge.direction == Direction::Send && edge.message == message
}

/// The messages of a file that go ahead of one where a payload meets their conditions: those with a condition, of the same
/// method, that are declared before it.
fn before<'a>(
    (version, sender): (&'a Version<'_>, Side),
    index: MessageIndex,
) -> impl Iterator<Item = (MessageIndex, Condition)> + 'a {
    let table = version.message(index).map(|message| &message.table);
    let others = version.declarations.indices();
    let others = others.filter(move |other| *other != index && version.senders(*other).contains(&sender));
    others.filter_map(move |other| {
        let (one, other_table) = (table?, &version.message(other)?.table);
        let is_alike = other_table.kind == one.kind && other_table.method == one.method;
        let is_first = one.condition.is_none() || other < index;
        Some((other, other_table.condition.clone().filter(|_| is_alike && is_first)?))
    })
}

/// Conditions, each with whether a payload meets it.
pub(super) type Meets = Vec<(Condition, bool)>;

/// What holds for the payloads of a message that are really sent: those that a closed gate keeps back are not, and those that
/// another message of the method stands for are not, either.
pub(super) fn met_if_sent(
    pairing: &Pairing<'_>,
    sender: Side,
    index: MessageIndex,
    withheld: &AllWithheld,
) -> Meets {
    let version = pairing.version(sender);
    let Some(message) = version.message(index) else { return Vec::new() };
    let own = message.table.condition.iter().map(|condition| (condition.clone(), true));
    let kept_back = withheld.get(&index).map(|withheld| withheld.payloads.as_slice()).unwrap_or_default();
    let kept_back = kept_back.iter().map(|(condition, meets)| (condition.clone(), !meets));
    // A message of the method with a condition that comes first; one that is withheld does not exist.
    let is_plain = message.table.condition.is_none();
    let before = before((version, sender), index).filter(|(other, _)| {
        // What is written while the gate of the other one is closed is this message.
        let may_be_closed = is_plain && version.message(*other).is_some_and(Message::has_gate);
        !may_be_closed && !withheld.get(other).is_some_and(|withheld| withheld.always)
    });
    own.chain(kept_back).chain(before.map(|(_, condition)| (condition, false))).collect()
}

/// The payloads of a shape for which all of this holds, as a shape; nothing if there are none.
pub(super) fn restricted_by(shapes: &[DeclaredShape], form: Form, meets: &Meets) -> Option<Form> {
    meets.iter().try_fold(form, |form, (condition, meets)| restricted(shapes, &form, condition, *meets))
}
