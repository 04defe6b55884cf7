//! The tables: a protocol as data.
//!
//! In: nothing; the compiler writes these tables, as constants in generated code or as owned values from a file
//! read at run time. Out: one type, [`Protocol`], that the checker, the runtime and the tools read. Refuses to do
//! anything: no lookups that can fail, no behaviour, only what a protocol *is*.
//!
//! Every list is a [`Cow`], so that a `static` in generated code borrows and a protocol loaded from a file owns.

use std::borrow::Cow;

/// A piece of text in the tables.
pub type Text = Cow<'static, str>;

/// A list in the tables.
pub type List<T> = Cow<'static, [T]>;

/// A JSON path: the keys to follow from the top of a payload, one by one. Never empty.
pub type Path = List<Text>;

/// A whole protocol: its messages and the state machine of each role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// The name after `protocol`, for instance `Mcp`.
    pub name: Text,
    /// The revision after the name, for instance `2025-03-26`.
    pub version: Option<Text>,
    /// Whether JSON-RPC batches are allowed.
    pub batch: bool,
    /// Every message; a [`MessageIndex`] points in here. Each request is followed somewhere by its replies and its
    /// refusal, which are messages of their own.
    pub messages: List<Message>,
    /// Every capability that some message needs, each once; a [`GateIndex`] points in here.
    pub gates: List<Gate>,
    /// Every key that ties messages to a running copy, each once; a [`KeyIndex`] points in here.
    pub keys: List<Key>,
    /// Where each role announces what it can do.
    pub announcements: List<Announcement>,
    /// Where the revision that governs the session is announced.
    pub version_field: Option<Field>,
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

    /// Every message with its index, in order.
    pub fn indexed(&self) -> impl Iterator<Item = (MessageIndex, &Message)> {
        (0..=u16::MAX).map(MessageIndex).zip(self.messages.iter())
    }

    /// The requests and notifications of one method; several only where conditions tell them apart. This walks
    /// through all messages: whoever asks once a message builds a [`crate::Lookup`].
    pub fn by_method<'a>(&'a self, method: &'a str) -> impl Iterator<Item = (MessageIndex, &'a Message)> {
        self.indexed().filter(move |(_, message)| {
            matches!(message.kind, Kind::Request | Kind::Notification) && message.method == method
        })
    }

    /// The key at an index.
    pub fn key(&self, index: KeyIndex) -> Option<&Key> {
        self.keys.get(usize::from(index.0))
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

/// One message and all that binds it to the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The name in the `.session` file; a refusal is named after its request, `InitializeError`.
    pub name: Text,
    /// Request, notification, reply or refusal.
    pub kind: Kind,
    /// The JSON-RPC method; a reply and a refusal have their request's.
    pub method: Text,
    /// What stands in `params` or `result`.
    pub payload: Payload,
    /// The condition on the payload that tells this message from others of the same method.
    pub condition: Option<Condition>,
    /// The capabilities that must have been announced, all of them.
    pub requires: List<Requirement>,
    /// Whether the runtime answers by itself, with an empty result.
    pub answered: bool,
    /// Whether the side that sent this request may take it back.
    pub cancellable: bool,
    /// This notification takes back the running request whose id is at this path.
    pub cancels: Option<Path>,
    /// This notification belongs to the running request that carries the same token.
    pub reports: Option<Reports>,
    /// The values in this message that tell which running copy it belongs to.
    pub keys: List<MessageKey>,
    /// How bad it is to send this message where it is refused, if the declaration says so.
    pub level: Option<Level>,
}

impl Message {
    /// A request without modifiers.
    pub const fn request(name: &'static str, method: &'static str, payload: Payload) -> Message {
        Message::plain(name, Kind::Request, method, payload)
    }

    /// A notification without modifiers.
    pub const fn notification(name: &'static str, method: &'static str, payload: Payload) -> Message {
        Message::plain(name, Kind::Notification, method, payload)
    }

    /// A reply without modifiers.
    pub const fn reply(
        name: &'static str,
        request: MessageIndex,
        method: &'static str,
        payload: Payload,
    ) -> Message {
        Message::plain(name, Kind::Reply { request }, method, payload)
    }

    /// A refusal without modifiers.
    pub const fn refusal(name: &'static str, request: MessageIndex, method: &'static str) -> Message {
        Message::plain(name, Kind::Refusal { request }, method, Payload::None)
    }

    /// A message without modifiers. Constants in generated code are shorter for it.
    const fn plain(name: &'static str, kind: Kind, method: &'static str, payload: Payload) -> Message {
        Message {
            name: Cow::Borrowed(name),
            kind,
            method: Cow::Borrowed(method),
            payload,
            condition: None,
            requires: Cow::Borrowed(&[]),
            answered: false,
            cancellable: false,
            cancels: None,
            reports: None,
            keys: Cow::Borrowed(&[]),
            level: None,
        }
    }
}

