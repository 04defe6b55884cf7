//! Which messages of two files are one message: those that are one on the wire.

use std::collections::HashMap;

use mcp_protocol_machine::protocol::{Condition, Kind, MessageIndex};

use super::version::{Age, Version};
use crate::automaton::Automaton;
use crate::declarations::Declarations;

/// What a message is on the wire. Replies and refusals are those of their request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Identity {
    Request(String, Option<Condition>),
    Notification(String, Option<Condition>),
    Reply(MessageIndex, Option<Condition>),
    Refusal(MessageIndex),
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
        let (mut wire, mut known) = (Wire::default(), HashMap::new());
        wire.number(Age::Old, old, &mut known);
        wire.number(Age::New, new, &mut known);
        wire
    }

    fn number(&mut self, age: Age, declarations: &Declarations, known: &mut HashMap<Identity, MessageIndex>) {
        for index in declarations.indices() {
            let Some(table) = declarations.message(index).map(|message| &message.table) else { continue };
            let (method, condition) = (table.method.to_string(), table.condition.clone());
            // A request stands before its replies.
            let of_request = |request| self.common(age, request);
            let identity = match table.kind {
                Kind::Request => Some(Identity::Request(method, condition)),
                Kind::Notification => Some(Identity::Notification(method, condition)),
                Kind::Reply { request } => {
                    of_request(request).map(|request| Identity::Reply(request, condition))
                }
                Kind::Refusal { request } => of_request(request).map(Identity::Refusal),
            };
            let next = MessageIndex(u16::try_from(self.messages.len()).unwrap_or(u16::MAX));
            let mut number = identity.map_or(next, |identity| *known.entry(identity).or_insert(next));
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
