//! The tables: a protocol as data.
//!
//! The compiler writes these tables, as constants in generated code or as owned values from a file that is read at run
//! time. The checker, the runtime and the tools read one type, [`Protocol`]. The tables have data and no behaviour.
//!
//! Every list is a [`Cow`], so that a `static` in generated code borrows and a protocol loaded from a file owns.

mod build;
mod dialect;
pub mod edges;
mod gate;
mod level;
mod message;
mod role;
mod shape;

use std::borrow::Cow;

pub use self::dialect::Dialect;
pub use self::gate::Capability;
pub use self::level::{Level, Strictness};
pub use self::message::{
    Cancels, Condition, During, Gate, Holder, Key, KeyPlace, Kind, Message, MessageKey, Payload, Reports,
    Requirement, Rounds,
};
pub use self::role::{Action, Advice, Edge, Only, Origin, Role, State, StateKind};
pub use self::shape::{Literal, NamedShape, Of, Position, Presence, Record, RecordField, Shape};

/// A piece of text in the tables.
pub type Text = Cow<'static, str>;

/// A list in the tables.
pub type List<T> = Cow<'static, [T]>;

/// A JSON path: the keys to follow from the top of a payload, one by one. An empty one leads to the payload itself.
pub type Path = List<Text>;

/// The position in a list that a key of a path stands for, if it is a whole number: `0` is the first element. In an object
/// the same key is the name of a member.
pub fn position(key: &str) -> Option<usize> {
    let is_plain = key == "0" || !key.starts_with('0') && key.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { key.parse().ok() } else { None }
}

/// A whole protocol: its messages and the state machine of each role.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Protocol {
    /// The name after `protocol`, for instance `Mcp`.
    pub name: Text,
    /// The revision after the name, for instance `2025-03-26`.
    pub version: Option<Text>,
    /// Whether the revision stands in messages as a whole number, and not as a text.
    pub numeric_version: bool,
    /// Whether JSON-RPC batches are allowed.
    pub batch: bool,
    /// Which JSON-RPC its messages are.
    pub dialect: Dialect,
    /// Whether a request may have the id of an exchange of its sender that is over.
    pub reuses_ids: bool,
    /// Every message; a [`MessageIndex`] points in here. Each request is followed somewhere by its replies and its
    /// refusal, which are messages of their own.
    pub messages: List<Message>,
    /// Every capability that some message needs, and what messages are permitted `during`, each once; a [`GateIndex`]
    /// points in here.
    pub gates: List<Gate>,
    /// Every key that ties messages to a running sub-session, each once; a [`KeyIndex`] points in here.
    pub keys: List<Key>,
    /// Every shape that the file declares, each name once; a [`ShapeIndex`] points in here.
    pub shapes: List<NamedShape>,
    /// Where each role announces what it can do.
    pub announcements: List<Announcement>,
    /// Where messages say which revision they are written in.
    pub version_field: Option<VersionField>,
    /// The machine of the role declared with `client`, in its own point of view.
    pub client: Option<Role>,
    /// The machine of the role declared with `server`, in its own point of view.
    pub server: Option<Role>,
}

impl Protocol {
    /// The machine of one side, if that side is declared.
    pub fn role(&self, side: Side) -> Option<&Role> {
        match side {
            Side::Client => self.client.as_ref(),
            Side::Server => self.server.as_ref(),
        }
    }

    /// The message at an index.
    pub fn message(&self, index: MessageIndex) -> Option<&Message> {
        self.messages.get(usize::from(index.0))
    }

    /// The capability at an index.
    pub fn gate(&self, index: GateIndex) -> Option<&Gate> {
        self.gates.get(usize::from(index.0))
    }

