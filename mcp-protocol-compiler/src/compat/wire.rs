//! Which messages of two files are one message: those that are one on the wire.

use std::collections::HashMap;

use mcp_protocol_machine::protocol::{Condition, Kind, MessageIndex};

use super::version::{Age, Version};
use crate::automaton::Automaton;
use crate::declarations::restrict::only_value;
use crate::declarations::{Declarations, Form, Message, PayloadType};

/// What a message is on the wire. Replies and refusals are those of their request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Identity {
    Request(String, Option<Condition>),
    Notification(String, Option<Condition>),
    Reply(MessageIndex, Option<Condition>),
    Refusal(MessageIndex),
}

/// The messages that have a number.
#[derive(Debug, Default)]
struct Numbered {
    by_identity: HashMap<Identity, MessageIndex>,
    /// Those with a condition that no message of the other file has, by that condition in other words.
    otherwise: HashMap<Identity, MessageIndex>,
}

impl Numbered {
    /// The number of a message: the known one of the same message, or else the next.
    fn number(
        &mut self,
        identity: Identity,
        otherwise: Option<Identity>,
        next: MessageIndex,
    ) -> MessageIndex {
        if let Some(known) = self.by_identity.get(&identity) {
            return *known;
        }
        let number = match otherwise {
            Some(otherwise) => *self.otherwise.entry(otherwise).or_insert(next),
            None => next,
        };
        self.by_identity.insert(identity, number);
        number
    }
}

/// The condition of a message, with the value that its shape leaves for it: `if ok` is `if ok = true` where `ok` is a `bool`.
fn tested_otherwise(declarations: &Declarations, message: &Message) -> Option<Condition> {
    let mut condition = message.table.condition.clone()?;
    if let (None, PayloadType::Shape { index, .. }) = (&condition.literal, &message.payload) {
        condition.literal = only_value(&declarations.shapes, &Form::Named(*index), &condition);
    }
    Some(condition)
}

/// Whether a file has a message with the method and the condition of another one.
fn has(declarations: &Declarations, message: &Message) -> bool {
    let own = &message.table;
    let is_reply = |kind: Kind| matches!(kind, Kind::Reply { .. });
    declarations.messages.iter().map(|message| &message.table).any(|table| {
        (table.kind == own.kind || is_reply(table.kind) && is_reply(own.kind))
            && table.method == own.method
            && table.condition == own.condition
    })
}

/// The messages of two files, numbered together.
#[derive(Debug, Default)]
pub(super) struct Wire {
    /// The number of each message of a file.
    numbers: [Vec<MessageIndex>; 2],
    /// What each number is in each file.
    messages: Vec<[Option<MessageIndex>; 2]>,
}

impl Wire {
    pub(super) fn new(old: &Declarations, new: &Declarations) -> Wire {
        let (mut wire, mut known) = (Wire::default(), Numbered::default());
        wire.number(Age::Old, old, new, &mut known);
        wire.number(Age::New, new, old, &mut known);
        wire
    }

    fn number(&mut self, age: Age, declarations: &Declarations, other: &Declarations, known: &mut Numbered) {
        for index in declarations.indices() {
            let Some(message) = declarations.message(index) else { continue };
            let next = MessageIndex(u16::try_from(self.messages.len()).unwrap_or(u16::MAX));
            let identity = self.identity(age, message, message.table.condition.clone());
            let mut number = match identity {
                None => next,
                Some(identity) => {
                    let otherwise = tested_otherwise(declarations, message).filter(|_| !has(other, message));
                    let otherwise = otherwise.and_then(|test| self.identity(age, message, Some(test)));
                    known.number(identity, otherwise, next)
                }
            };
            let is_taken = |number: MessageIndex| self.of_number(age, number).is_some() || number == next;
            if is_taken(number) {
                number = next;
                self.messages.push([None, None]);
            }
            if let Some(place) = self.messages.get_mut(usize::from(number.0)) {
                *place.get_mut(age.place()).unwrap_or(&mut None) = Some(index);
            }
            if let Some(numbers) = self.numbers.get_mut(age.place()) {
                numbers.push(number);
            }
        }
    }

    /// What a message is with a condition.
    fn identity(&self, age: Age, message: &Message, condition: Option<Condition>) -> Option<Identity> {
        let method = message.table.method.to_string();
        // A request stands before its replies.
        let of_request = |request| self.common(age, request);
        match message.table.kind {
            Kind::Request => Some(Identity::Request(method, condition)),
            Kind::Notification => Some(Identity::Notification(method, condition)),
            Kind::Reply { request } => of_request(request).map(|request| Identity::Reply(request, condition)),
            Kind::Refusal { request } => of_request(request).map(Identity::Refusal),
        }
    }

    /// The common number of a message of a file.
    pub(super) fn common(&self, age: Age, index: MessageIndex) -> Option<MessageIndex> {
        self.numbers.get(age.place())?.get(usize::from(index.0)).copied()
    }

    /// The message that a number is in a file.
    pub(super) fn of_number(&self, age: Age, number: MessageIndex) -> Option<MessageIndex> {
        *self.messages.get(usize::from(number.0))?.get(age.place())?
    }

    /// The message that a message of one file is in the other one.
    pub(super) fn in_other(&self, age: Age, index: MessageIndex) -> Option<MessageIndex> {
        self.of_number(age.other(), self.common(age, index)?)
    }

    /// A role of a file with common numbers.
    pub(super) fn renumbered(&self, version: &Version<'_>, role: &Automaton) -> Automaton {
        let mut role = role.clone();
        for edge in role.states.iter_mut().flat_map(|state| &mut state.edges) {
            let common = |index| self.common(version.age, index);
            edge.message = common(edge.message).unwrap_or(MessageIndex(u16::MAX));
            edge.cancels = edge.cancels.and_then(common);
        }
        role
    }
}
