//! What is declared, and the definitions to build machines from: what `resolve` gives and every later stage reads.

pub(crate) mod restrict;
mod shapes;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;

use mcp_protocol_machine::protocol::{self as machine, Condition, Dialect, MessageIndex, Side};

use crate::ast::{
    self, Choice, JsonPath, Level, Name, RustPath, Sequence, Tail, built_in_meant, is_built_in,
};
use crate::source::Span;

pub use self::shapes::{Alternative, DeclaredShape, Field, Form, Position, Record, Shapes};
pub(crate) use self::shapes::{MOST_POSITIONS, ShapePart, is_struct, number, pascal};

/// All that is declared, after imports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declarations {
    /// The protocol's name and place.
    pub name: Option<Name>,
    /// The protocol's revision, without quotes.
    pub version: Option<String>,
    /// Whether the revision is a number.
    pub numeric_version: bool,
    /// Whether batches are allowed.
    pub batch: bool,
    /// Which JSON-RPC messages are.
    pub dialect: Dialect,
    /// Whether a request may have the id of an exchange that is over.
    pub reuses_ids: bool,
    /// Documentation of the `protocol` item.
    pub documentation: Vec<String>,
    /// Every message; [`machine::MessageIndex`] points in here. A request is followed by its replies and then by its
    /// refusal, named `{Request}Error`.
    pub messages: Vec<Message>,
    /// Every capability path that some message needs, each once.
    pub gates: Vec<machine::Gate>,
    /// Every key; [`machine::KeyIndex`] points in here.
    pub keys: Vec<Key>,
    /// Where each role announces what it can do.
    pub announcements: Vec<Announced>,
    /// What payloads may be; [`Form::Named`] and [`PayloadType::Shape`] point in here.
    pub shapes: Vec<DeclaredShape>,
    /// Where messages say which revision they are written in.
    pub version_field: Option<machine::VersionField>,
}

impl Declarations {
    /// The message at an index.
    pub fn message(&self, index: MessageIndex) -> Option<&Message> {
        self.messages.get(usize::from(index.0))
    }

    /// The name of the message at an index, for texts.
    pub fn message_name(&self, index: MessageIndex) -> &str {
        self.message(index).map_or("?", |message| &message.table.name)
    }

    /// Whether a message may be uncorrelated by a key that it carries.
    pub fn is_open(&self, carried: &machine::MessageKey) -> bool {
        carried.open || self.keys.get(usize::from(carried.key.0)).is_some_and(|key| key.table.open)
    }

    /// The name of the key at an index, for texts.
    pub fn key_name(&self, index: machine::KeyIndex) -> &str {
        self.keys.get(usize::from(index.0)).map_or("?", |key| &key.table.name)
    }

    /// The notification that cancels a request and thereby ends its exchange: no reply follows.
    pub fn ends_by_cancel(&self) -> Option<MessageIndex> {
        self.indices().find(|index| {
            let cancels = self.message(*index).and_then(|message| message.table.cancels.as_ref());
            cancels.is_some_and(|cancels| cancels.reply_error.is_none())
        })
    }

    /// The message without a condition of the method that a message has: as that one the payloads of others are read whose
    /// gates are closed.
    pub fn without_condition(&self, index: MessageIndex) -> Option<MessageIndex> {
        let own = &self.message(index)?.table;
        let is_it = |table: &machine::Message| {
            table.condition.is_none() && table.kind == own.kind && table.method == own.method
        };
        self.indices().find(|other| self.message(*other).is_some_and(|message| is_it(&message.table)))
    }

    /// The replies of a request, without its refusal.
    pub fn replies(&self, request: MessageIndex) -> impl Iterator<Item = MessageIndex> + '_ {
        let answers = self.answers(request);
        answers.filter(move |(_, kind)| *kind == machine::Kind::Reply { request }).map(|(index, _)| index)
    }

    /// The refusal of a request.
    pub fn refusal(&self, request: MessageIndex) -> Option<MessageIndex> {
        let mut answers = self.answers(request);
        answers.find(|(_, kind)| *kind == machine::Kind::Refusal { request }).map(|(index, _)| index)
    }

    /// What follows a request: its replies and its refusal.
    fn answers(
        &self,
        request: MessageIndex,
    ) -> impl Iterator<Item = (MessageIndex, machine::Kind)> + use<'_> {
        (request.0.saturating_add(1)..u16::MAX)
            .map(MessageIndex)
            .map_while(|index| Some((index, self.message(index)?.table.kind)))
            .take_while(move |(_, kind)| match kind {
                machine::Kind::Reply { request: answered } | machine::Kind::Refusal { request: answered } => {
                    *answered == request
                }
                machine::Kind::Request | machine::Kind::Notification => false,
            })
    }

    /// Every message's index.
    pub fn indices(&self) -> impl Iterator<Item = MessageIndex> + use<> {
        (0..u16::try_from(self.messages.len()).unwrap_or(u16::MAX)).map(MessageIndex)
    }

    /// Whether nothing was declared, so that the session types stand for themselves.
    pub fn bare(&self) -> bool {
        self.messages.iter().all(|message| message.undeclared)
    }
}

