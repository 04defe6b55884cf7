//! The syntax tree, with spans.

mod session;
mod shape;

use mcp_protocol_machine::protocol::{Dialect, Literal};

pub use self::session::{Action, Choice, Level, LevelDirection, Operator, Sequence, Tail};
pub use self::shape::{
    BOOLEANS, BUILT_IN, Member, Shape, ShapeField, ShapeKind, TuplePosition, boolean, built_in_meant,
    is_built_in,
};
use crate::source::Span;

/// A name or a word, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The text.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// One `.session` file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// The items in order.
    pub items: Vec<Item>,
    /// The comments in order; documentation is with its item, but where it belongs to none it is here.
    pub comments: Vec<Comment>,
    /// Where each line with nothing in it begins.
    pub empty_lines: Vec<u32>,
}

/// `-- …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The text with its dashes, without white space at the end.
    pub text: String,
    /// Whether nothing stands before it in its line.
    pub own_line: bool,
    /// Where it stands.
    pub span: Span,
}

/// One item of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Documentation comments before it (`---`), a line each, without the dashes and one space after them.
    pub documentation: Vec<String>,
    /// Where `override` stands, if it does.
    pub overrides: Option<Span>,
    /// What it is.
    pub kind: ItemKind,
    /// From its first to its last token.
    pub span: Span,
}

/// The revision of a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// What is written, without quotes.
    pub name: Name,
    /// It is a whole number without quotes, and stands in messages as one.
    pub is_number: bool,
}

/// What the messages of a protocol are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Where `batch` stands.
    pub batch: Option<Span>,
    /// Where `without` stands, if `jsonrpc` follows, or `jsonrpc`, if `"1.0"` follows, and what that means.
    pub dialect: Option<(Span, Dialect)>,
    /// Where `reuses` stands, if `ids` follows.
    pub reuses_ids: Option<Span>,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// `protocol Mcp "2025-03-26" batch without jsonrpc reuses ids`
    Protocol {
        /// The name.
        name: Name,
        /// The revision.
        version: Option<Revision>,
        /// What its messages are like.
        envelope: Envelope,
    },
    /// `types tower_mcp_types::protocol`
    Types(RustPath),
    /// `import "other.session"`, the path without quotes.
    Import(Name),
    /// `type Tool = { name: string }`
    Shape {
        /// The shape's name.
        name: Name,
        /// What it is.
        body: Shape,
    },
    /// `request …`
    Request(Request),
    /// `notification …`
    Notification(Notification),
    /// `capabilities client = Initialize.capabilities default elicitation.form`
    Capabilities {
        /// Whose: `client`, `server` or a role's name.
        role: Name,
        /// Where they are announced.
        field: AnnouncedField,
        /// Where `open until announced` stands: before the announcement every gate of the role is open.
        open: Option<Span>,
        /// `default elicitation.form | …`: what a capability with nothing in it announces as well.
        defaults: Vec<JsonPath>,
        /// The code behind `with error`.
        error: Option<i64>,
    },
    /// `version = InitializeResult.protocolVersion`, `version = each request._meta.version with error -32000`
    Version {
        /// Where it is announced.
        field: AnnouncedField,
        /// The code behind `with error`.
        error: Option<i64>,
    },
    /// `group G = A | B`, `group G = replies H`, `group G += A | B`, `group G -= A`
    Group {
        /// The group's name.
        name: Name,
        /// `=`, `+=` or `-=`.
        operator: GroupOperator,
        /// The members.
        members: Vec<GroupMember>,
    },
    /// `key task = TaskCreated.task.taskId | TasksGet.taskId`
    Key {
        /// Where `open` stands, if it does.
        open: Option<Span>,
        /// The key's name.
        name: Name,
        /// Where each message carries it.
        fields: Vec<KeyField>,
    },
    /// `client McpClient`, `client McpClient compatible`, `server McpServer = dual McpClient`
    Role {
        /// `client` or `server`.
        side: RoleSide,
        /// The role's name.
        name: Name,
        /// The session type, if it is given here.
        body: Option<Choice>,
        /// Where `compatible` stands.
        compatible: Option<Span>,
    },
    /// `Name = S`, `Role::Name = S`, `Name only = S`
    Definition {
        /// The role before `::`.
        role: Option<Name>,
        /// The name defined.
        name: Name,
        /// `only`, if it stands there: sub-sessions are suspended in this definition's states.
        only: Option<OnlyMark>,
        /// What is refused in that state.
        levels: Vec<Level>,
        /// The session type.
        body: Choice,
    },
}

/// The word before a role's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoleSide {
    /// `client`
    Client,
    /// `server`
    Server,
}

/// A path of Rust names, `a::b::C`, possibly with generic arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RustPath {
    /// The text as it is to stand in Rust, without white space.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// `request Name "method" if … (Params) -> Reply (Result) | Reply (Result) if … modifiers`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The message's name.
    pub name: Name,
    /// The wire method, without quotes.
    pub method: Name,
    /// `if …` after the method.
    pub condition: Option<Condition>,
    /// What stands in `params`.
    pub payload: Payload,
    /// The replies.
    pub replies: Vec<Reply>,
    /// What follows.
    pub modifiers: Vec<Modifier>,
}

