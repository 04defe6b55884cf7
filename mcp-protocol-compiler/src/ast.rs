//! The tree: what the parser saw, in the order it saw it.
//!
//! In: nothing. Out: the types of the syntax tree, every one with its [`Span`]. Refuses to hold meaning: names are
//! text, nothing is resolved, a file with errors has a tree, too, with what could be read.
//!
//! A chain of actions is a list, not a nest, so that a protocol of a hundred thousand steps is as shallow as one
//! of ten; only parentheses, `rec` and `*` nest, and the parser limits how deep.

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

/// What an item is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// `protocol Mcp "2025-03-26" batch`
    Protocol {
        /// The name.
        name: Name,
        /// The revision, without quotes.
        version: Option<Name>,
        /// Where `batch` stands.
        batch: Option<Span>,
    },
    /// `types tower_mcp_types::protocol`
    Types(RustPath),
    /// `import "other.session"`, the path without quotes.
    Import(Name),
    /// `request …`
    Request(Request),
    /// `notification …`
    Notification(Notification),
    /// `capabilities client = Initialize.capabilities`
    Capabilities {
        /// Whose: `client`, `server` or a role's name.
        role: Name,
        /// Where they are announced.
        field: MessageField,
    },
    /// `version = InitializeResult.protocolVersion`
    Version(MessageField),
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
        /// Where `only` stands, if it does: copies rest in this definition's states.
        only: Option<Span>,
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
}

/// A word after a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// `as call_tool`
    As(Name),
    /// `requires server.tools if …`
    Requires {
        /// `client`, `server`, `peer`, `own` or a role's name.
        holder: Name,
        /// The path behind it.
        path: JsonPath,
        /// `if …` after it.
        condition: Option<Condition>,
        /// From `requires` on.
        span: Span,
    },
    /// `answered`
    Answered(Span),
    /// `cancellable`
    Cancellable(Span),
    /// `cancels requestId`
    Cancels(JsonPath, Span),
    /// `reports progressToken of _meta.progressToken | other`
    Reports {
        /// Where the notification carries the token.
        token: JsonPath,
        /// Where a request carries it.
        of: Vec<JsonPath>,
        /// From `reports` on.
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

/// One alternative of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyField {
    /// `Message.a.b`
    Field(MessageField),
    /// `id of Message`
    Id(Name),
}

/// `if PATH`, `if PATH = "literal"`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Where to look.
    pub path: JsonPath,
    /// The text that must be there, without quotes.
    pub literal: Option<Name>,
    /// From `if` on.
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

/// One entry of `[should "L5" out, must "L8" in error -32002]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Whether it is `must` (else `should`).
    pub must: bool,
    /// The rule's name, without quotes.
    pub rule: Option<Name>,
    /// `out` or `in`, where the two differ.
    pub direction: Option<LevelDirection>,
    /// The code after `error`.
    pub error: Option<i64>,
    /// Where the entry stands.
    pub span: Span,
}

/// Which messages a level speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LevelDirection {
    /// `out`: what this role sends.
    Out,
    /// `in`: what the peer sends.
    In,
}

/// `seq ( ('⊕' seq)+ | ('&' seq)+ )?`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The branches, at least one.
    pub branches: Vec<Sequence>,
    /// The operators between them (and the leading one, if written), in order; the checks refuse two kinds at one
    /// level.
    pub operators: Vec<(Operator, Span)>,
    /// From the first to the last token.
    pub span: Span,
}

impl Choice {
    /// The operator that lets whoever acts first in these types choose among them; nothing if that is not one role.
    pub fn chooser(parts: &[Choice]) -> Option<Operator> {
        let mut signs = parts.iter().flat_map(|part| &part.branches).map(Sequence::sends_first);
        let first = signs.next()??;
        signs.all(|sign| sign == Some(first)).then_some(match first {
            true => Operator::Internal,
            false => Operator::External,
        })
    }
}

impl Sequence {
    /// Whether the first action is `!M`, as far as this text alone tells.
    fn sends_first(&self) -> Option<bool> {
        match (self.actions.first(), &self.tail) {
            (Some(action), _) => Some(action.send),
            (None, Tail::Group(inner, _) | Tail::Recursion { body: inner, .. }) => {
                // What is deeper is not worth a suggestion.
                inner.branches.first()?.actions.first().map(|action| action.send)
            }
            _ => None,
        }
    }
}

/// The operator of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `⊕`, `(+)`: this role chooses.
    Internal,
    /// `&`: the peer chooses.
    External,
}

/// `!A . ?B . … . atom`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The actions in order, possibly none.
    pub actions: Vec<Action>,
    /// What stands at the end.
    pub tail: Tail,
    /// From the first to the last token.
    pub span: Span,
}

/// `!M` or `?M`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Whether it is `!` (else `?`).
    pub send: bool,
    /// The message, a group, or `reply`.
    pub message: Name,
    /// `[should "L5"]` after it.
    pub levels: Vec<Level>,
    /// From the sign on.
    pub span: Span,
}

/// What a sequence ends in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// `End`
    End(Span),
    /// A definition or a recursion variable.
    Name(Name),
    /// `dual Name`
    Dual {
        /// The name.
        name: Name,
        /// From `dual` on.
        span: Span,
    },
    /// `rec α . choice`
    Recursion {
        /// The variable.
        variable: Name,
        /// Its body: everything to the right.
        body: Box<Choice>,
        /// Whether the body is written in parentheses and ends with them, `rec α . ( … )`; the body then is one
        /// branch whose tail is that [`Tail::Group`].
        parenthesised: bool,
        /// From `rec` on.
        span: Span,
    },
    /// `( choice )`
    Group(Box<Choice>, Span),
    /// `( choice , choice , … )`
    Parallel(Vec<Choice>, Span),
    /// `* atom`
    Replicated(Box<Tail>, Span),
    /// Nothing could be read; an error has been reported.
    Missing(Span),
}
