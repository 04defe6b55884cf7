//! [`Violation`]: why the checker does not permit a message, as data and as a sentence.

mod lines;
mod sentence;

use std::fmt;
use std::ops::Deref;

use crate::id::{KeyValue, RequestId, Token};
use crate::protocol::{Condition, Direction, Kind, MessageIndex, Side, Strictness, Text};
use crate::shape::ShapeMismatch;

/// A message that leaves the protocol. The details are behind a box, so that judging a good message stays cheap.
#[derive(Clone, PartialEq, Eq)]
pub struct Violation(Box<Details>);

/// Writes the sentence: Rust prints an error that `main` returns in this form. The [`Details`], to which a violation
/// dereferences, write all fields.
impl fmt::Debug for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Violation").field(&self.to_string()).finish()
    }
}

/// What a [`Violation`] knows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Details {
    /// The protocol's name.
    pub protocol: Text,
    /// The protocol's revision.
    pub version: Option<Text>,
    /// The name of the role whose machine was followed.
    pub role: Text,
    /// The side of that role.
    pub side: Side,
    /// Who is to blame: the side that sent the message, or was about to.
    pub sender: Side,
    /// Which way the message went, seen from the role whose machine was followed.
    pub direction: Direction,
    /// The names of the states that the message was judged in: one, unless several linear channels run.
    pub states: Vec<Text>,
    /// What came.
    pub got: Got,
    /// What is wrong with it.
    pub kind: ViolationKind,
    /// What the sender may send there instead; what moves the session on comes first.
    pub expected: Vec<Expected>,
    /// What the sender has to wait for, where it is the other side's turn.
    pub awaited: Vec<Expected>,
    /// The states in which the message would have been permitted.
    pub permitted_in: Vec<Text>,
    /// How strict the rule is.
    pub strictness: Strictness,
    /// The name of the rule, if the protocol gives one.
    pub rule: Option<Text>,
    /// The code of the JSON-RPC error that refuses the message, if it is a request.
    pub error_code: i64,
    /// Whether an error reply can be sent: the message is a request, and no request with the same id is waiting for its
    /// reply, which the error would be taken for.
    pub answerable: bool,
}

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Got {
    /// The message, where the protocol has one.
    pub message: Option<MessageIndex>,
    /// Its name in the `.session` file, or nothing.
    pub name: Text,
    /// What it is on the wire, where that is known.
    pub kind: Option<Kind>,
    /// The wire method, of a reply its request's; nothing for a reply to no known request.
    pub method: Text,
    /// The id that the message carries or names.
    pub id: Option<RequestId>,
    /// What tells the message from others of the same method.
    pub condition: Option<Condition>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViolationKind {
    /// The state does not accept the message.
    NotPermitted,
    /// The message is a later step of a sub-session, and this state suspends sub-sessions: `only`.
    Suspended,
    /// The state accepts the message, but a capability that it needs is not there.
    NotNegotiated {
        /// Whose capability it is.
        holder: Side,
        /// Its path in the announcement, `resources.subscribe`.
        capability: String,
    },
    /// The state accepts the message, but it is permitted only `during` certain requests of the other side, and none of
    /// them runs.
    NotDuring {
        /// The requests.
        requests: Vec<Expected>,
        /// What their params have to fit, if not all of these requests count.
        condition: Option<Condition>,
    },
    /// The message needs a capability that was negotiated but that the caller's own set leaves out.
    Restricted {
        /// Its path in the announcement.
        capability: String,
    },
    /// The protocol has no such method.
    UnknownMethod,
    /// The sender may send this method, but as a message of another kind: a request has an `id`, and a notification has
    /// none.
    DeclaredAs {
        /// What the method is.
        kind: Kind,
    },
    /// Conditions tell the messages of this method apart, or the replies of this request, and the payload fits none.
    FitsNone {
        /// The conditions, in order of declaration.
        conditions: Vec<Condition>,
    },
    /// The payload does not have the shape that the protocol has for it.
    Misshapen {
        /// Where, what is expected there, and what was found.
        mismatch: ShapeMismatch,
    },
    /// A reply that asks for another round of its request, or a request that is another round, and what is wrong with it.
    Round {
        /// What is wrong.
        fault: RoundFault,
    },
    /// The id was used before.
    DuplicateId {
        /// The method of the request that is still running under it, if one is.
        running: Option<Text>,
    },
    /// Too many requests of this side are running.
    TooManyRunning {
        /// The limit.
        limit: usize,
    },
    /// A reply with an id that no request has.
    UnknownId,
    /// A reply to a request that has its reply.
    SecondReply,
    /// A reply that belongs to another request than the one with its id.
    WrongReply {
        /// The method of the request with its id.
        request: Text,
    },
    /// A notification about a request, by a token that no request carried.
    UnknownToken {
        /// The token.
        token: Token,
    },
    /// A request with a token that another request carries which is not over. It is accepted: reports belong to the
    /// newer one from here on.
    TokenInUse {
        /// The token.
        token: Token,
    },
    /// A notification that must name a request, and names none.
    RequestUnnamed,
    /// A message that belongs to something running under a key, with a value under which nothing ever ran.
    UnknownKey {
        /// The name of the key.
        key: Text,
        /// The value that the message carries.
        value: KeyValue,
    },
    /// A message that would open something under a value of a key under which something is running.
    KeyInUse {
        /// The name of the key.
        key: Text,
        /// The value that the message carries.
        value: KeyValue,
    },
    /// A message that must carry a key, and does not.
    KeyMissing {
        /// The name of the key.
        key: Text,
    },
    /// A message that carries another value of a key than what it belongs to.
    WrongKey {
        /// The name of the key.
        key: Text,
        /// The value that the message carries.
        value: KeyValue,
    },
    /// A reply, a cancellation or a report, asked about before it is tied to a request, and no request runs that it
    /// could be tied to.
    NothingRunning,
    /// A cancellation of a request that never ran.
    NotRunning,
    /// A cancellation of a request that the other side sent.
    NotYours,
    /// A cancellation of a request that may not be cancelled.
    NotCancellable {
        /// The method of the request.
        request: Text,
    },
    /// A cancellation of a request that has its reply and cannot be cancelled any more, although what it opened goes on.
    /// Its sender has received the reply.
    NoLongerCancellable {
        /// The method of the request.
        request: Text,
    },
    /// Another cancellation of a request that was cancelled and still gets its reply.
    CancelledTwice {
        /// The method of the request.
        request: Text,
    },
    /// The message is accepted, but the protocol advises against it here. This is never a refusal.
    Discouraged,
    /// The protocol has the message, but as another kind than the caller takes it for.
    OtherKind {
        /// What the caller takes it for.
        taken_for: Kind,
    },
    /// The session is over, so nothing can be sent.
    Over,
}

/// What is wrong with another round of a request. Paths are those of the protocol: `requestState`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoundFault {
    /// The reply that asks for another round has neither questions nor a state.
    AsksNothing {
        /// Where questions would stand.
        questions: String,
        /// Where a state would stand.
        state: String,
    },
    /// The round carries a state that no reply has given.
    OtherState {
        /// Where it stands.
        path: String,
    },
    /// The round carries no state, and the reply gave one.
    NoState {
        /// Where it would stand.
        path: String,
    },
    /// The round carries a state, and the reply gave none.
    StateOfNothing {
        /// Where it stands.
        path: String,
    },
    /// The round does not answer a question.
    NotAnswered {
        /// Where the answer would stand.
        path: String,
        /// The name of the question.
        question: String,
    },
    /// The round answers what was not asked.
    NotAsked {
        /// Where the answer stands.
        path: String,
        /// Its name.
        question: String,
    },
    /// The round has the id of the request before it.
    SameId,
}