/// `notification Name "method" if … (Params) modifiers`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The message's name.
    pub name: Name,
    /// The wire method, without quotes.
    pub method: Name,
    /// `if …` after the method.
    pub condition: Option<Condition>,
    /// What stands in `params`.
    pub payload: Payload,
    /// What follows.
    pub modifiers: Vec<Modifier>,
}

/// One alternative after `->`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The reply's name.
    pub name: Name,
    /// What stands in `result`.
    pub payload: Payload,
    /// `if …` after it.
    pub condition: Option<Condition>,
}

/// What is written in the parentheses of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// No parentheses.
    None,
    /// `(null)`
    Null(Span),
    /// `(_)` or `(_?)`: any JSON.
    Any {
        /// Whether `?` follows.
        optional: bool,
        /// Where it stands.
        span: Span,
    },
    /// `(T)` or `(T?)`.
    Type {
        /// The type.
        path: RustPath,
        /// Whether `?` follows.
        optional: bool,
    },
    /// `({ name: string })` or `([string]?)`: a shape where it is used.
    Shape {
        /// What it is called, after its message: `LoginParams`, `LoggedInResult`. Its place is that of the shape.
        name: Name,
        /// The shape.
        shape: Shape,
        /// Whether `?` follows.
        optional: bool,
    },
}

impl Payload {
    /// A shape that is written as a payload, called after its message and what it carries, `Params` or `Result`.
    pub fn of_shape(message: &str, carries: &str, shape: Shape, optional: bool) -> Payload {
        let text = Payload::name_of_shape(message, carries);
        Payload::Shape { name: Name { text, span: shape.span }, shape, optional }
    }

    /// What such a shape is called.
    pub(crate) fn name_of_shape(message: &str, carries: &str) -> String {
        match message.ends_with(carries) {
            true => message.to_owned(),
            false => format!("{message}{carries}"),
        }
    }

    /// Whether `?` stands behind it.
    pub fn is_optional(&self) -> bool {
        match self {
            Payload::Any { optional, .. }
            | Payload::Type { optional, .. }
            | Payload::Shape { optional, .. } => *optional,
            Payload::None | Payload::Null(_) => false,
        }
    }

    /// The same with `?` behind it, where that may stand.
    pub(crate) fn made_optional(mut self) -> Payload {
        match &mut self {
            Payload::Any { optional, .. }
            | Payload::Type { optional, .. }
            | Payload::Shape { optional, .. } => *optional = true,
            Payload::None | Payload::Null(_) => {}
        }
        self
    }

    /// From the first to the last token between the parentheses; nothing without parentheses.
    pub fn span(&self) -> Option<Span> {
        match self {
            Payload::None => None,
            Payload::Null(span) | Payload::Any { span, .. } => Some(*span),
            Payload::Type { path, .. } => Some(path.span),
            Payload::Shape { shape, .. } => Some(shape.span),
        }
    }

    /// What a message of this name carries, if it is written here.
    fn shape_of<'a>(&'a self, carrier: &'a Name) -> Option<WrittenShape<'a>> {
        match self {
            Payload::Shape { name, shape, .. } => {
                Some(WrittenShape { name, body: shape, carrier: Some(carrier) })
            }
            _ => None,
        }
    }
}

/// A shape with a name, as it is written.
#[derive(Clone, Copy, Debug)]
pub struct WrittenShape<'a> {
    /// What it is called.
    pub name: &'a Name,
    /// What it is.
    pub body: &'a Shape,
    /// The message whose payload it is; none of a `type`.
    pub carrier: Option<&'a Name>,
}

impl Item {
    /// The shapes that the item declares: that of a `type`, and those that are written as payloads.
    pub fn shapes(&self) -> impl Iterator<Item = WrittenShape<'_>> {
        let own = match &self.kind {
            ItemKind::Shape { name, body } => Some(WrittenShape { name, body, carrier: None }),
            _ => None,
        };
        own.into_iter().chain(self.payloads().filter_map(|(carrier, payload)| payload.shape_of(carrier)))
    }

    /// What the messages of the item carry, each with the name of its message.
    pub fn payloads(&self) -> impl Iterator<Item = (&Name, &Payload)> {
        let (params, replies) = match &self.kind {
            ItemKind::Request(request) => {
                (Some((&request.name, &request.payload)), request.replies.as_slice())
            }
            ItemKind::Notification(notification) => {
                (Some((&notification.name, &notification.payload)), [].as_slice())
            }
            _ => (None, [].as_slice()),
        };
        params.into_iter().chain(replies.iter().map(|reply| (&reply.name, &reply.payload)))
    }
}