    /// The gates that a request grants while it runs, because messages are permitted `during` it. `applies` is asked
    /// whether its params fit a condition.
    pub fn granted_during<'a>(
        &'a self,
        request: MessageIndex,
        applies: impl Fn(&Condition) -> bool + 'a,
    ) -> impl Iterator<Item = GateIndex> + 'a {
        self.gates.iter().enumerate().filter_map(move |(place, gate)| {
            let during = gate.during.as_ref().filter(|during| during.requests.contains(&request))?;
            let applies = during.condition.as_ref().is_none_or(&applies);
            u16::try_from(place).ok().filter(|_| applies).map(GateIndex)
        })
    }

    /// Whether the gates of a side are open until it has announced what it can do.
    pub fn is_open_until_announced(&self, side: Side) -> bool {
        self.announcements.iter().any(|announcement| announcement.side == side && announcement.open)
    }

    /// Where each request of a side announces what the side can do during this request; nothing if the side announces in
    /// other messages, or not at all.
    pub fn announcement_of_each_request(&self, side: Side) -> Option<&Announcement> {
        self.announcements
            .iter()
            .find(|announcement| announcement.side == side && announcement.message.is_none())
    }

    /// Whether each request of a side announces what the side can do during this request.
    pub fn announces_in_each_request(&self, side: Side) -> bool {
        self.announcement_of_each_request(side).is_some()
    }

    /// Where the revision that governs the whole session is announced; nothing if no message announces one.
    pub fn announced_version(&self) -> Option<&Field> {
        match &self.version_field {
            Some(VersionField::Message(field)) => Some(field),
            _ => None,
        }
    }

    /// Where each request says its revision; nothing if one message announces it, or none.
    pub fn version_of_each_request(&self) -> Option<&RequestVersion> {
        match &self.version_field {
            Some(VersionField::EachRequest(place)) => Some(place),
            _ => None,
        }
    }

    /// Every message with its index, in order.
    pub fn indexed(&self) -> impl Iterator<Item = (MessageIndex, &Message)> {
        (0..=u16::MAX).map(MessageIndex).zip(self.messages.iter())
    }

    /// The requests and notifications of one method, in order; several only where conditions tell them apart. A method
    /// that none has is that of the longest [pattern](Message::pattern) of each kind. This walks through all messages: a
    /// caller that asks for each message builds a [`crate::Lookup`].
    pub fn by_method<'a>(&'a self, method: &'a str) -> impl Iterator<Item = (MessageIndex, &'a Message)> {
        let opening = || {
            self.indexed().filter(|(_, message)| matches!(message.kind, Kind::Request | Kind::Notification))
        };
        let is = move |message: &Message| message.pattern().is_none() && message.method == method;
        // The length of the pattern that the method fits.
        let fits = move |message: &Message| {
            message.pattern().filter(|prefix| method.starts_with(*prefix)).map(str::len)
        };
        let longest = |kind| {
            let of_kind = opening().filter(|(_, message)| message.kind == kind);
            of_kind.filter_map(|(_, message)| fits(message)).max()
        };
        let is_listed = opening().any(|(_, message)| is(message));
        let (request, notification) = (longest(Kind::Request), longest(Kind::Notification));
        opening().filter(move |(_, message)| {
            let longest = if message.kind == Kind::Request { request } else { notification };
            if is_listed { is(message) } else { longest.is_some() && fits(message) == longest }
        })
    }

    /// The key at an index.
    pub fn key(&self, index: KeyIndex) -> Option<&Key> {
        self.keys.get(usize::from(index.0))
    }

    /// The shape at an index.
    pub fn shape(&self, index: ShapeIndex) -> Option<&NamedShape> {
        self.shapes.get(usize::from(index.0))
    }

    /// The shape with this name in the `.session` file.
    pub fn shape_by_name(&self, name: &str) -> Option<(ShapeIndex, &NamedShape)> {
        (0..=u16::MAX).map(ShapeIndex).zip(self.shapes.iter()).find(|(_, shape)| shape.name == name)
    }

    /// Whether a message may be uncorrelated by a key that it carries.
    pub fn is_open(&self, carried: &MessageKey) -> bool {
        carried.open || self.key(carried.key).is_some_and(|key| key.open)
    }

    /// The message with this name in the `.session` file.
    pub fn by_name(&self, name: &str) -> Option<(MessageIndex, &Message)> {
        self.indexed().find(|(_, message)| message.name == name)
    }
}

/// One of the two sides of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The side declared with `client`.
    Client,
    /// The side declared with `server`.
    Server,
}

impl Side {
    /// The other side.
    pub const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    /// How the side is called in the language: `client` or `server`.
    ///
    /// ```
    /// use mcp_protocol_machine::protocol::Side;
    ///
    /// assert_eq!(Side::Client.other().word(), "server");
    /// ```
    pub const fn word(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

/// Which way a message goes, seen from the role whose machine it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// `!`: this role sends.
    Send,
    /// `?`: this role receives.
    Receive,
}

impl Direction {
    /// The same message, seen from the other role.
    pub const fn flip(self) -> Direction {
        match self {
            Direction::Send => Direction::Receive,
            Direction::Receive => Direction::Send,
        }
    }
}

/// Points into [`Protocol::messages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageIndex(pub u16);

/// Points into [`Role::states`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateIndex(pub u32);

/// Points into [`Protocol::gates`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GateIndex(pub u16);

/// Points into [`Protocol::keys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyIndex(pub u16);

/// Points into [`Protocol::shapes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShapeIndex(pub u16);

/// Where a side announces its capabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Announcement {
    /// Who announces.
    pub side: Side,
    /// In which message; nothing if each request of that side announces what the side can do during this request.
    pub message: Option<MessageIndex>,
    /// Where in the payload.
    pub path: Path,
    /// What is announced as well by a capability with nothing in it: `elicitation.form` by `elicitation: {}`.
    pub defaults: List<GateIndex>,
    /// The gates of this side are open until it has announced what it can do.
    pub open: bool,
    /// The code of the error that refuses a request which announces too little, if it is not that of invalid params.
    pub error: Option<i64>,
}

/// A place in the payload of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// The message.
    pub message: MessageIndex,
    /// The path in its payload.
    pub path: Path,
}

/// Where messages say which revision they are written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionField {
    /// One message announces the revision that governs the session.
    Message(Field),
    /// Each request says its own revision, which governs this request alone.
    EachRequest(RequestVersion),
}

/// Where each request says its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestVersion {
    /// The path in its params.
    pub path: Path,
    /// The code of the error that refuses a request of another revision, if it is not that of invalid params.
    pub error: Option<i64>,
}