/// What a message is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Has a method and an id, expects one reply.
    Request,
    /// Has a method and no id.
    Notification,
    /// A result; tied to its request by the id.
    Reply {
        /// The request it answers.
        request: MessageIndex,
    },
    /// An error in place of a result.
    Refusal {
        /// The request it refuses.
        request: MessageIndex,
    },
}

/// What a message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Payload {
    /// Nothing: `params` is left out and ignored, `result` is `{}`.
    None,
    /// The literal `null`.
    Null,
    /// A value that must be there.
    Required,
    /// A value that may be absent.
    Optional,
}

/// `if PATH` or `if PATH = "literal"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// Where to look in the payload.
    pub path: Path,
    /// The text that must be there; `None` asks only for something that is neither `false` nor `null`.
    pub literal: Option<Text>,
}

/// One capability that a message needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Whose announcement is asked.
    pub holder: Holder,
    /// The path in it: the gates of `client.x`, `peer.x` and `own.x` are one gate.
    pub gate: GateIndex,
    /// The capability is needed only where the payload fits this.
    pub condition: Option<Condition>,
}

/// Whose announcement a gate asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// That of one side, whoever sends.
    Side(Side),
    /// That of whoever sends the message, `own.x`.
    Sender,
    /// That of whoever receives the message, `peer.x`.
    Receiver,
}

/// A capability: granted iff the path exists in the announcement and is neither `false` nor `null`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The path in the announced capabilities.
    pub path: Path,
}

/// A value by which later messages of a copy find it: `key uri = Subscribe.uri | Updated.uri`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The name after `key`.
    pub name: Text,
    /// `open key`: a message whose value nobody holds passes alone.
    pub open: bool,
}

/// Where one message carries a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageKey {
    /// Which key.
    pub key: KeyIndex,
    /// Where its value is.
    pub place: KeyPlace,
}

/// Where the value of a key is in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// At a path in the payload.
    Path(Path),
    /// `id of M`: it is the id of the envelope.
    Id,
}

/// Where a side announces its capabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// Who announces.
    pub side: Side,
    /// In which message, and where in it.
    pub field: Field,
}

/// A place in the payload of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The message.
    pub message: MessageIndex,
    /// The path in its payload.
    pub path: Path,
}

/// `reports F of P | Q`: the notification belongs to the request that carries at `P` or `Q` the value at `F`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reports {
    /// Where the notification carries the token.
    pub token: Path,
    /// Where a request carries it.
    pub of: List<Path>,
}

/// How strict a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Strictness {
    /// Breaking it is reported as advice unheeded.
    Should,
    /// Breaking it is an error.
    Must,
}

/// The level of a rule and where it is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    /// Must or should.
    pub strictness: Strictness,
    /// The name of the rule, `L5`.
    pub rule: Option<Text>,
    /// The JSON-RPC code of the error that refuses a request here.
    pub error: Option<i64>,
}

impl Level {
    /// What is refused is an error, by no rule in particular.
    pub const MUST: Level = Level { strictness: Strictness::Must, rule: None, error: None };

    /// A rule whose breach is an error.
    pub const fn must(rule: &'static str) -> Level {
        Level { strictness: Strictness::Must, rule: Some(Cow::Borrowed(rule)), error: None }
    }

    /// A rule whose breach is advice unheeded.
    pub const fn should(rule: &'static str) -> Level {
        Level { strictness: Strictness::Should, rule: Some(Cow::Borrowed(rule)), error: None }
    }
}

/// The machine of one role, in its own point of view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// The role's name, `McpClient`.
    pub name: Text,
    /// All states, in order of appearance; the first is where a session starts. The states of `*` bodies are here
    /// too, each reached only through a [`Action::Spawn`] edge.
    pub states: List<State>,
}

impl Role {
    /// Where a session starts.
    pub const START: StateIndex = StateIndex(0);

    /// The state with this name.
    pub fn by_name(&self, name: &str) -> Option<StateIndex> {
        (0..=u32::MAX)
            .map(StateIndex)
            .zip(self.states.iter())
            .find(|(_, state)| state.name == name)
            .map(|(index, _)| index)
    }

    /// The state at an index.
    pub fn state(&self, index: StateIndex) -> Option<&State> {
        self.states.get(usize::try_from(index.0).unwrap_or(usize::MAX))
    }
}