/// A key as declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// What goes into the tables.
    pub table: machine::Key,
    /// Its name in the declaration, or `open` before it.
    pub span: Span,
}

/// `capabilities ROLE = Message.path`, `capabilities ROLE = each request.path`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// What goes into the tables.
    pub table: machine::Announcement,
    /// Where the message is named, or from `each` on.
    pub message: Span,
}

/// One message as declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What goes into the tables.
    pub table: machine::Message,
    /// The name in its declaration; a refusal has its request's.
    pub span: Span,
    /// Where each `requires` stands, in the order of the table's.
    pub requires: Vec<Span>,
    /// Documentation comments before the declaration.
    pub documentation: Vec<String>,
    /// The payload's Rust type.
    pub payload: PayloadType,
    /// The name after `as`.
    pub call_name: Option<Name>,
    /// The requests of the receiver that must be running, one of each.
    pub during: Vec<During>,
    /// Where `cancellable until reply` stands.
    pub until_reply: Option<Span>,
    /// For a request whose result may come in pages, how one leads to the next.
    pub pages: Option<Pages>,
    /// For a bare session type without declarations: the message was made up from its use.
    pub undeclared: bool,
}

impl Message {
    /// Whether it may not be sent at some times, or with some announcements.
    pub(crate) fn has_gate(&self) -> bool {
        !self.table.requires.is_empty() || !self.during.is_empty()
    }

    /// A message of which nothing is known but its name, kind and method.
    pub(crate) fn plain(name: &Name, kind: machine::Kind, method: &str) -> Self {
        Message {
            table: machine::Message::new(
                Cow::Owned(name.text.clone()),
                kind,
                Cow::Owned(method.to_owned()),
                machine::Payload::None,
            ),
            span: name.span,
            requires: Vec::new(),
            documentation: Vec::new(),
            payload: PayloadType::None,
            call_name: None,
            during: Vec::new(),
            until_reply: None,
            pages: None,
            undeclared: false,
        }
    }
}

/// `during R | G if PATH`: the message is permitted only while one of these requests of its receiver runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct During {
    /// What goes into the tables.
    pub table: machine::During,
    /// What is written, and the requests that each name stands for.
    pub names: Vec<(Name, Vec<MessageIndex>)>,
    /// The modifier.
    pub span: Span,
}

/// How one page of a result leads to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages {
    /// Where the request carries the cursor.
    pub cursor: machine::Path,
    /// Where the result carries the next one; the last page has none.
    pub next: machine::Path,
    /// The modifier.
    pub span: Span,
}

/// The payload's Rust type; whether it may be absent is in [`machine::Message::payload`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PayloadType {
    /// Nothing, or `null`.
    None,
    /// `serde_json::Value`.
    Any,
    /// A type, its path complete: `(T)` has the `types` module of its own file in front.
    Type(RustPath),
    /// A declared shape.
    Shape {
        /// Its number in [`Declarations::shapes`].
        index: usize,
        /// Its name.
        name: String,
    },
}

/// What resolving gives: what is declared, and the definitions to build machines from.
#[derive(Clone, Debug, Default)]
pub struct Resolution {
    /// Messages, gates, announcements.
    pub declarations: Declarations,
    /// Messages and groups by name.
    pub names: HashMap<String, Meaning>,
    /// Definitions in order of appearance; an overridden one is replaced.
    pub definitions: Vec<Definition>,
    /// Where a name is in `definitions`: for one side only, or for both.
    pub definition_places: HashMap<(Option<Side>, String), usize>,
    /// The roles, at most one a side.
    pub roles: Vec<Role>,
    /// With how many names it has been compared what was meant by others.
    compared: Cell<usize>,
}

/// A message beyond the limit of messages; that has been reported.
pub(crate) const NO_MESSAGE: MessageIndex = MessageIndex(u16::MAX);

/// The number of the next of some things that the tables number, if there is one left. The last number stands for
/// nothing.
pub(crate) fn next_number<T>(things: &[T]) -> Option<u16> {
    u16::try_from(things.len()).ok().filter(|number| *number < u16::MAX)
}

/// With how many names it is compared what was meant by others, in all; enough for a hundred mistakes among the
/// names of any protocol that people write.
const MOST_COMPARED: usize = 200_000;

