//! What the comparison of a client and a server of two files finds, and its words.

use mcp_protocol_machine::protocol::{Condition, Kind, MessageIndex, Side};

use super::version::{Age, Peer, Version};
use super::wire::Wire;
use crate::declarations::During;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::source::{SourceMap, Span};

/// What kind of thing is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// A role may send a message that the other does not accept then.
    Message,
    /// The roles otherwise differ in order: who may close, what runs side by side, who waits for whom.
    Order,
    /// A receiver demands a capability that the sender does not ask for.
    Capability,
    /// A receiver refuses a payload that the sender may write.
    Payload,
    /// A message is tied to requests or sub-sessions in another way.
    Tie,
    /// The files differ in what every message is like, or in where revisions and capabilities are announced.
    Envelope,
    /// Something cannot be compared.
    Unknown,
}

impl Rule {
    /// The code under which it is printed.
    pub const fn code(self) -> Code {
        Code(match self {
            Rule::Message => "C0001",
            Rule::Order => "C0002",
            Rule::Capability => "C0003",
            Rule::Payload => "C0004",
            Rule::Tie => "C0005",
            Rule::Envelope => "C0006",
            Rule::Unknown => "C0007",
        })
    }
}

/// One finding of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Break {
    /// What kind of thing it is.
    pub rule: Rule,
    /// The finding, with places in both files. One that is not an error breaks nothing.
    pub diagnostic: Diagnostic,
    /// The shortest exchange after which it shows; empty if it shows whenever the message is sent.
    pub exchange: Vec<Exchanged>,
    /// A payload that shows it.
    pub witness: Option<String>,
    /// The declarations that it is about.
    pub(super) subjects: Vec<Span>,
}

/// One message of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exchanged {
    /// Who sends it.
    pub sender: Side,
    /// Its name in its sender's file. If only the receiver's file has it, its payload is what the receiver reads so.
    pub message: String,
    /// In words: `` `tools/call` ``, ``the reply `ToolsResult` to `tools/call` ``.
    pub words: String,
}

impl Break {
    /// Whether the peers cannot talk because of it.
    pub fn is_error(&self) -> bool {
        self.diagnostic.severity == Severity::Error
    }

    pub(super) fn new(rule: Rule, diagnostic: Diagnostic) -> Break {
        Break { rule, diagnostic, exchange: Vec::new(), witness: None, subjects: Vec::new() }
    }

    /// It is about these declarations.
    pub(super) fn about(mut self, subjects: impl IntoIterator<Item = Span>) -> Break {
        self.subjects.extend(subjects);
        self
    }
}

/// A client of one file and a server of the other.
#[derive(Clone, Copy)]
pub(super) struct Pairing<'a> {
    pub(super) client: &'a Version<'a>,
    pub(super) server: &'a Version<'a>,
    pub(super) wire: &'a Wire,
    pub(super) sources: &'a SourceMap,
}

impl<'a> Pairing<'a> {
    /// The file of a role.
    pub(super) fn version(&self, side: Side) -> &'a Version<'a> {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }

    pub(super) fn age(&self, side: Side) -> Age {
        self.version(side).age
    }

    /// A role in words: `the old client`.
    pub(super) fn peer(&self, side: Side) -> Peer {
        Peer { age: self.age(side), side }
    }

    /// The message that a common number is in the file of a role.
    pub(super) fn of_number(&self, side: Side, number: MessageIndex) -> Option<MessageIndex> {
        self.wire.of_number(self.age(side), number)
    }

    /// The message of a sender that its receiver has, too: the receiver's index.
    pub(super) fn received_as(&self, sender: Side, index: MessageIndex) -> Option<MessageIndex> {
        self.wire.in_other(self.age(sender), index)
    }

    /// A message by what it is on the wire.
    pub(super) fn words(&self, side: Side, index: MessageIndex) -> String {
        words(self.version(side), index)
    }

    /// Whether the receiver reads a message that it does not declare as one of a pattern, `"$/*"`.
    pub(super) fn is_of_pattern(&self, sender: Side, number: MessageIndex) -> bool {
        let message = self.of_number(sender, number).and_then(|index| self.version(sender).message(index));
        let receiver = self.version(sender.other());
        let Some(message) = message.filter(|_| self.of_number(sender.other(), number).is_none()) else {
            return false;
        };
        receiver.declarations.indices().any(|index| {
            let table = receiver.message(index).map(|message| &message.table);
            let fits = table.is_some_and(|table| {
                let prefix = table.method.strip_suffix('*');
                table.kind == message.table.kind
                    && prefix.is_some_and(|prefix| message.table.method.starts_with(prefix))
            });
            fits && receiver.senders(index).contains(&sender)
        })
    }

    /// Whether what permits a message for the sender permits it for the receiver.
    pub(super) fn is_during_within(&self, sender: Side, own: &During, theirs: &During) -> bool {
        let covers = |own: &Option<Condition>, theirs: &Option<Condition>| match (own, theirs) {
            (_, None) => true,
            (Some(own), Some(theirs)) => theirs.covers(own),
            (None, Some(_)) => false,
        };
        // A request that the receiver does not know is never its own.
        let known = |request: &MessageIndex| {
            let theirs_too = self.received_as(sender, *request);
            theirs_too.is_none_or(|request| theirs.table.requests.contains(&request))
        };
        own.table.requests.iter().all(known) && covers(&own.table.condition, &theirs.table.condition)
    }

    /// A place as `file:line`.
    pub(super) fn line(&self, span: Span) -> String {
        format!("{}:{}", self.sources.path(span.file).display(), self.sources.start(span).line)
    }
}

/// A message by what it is on the wire.
pub(super) fn words(version: &Version<'_>, index: MessageIndex) -> String {
    let Some(message) = version.message(index) else { return "a message".to_owned() };
    let table = &message.table;
    let when = table.condition.as_ref().map(|condition| format!(" {condition}")).unwrap_or_default();
    let method = |request: MessageIndex| {
        version.message(request).map_or("?".to_owned(), |message| message.table.method.to_string())
    };
    match table.kind {
        Kind::Request | Kind::Notification => format!("`{}`{when}", table.method),
        Kind::Reply { request } => format!("the reply `{}` to `{}`{when}", table.name, method(request)),
        Kind::Refusal { request } => format!("an error in reply to `{}`", method(request)),
    }
}

/// Where a message is declared.
pub(super) fn declared(version: &Version<'_>, index: MessageIndex) -> Span {
    version.message(index).map_or(Span::default(), |message| message.span)
}