/// One state: the place of one linear channel, or of one running copy of a `*` body, together with what runs
/// beside it from here on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The name in reports and in generated code.
    pub name: Text,
    /// What this place is.
    pub kind: StateKind,
    /// What may happen here, sorted by direction and message, each pair at most once.
    pub edges: List<Edge>,
    /// Where `kind` is [`StateKind::Fork`], the linear channels that run from here on, two or more.
    pub parts: List<StateIndex>,
    /// Whether a bare `End` branch lets this role close here.
    pub may_close: bool,
    /// Whether a bare `End` branch lets the peer close here.
    pub peer_may_close: bool,
    /// Whether `End` can be reached from here along this channel.
    pub reaches_end: bool,
    /// Which ways running copies take no steps while the session is here: `only`.
    pub only: Only,
    /// How bad it is for this role to send what is refused here.
    pub outward: Level,
    /// How bad it is for the peer to send what is refused here.
    pub inward: Level,
    /// Levels written after actions: what is accepted here but reported. Mostly empty.
    pub advice: List<Advice>,
}

impl State {
    /// A state of a channel that reaches its end, where nobody may close yet and every refusal is an error.
    pub const fn plain(name: &'static str, kind: StateKind, edges: &'static [Edge]) -> State {
        State {
            name: Cow::Borrowed(name),
            kind,
            edges: Cow::Borrowed(edges),
            parts: Cow::Borrowed(&[]),
            may_close: false,
            peer_may_close: false,
            reaches_end: true,
            only: Only::NONE,
            outward: Level::MUST,
            inward: Level::MUST,
            advice: Cow::Borrowed(&[]),
        }
    }

    /// What a message does here, if it may happen here. Relies on the edges being sorted.
    pub fn edge(&self, direction: Direction, message: MessageIndex) -> Option<&Edge> {
        let place =
            self.edges.binary_search_by_key(&(direction, message), |edge| (edge.direction, edge.message));
        place.ok().and_then(|place| self.edges.get(place))
    }

    /// The level written after an action that may happen here.
    pub fn advice(&self, direction: Direction, message: MessageIndex) -> Option<&Level> {
        let matching = |advice: &&Advice| advice.direction == direction && advice.message == message;
        self.advice.iter().find(matching).map(|advice| &advice.level)
    }
}

/// Which ways running copies rest in a state: they take no step there. What belongs to a running request is no step of
/// a copy: its reply, a report on it, its cancellation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Only {
    /// This role sends nothing in copies.
    pub outward: bool,
    /// The peer sends nothing in copies.
    pub inward: bool,
}

impl Only {
    /// Copies go on both ways.
    pub const NONE: Only = Only { outward: false, inward: false };

    /// Whether copies take no step in a direction.
    pub const fn rests(self, direction: Direction) -> bool {
        match direction {
            Direction::Send => self.outward,
            Direction::Receive => self.inward,
        }
    }

    /// The same with one more direction.
    #[must_use]
    pub const fn with(self, direction: Direction) -> Only {
        match direction {
            Direction::Send => Only { outward: true, ..self },
            Direction::Receive => Only { inward: true, ..self },
        }
    }

    /// The same, seen from the other role.
    #[must_use]
    pub const fn flip(self) -> Only {
        Only { outward: self.inward, inward: self.outward }
    }
}

/// A level written after an action: the action is accepted, and reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Which way the message goes.
    pub direction: Direction,
    /// Which message.
    pub message: MessageIndex,
    /// How bad it is, and by which rule.
    pub level: Level,
}

/// What a state's place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateKind {
    /// A linear channel that goes on.
    Linear,
    /// A linear channel, or a copy, with nothing left.
    End,
    /// The last linear channel turned into replicated ones: there is no linear channel here any more.
    Replicated,
    /// The linear channel splits in several; see [`State::parts`]. A fork has no edges of its own: what is
    /// replicated beside the parts is a spawn edge of each of them.
    Fork,
}

/// One thing that may happen in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Which way the message goes.
    pub direction: Direction,
    /// Which message.
    pub message: MessageIndex,
    /// What follows.
    pub action: Action,
    /// Who wrote the edge.
    pub origin: Origin,
}

impl Edge {
    /// An edge of an output.
    pub const fn send(message: MessageIndex, action: Action, origin: Origin) -> Edge {
        Edge { direction: Direction::Send, message, action, origin }
    }

    /// An edge of an input.
    pub const fn receive(message: MessageIndex, action: Action, origin: Origin) -> Edge {
        Edge { direction: Direction::Receive, message, action, origin }
    }
}

/// What taking an edge does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The channel goes on in that state.
    Step(StateIndex),
    /// The channel stays; a new copy of a `*` body starts and has already taken this first action: it is in the
    /// state named here.
    Spawn(StateIndex),
}

impl Action {
    /// The state the edge leads to, of the channel or of the new copy.
    pub const fn target(self) -> StateIndex {
        match self {
            Action::Step(state) | Action::Spawn(state) => state,
        }
    }
}

/// Where an edge comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// The author wrote it.
    Written,
    /// A refusal that every request has.
    Refusal,
    /// The cancellation of a linear request.
    Cancel,
    /// Added to close the diamond: on the wire and in the checker only.
    Closure,
}
