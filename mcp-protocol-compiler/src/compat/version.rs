//! One of the two files that are compared, as the comparison reads it.

use std::collections::BTreeSet;
use std::fmt;

use mcp_protocol_machine::protocol::{MessageIndex, Origin, Side, Text};

use super::senders::Senders;
use super::shapes::ShapeTables;
use crate::automaton::Automaton;
use crate::compiled::Compiled;
use crate::declarations::{Declarations, Message};

/// Which of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Age {
    /// The first.
    Old,
    /// The second.
    New,
}

impl Age {
    /// The other file.
    pub const fn other(self) -> Age {
        match self {
            Age::Old => Age::New,
            Age::New => Age::Old,
        }
    }

    /// `old`, `new`
    pub const fn word(self) -> &'static str {
        match self {
            Age::Old => "old",
            Age::New => "new",
        }
    }

    pub(super) const fn place(self) -> usize {
        match self {
            Age::Old => 0,
            Age::New => 1,
        }
    }
}

/// One role of one file: `the old client`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Peer {
    /// The file.
    pub age: Age,
    /// The role.
    pub side: Side,
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = self.side.word();
        write!(formatter, "the {} {side}", self.age.word())
    }
}

/// One of the files.
pub(super) struct Version<'a> {
    pub(super) age: Age,
    pub(super) declarations: &'a Declarations,
    pub(super) shapes: ShapeTables,
    pub(super) client: Option<Automaton>,
    pub(super) server: Option<Automaton>,
    senders: Senders,
}

impl<'a> Version<'a> {
    pub(super) fn new(age: Age, compiled: &'a Compiled) -> Version<'a> {
        let declarations = &compiled.declarations;
        let client = compiled.client.as_deref().map(as_written);
        let server = compiled.server.as_deref().map(as_written);
        Version {
            age,
            declarations,
            shapes: ShapeTables::new(&declarations.shapes),
            senders: Senders::new(declarations, client.iter().chain(&server)),
            client,
            server,
        }
    }

    pub(super) fn role(&self, side: Side) -> Option<&Automaton> {
        match side {
            Side::Client => self.client.as_ref(),
            Side::Server => self.server.as_ref(),
        }
    }

    pub(super) fn message(&self, index: MessageIndex) -> Option<&'a Message> {
        self.declarations.message(index)
    }

    pub(super) fn name(&self, index: MessageIndex) -> &'a str {
        self.declarations.message_name(index)
    }

    /// Whether requests carry the token of their progress at a path.
    pub(super) fn has_token_at(&self, path: &[Text]) -> bool {
        let messages = self.declarations.indices().filter_map(|index| self.message(index));
        let mut reports = messages.filter_map(|message| message.table.reports.as_ref());
        reports.any(|reports| reports.of.iter().any(|own| own.as_ref() == path))
    }

    /// Which sides send a message, by the roles that the file has.
    pub(super) fn senders(&self, index: MessageIndex) -> &BTreeSet<Side> {
        self.senders.of(index)
    }
}

/// A role as its text has it: what the compiler added for messages that may come late is not compared, because it makes
/// different roles equal.
fn as_written(automaton: &Automaton) -> Automaton {
    let mut role = automaton.clone();
    role.states.iter_mut().for_each(|state| state.edges.retain(|edge| edge.origin != Origin::Closure));
    role
}