impl Resolution {
    /// Whether to look for what was meant by a name among all others: not where that would take too long.
    pub(crate) fn may_guess(&self) -> bool {
        let names = self.names.len() + self.definitions.len();
        self.compared.set(self.compared.get().saturating_add(names));
        self.compared.get() <= MOST_COMPARED
    }

    /// The role of a side, if there is one.
    pub fn role(&self, side: Side) -> Option<&Role> {
        self.roles.iter().find(|role| role.side == side)
    }

    /// The role with a name, if there is one.
    pub fn role_named(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name.text == name)
    }

    /// Whether a name is that of a role.
    pub fn is_role(&self, name: &str) -> bool {
        self.role_named(name).is_some()
    }

    /// The definition that a name means for a side: its own before the common one.
    pub fn definition(&self, name: &str, side: Side) -> Option<usize> {
        let find = |wanted| self.definition_places.get(&(wanted, name.to_owned())).copied();
        find(Some(side)).or_else(|| find(None))
    }
}

/// What a name in an action stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// One message.
    Message(MessageIndex),
    /// Several, in the group's order.
    Group(Vec<MessageIndex>),
}

impl Meaning {
    /// The message, or those of the group.
    pub fn messages(&self) -> &[MessageIndex] {
        match self {
            Meaning::Message(message) => std::slice::from_ref(message),
            Meaning::Group(members) => members,
        }
    }
}

/// `Name = S`, `Role::Name = S`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The side it is for, if it is for one only.
    pub side: Option<Side>,
    /// The name.
    pub name: Name,
    /// `only`: sub-sessions are suspended in the states of this definition.
    pub only: Option<ast::OnlyMark>,
    /// What is refused in the state.
    pub levels: Vec<Level>,
    /// The session type.
    pub body: Choice,
    /// Documentation comments.
    pub documentation: Vec<String>,
    /// Whether it came with an import.
    pub imported: bool,
    /// From its first to its last token.
    pub span: Span,
}

impl Definition {
    /// The name of which this is written as the dual, if it is written as nothing else.
    pub fn dual_of(&self) -> Option<&Name> {
        match self.body.branches.as_slice() {
            [Sequence { actions, tail: Tail::Dual { name, .. }, .. }] if actions.is_empty() => Some(name),
            _ => None,
        }
    }
}

/// A role and how it is to fit the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Which side.
    pub side: Side,
    /// Its name.
    pub name: Name,
    /// Where `compatible` stands.
    pub compatible: Option<Span>,
}

/// The path as the tables have it.
pub(crate) fn path(path: &JsonPath) -> machine::Path {
    Cow::Owned(path.segments.iter().map(|segment| Cow::Owned(segment.text.clone())).collect())
}

/// The condition as the tables have it.
pub(crate) fn condition(condition: &ast::Condition) -> Condition {
    Condition::new(path(&condition.path), condition.literal.as_ref().map(|literal| literal.value.clone()))
}

/// The level as the tables have it.
pub fn level(level: &Level) -> machine::Level {
    let mut found = if level.must { machine::Level::MUST } else { machine::Level::SHOULD };
    found.rule = level.rule.as_ref().map(|rule| Cow::Owned(rule.text.clone()));
    found.error = level.error;
    found
}

/// Names that are themselves wherever they are written, because Rust's prelude or the language has them.
const PRIMITIVES: &[&str] = &[
    "String", "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32",
    "u64", "u128", "usize",
];

/// Whether a name is a type of Rust itself.
pub(crate) fn is_primitive(name: &str) -> bool {
    PRIMITIVES.contains(&name)
}

/// The shape of the language that is all that a payload of this name says. Rust's `String` is one, too.
pub(crate) fn built_in_word(name: &str) -> &str {
    if name == "String" { "string" } else { name }
}

/// What other languages and JSON Schema call the types that Rust has by itself. A type of Rust with such a name can
/// still be meant: with its path.
const FOREIGN: &[(&str, &str)] = &[
    ("string", "String"),
    ("str", "String"),
    ("boolean", "bool"),
    ("number", "f64"),
    ("double", "f64"),
    ("float", "f64"),
    ("integer", "i64"),
    ("int", "i64"),
    ("long", "i64"),
    ("uint", "u64"),
    ("byte", "u8"),
];

/// What is meant by a payload that is not called as here: a shape of the language, or a type of Rust where it has none.
pub(crate) fn word_meant(name: &str) -> Option<&'static str> {
    let rust = name_in_rust(name).filter(|_| !is_built_in(name))?;
    Some(built_in_meant(name).unwrap_or(rust))
}

/// Rust's name of a type that another language calls `name`.
pub(crate) fn name_in_rust(name: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(foreign, _)| *foreign == name).map(|(_, rust)| *rust)
}