/// A word after a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// `as call_tool`
    As(Name),
    /// `requires server.tools if …`, `requires server.tools unless …`
    Requires {
        /// `client`, `server`, `peer`, `own` or a role's name.
        holder: Name,
        /// The path behind it.
        path: JsonPath,
        /// `if …` after it, or `unless …`.
        condition: Option<Condition>,
        /// Whether it is `unless`.
        unless: bool,
        /// From `requires` on.
        span: Span,
    },
    /// `answered`
    Answered(Span),
    /// `cancellable`, `cancellable until reply`
    Cancellable {
        /// Whether `until reply` stands behind it.
        until_reply: bool,
        /// From `cancellable` on.
        span: Span,
    },
    /// `cancels requestId`, `cancels id with reply error -32800`
    Cancels {
        /// Where the notification carries the id of the request.
        id: JsonPath,
        /// The code behind `with reply error`.
        reply_error: Option<i64>,
        /// From `cancels` on.
        span: Span,
    },
    /// `reports progressToken of _meta.progressToken | other`
    Reports {
        /// Where the notification carries the token.
        token: JsonPath,
        /// Where a request carries it.
        of: Vec<JsonPath>,
        /// From `reports` on.
        span: Span,
    },
    /// `grants registrations.method`
    Grants {
        /// Where the message names capabilities.
        path: JsonPath,
        /// From `grants` on.
        span: Span,
    },
    /// `revokes unregisterations.method`
    Revokes {
        /// Where the message names capabilities.
        path: JsonPath,
        /// From `revokes` on.
        span: Span,
    },
    /// `pages cursor from nextCursor`
    Pages {
        /// Where the request carries the cursor.
        cursor: JsonPath,
        /// Where the result carries the next one.
        next: JsonPath,
        /// From `pages` on.
        span: Span,
    },
    /// `rounds Asked state from state, answers of questions`
    Rounds {
        /// The reply that asks for another round.
        reply: Name,
        /// Where the next round carries the state.
        state: JsonPath,
        /// Where the reply gives it.
        given: JsonPath,
        /// Where the next round carries the answers.
        answers: JsonPath,
        /// Where the reply has its questions.
        questions: JsonPath,
        /// From `rounds` on.
        span: Span,
    },
    /// `during Search | Order if _meta.log`
    During {
        /// Requests, or groups of them.
        requests: Vec<Name>,
        /// `if …` after them.
        condition: Option<Condition>,
        /// From `during` on.
        span: Span,
    },
    /// `[should "L5"]`
    Levels(Vec<Level>),
}

/// `a.b."c.d"`
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonPath {
    /// The keys, without quotes.
    pub segments: Vec<Name>,
    /// From the first to the last.
    pub span: Span,
}

/// `Message.a.b`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageField {
    /// The message.
    pub message: Name,
    /// The path in its payload.
    pub path: JsonPath,
}

/// Where capabilities, or the version, are announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnouncedField {
    /// `Message.a.b`
    Message(MessageField),
    /// `each request.a.b`: in the params of every request of the role, or of both roles.
    EachRequest {
        /// The path in the params.
        path: JsonPath,
        /// From `each` on.
        span: Span,
    },
}

impl AnnouncedField {
    /// The path in the payload.
    pub fn path(&self) -> &JsonPath {
        match self {
            AnnouncedField::Message(field) => &field.path,
            AnnouncedField::EachRequest { path, .. } => path,
        }
    }
}

/// `only`, `only out`, `only in`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnlyMark {
    /// Where it stands.
    pub span: Span,
    /// The one way in which sub-sessions are suspended, if it says so.
    pub direction: Option<LevelDirection>,
}

/// One alternative of a key: `Message.a.b`, `open Message.a.b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyField {
    /// Where `open` stands, if it does.
    pub open: Option<Span>,
    /// Where the message carries the key.
    pub place: KeyFieldPlace,
}

/// Where a message carries a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFieldPlace {
    /// `Message.a.b`
    Field(MessageField),
    /// `id of Message`
    Id(Name),
    /// `session of Message`: another member of the envelope.
    Member {
        /// What the member is called.
        member: Name,
        /// It stands in quotes, as one must that is called like a word of the language.
        quoted: bool,
        /// The message, or a group.
        of: Name,
    },
}

/// `if PATH`, `if PATH = VALUE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Where to look; without a key, `_`, it is the payload itself.
    pub path: JsonPath,
    /// The value that must be there.
    pub literal: Option<ConditionValue>,
    /// From `if` on.
    pub span: Span,
}

/// The value with which a condition compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionValue {
    /// The text without quotes, the number, or `true` or `false`.
    pub value: Literal,
    /// Where it is written.
    pub span: Span,
}

/// The sign after a group's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupOperator {
    /// `=`
    Define,
    /// `+=`
    Add,
    /// `-=`
    Remove,
}

/// One member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupMember {
    /// A message or another group.
    Name(Name),
    /// `replies G`: the replies of every request of that group.
    Replies(Name, Span),
}