/// A message that is permitted, or awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expected {
    /// The message.
    pub message: MessageIndex,
    /// Its name in the `.session` file.
    pub name: Text,
    /// Its wire method; of a reply its request's.
    pub method: Text,
    /// What it is on the wire.
    pub kind: Kind,
    /// What tells it from others of the same method.
    pub condition: Option<Condition>,
}

impl Violation {
    pub(crate) fn new(details: Details) -> Violation {
        Violation(Box::new(details))
    }

    /// How strict the rule is that was broken.
    pub fn strictness(&self) -> Strictness {
        self.strictness
    }

    /// The name of the rule that was broken, if the protocol gives one.
    pub fn rule(&self) -> Option<&str> {
        self.rule.as_deref()
    }

    /// The code of the JSON-RPC error that refuses the message.
    pub fn error_code(&self) -> i64 {
        self.error_code
    }

    /// The states in which the message was judged: `Active`, or `RequestChannel and NotificationChannel`.
    pub fn state_names(&self) -> String {
        self.states.join(" and ")
    }

    /// The capability that keeps the message from being sent, where the state permits it: one that was not announced,
    /// or one that the caller's own set leaves out. Nothing where the state is what refuses it.
    pub fn missing_capability(&self) -> Option<&str> {
        match &self.kind {
            ViolationKind::NotNegotiated { capability, .. } | ViolationKind::Restricted { capability } => {
                Some(capability)
            }
            _ => None,
        }
    }

    /// The whole report, one thing a line: what is wrong, whose role was followed and who is to blame, where, what
    /// came, what would have been right, by which rule.
    pub fn report(&self) -> impl fmt::Display + '_ {
        lines::Lines(self)
    }

    /// The same violation, said of another version of the protocol: one that has no such message either.
    #[must_use]
    pub fn in_version(mut self, version: Text) -> Violation {
        self.0.version = Some(version);
        self
    }

    /// The details, by value.
    pub fn into_details(self) -> Details {
        *self.0
    }
}

impl Deref for Violation {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl std::error::Error for Violation {}
