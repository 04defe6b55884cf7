//! What went wrong, as data and as a sentence.
//!
//! In: what the checker knows at the moment it refuses a message. Out: a [`Violation`] whose fields tools read and
//! whose `Display` people read: what came, in which state, what is permitted there instead, by which rule. Refuses
//! to decide what to do about it: the level says how strict the rule is, the caller chooses.

mod lines;

use std::fmt;
use std::ops::Deref;

use crate::copies::KeyValue;
use crate::exchange::{RequestId, Token};
use crate::protocol::{Condition, Direction, Kind, MessageIndex, Side, Strictness, Text};

/// A message that leaves the protocol. The details are behind a box, so that judging a good message stays cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(Box<Details>);

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
    /// Whether an error reply can be sent: the message is a request, and no running one has the same id, which the
    /// error would be taken for the reply of.
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
    /// The message is a later step of a copy, and copies rest in this state: `only`.
    CopiesRest,
    /// The state accepts the message, but a capability that it needs is not there.
    NotNegotiated {
        /// Whose capability it is.
        holder: Side,
        /// Its path in the announcement, `resources.subscribe`.
        capability: String,
    },
    /// The message needs a capability that was negotiated but that the caller's own set leaves out.
    Restricted {
        /// Its path in the announcement.
        capability: String,
    },
    /// The protocol has no such method.
    UnknownMethod,
    /// Conditions tell the messages of this method apart, or the replies of this request, and the payload fits none.
    FitsNone {
        /// The conditions, in order of declaration.
        conditions: Vec<Condition>,
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
    /// A notification that must name a request, and names none.
    Untied,
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
    /// A cancellation of a request that may not be taken back.
    NotCancellable {
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

/// A message that is permitted, or awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// How many messages a sentence names.
const NAMED: usize = 8;

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.sentence(formatter)?;
        match (&self.rule, self.strictness) {
            (Some(rule), Strictness::Should) => write!(formatter, " (rule {rule}, should)"),
            (Some(rule), Strictness::Must) => write!(formatter, " (rule {rule}, must)"),
            (None, Strictness::Should) => formatter.write_str(" (should)"),
            (None, Strictness::Must) => Ok(()),
        }
    }
}

impl Details {
    fn sentence(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (got, states) = (&self.got, Names(&self.states, "and"));
        let (sender, other) = (name(self.sender), name(self.sender.other()));
        let id = Id(self.got.id.as_ref());
        match &self.kind {
            ViolationKind::NotPermitted => {
                write!(formatter, "{got} is not permitted in {states}: the {sender} ")?;
                if self.permitted_in.is_empty()
                    && matches!(got.kind, Some(Kind::Request | Kind::Notification))
                {
                    write!(formatter, "never sends it, it ")?;
                }
                self.instead(formatter)
            }
            ViolationKind::CopiesRest => {
                write!(
                    formatter,
                    "{got} would go on with what was opened before, which rests in {states}: the {sender} "
                )?;
                self.instead(formatter)
            }
            ViolationKind::NotNegotiated { holder, capability } => {
                let holder = name(*holder);
                write!(
                    formatter,
                    "{got} needs the capability `{capability}`, which the {holder} has not announced"
                )
            }
            ViolationKind::Restricted { capability } => {
                write!(formatter, "{got} needs the capability `{capability}`, which is left out here")
            }
            ViolationKind::UnknownMethod => {
                write!(formatter, "{got} is no method that the {sender} sends in `{}`", self.protocol)?;
                match &self.version {
                    Some(version) => write!(formatter, " {version}"),
                    None => Ok(()),
                }
            }
            ViolationKind::FitsNone { conditions } => {
                write!(formatter, "{got} of the {sender} holds nothing by which it is known")?;
                for (place, condition) in conditions.iter().enumerate() {
                    let before = if place == 0 { ":" } else { " or" };
                    write!(formatter, "{before} `{condition}`")?;
                }
                Ok(())
            }
            ViolationKind::DuplicateId { running: Some(running) } => {
                write!(
                    formatter,
                    "{got} has the id {id}, under which a `{running}` of the {sender} is still running"
                )
            }
            ViolationKind::DuplicateId { running: None } => {
                write!(formatter, "{got} has the id {id}, which the {sender} has used before in this session")
            }
            ViolationKind::TooManyRunning { limit } => {
                write!(
                    formatter,
                    "{got} comes while {limit} requests of the {sender} are running, and no more may"
                )
            }
            ViolationKind::UnknownId => {
                write!(
                    formatter,
                    "the {sender} replies to the id {id}, but the {other} has sent no request with it"
                )
            }
            ViolationKind::SecondReply => {
                write!(formatter, "the {sender} replies to the id {id}, but that request has had its reply")
            }
            ViolationKind::WrongReply { request } => {
                write!(
                    formatter,
                    "the {sender} replies to the id {id} with {got}, but its request is `{request}`"
                )
            }
            ViolationKind::UnknownToken { token } => {
                write!(formatter, "{got} carries the token {token}, but no request of the {other} carried it")
            }
            ViolationKind::Untied => write!(formatter, "{got} does not say which request it is about"),
            ViolationKind::UnknownKey { key, value } => {
                write!(formatter, "{got} carries the {key} {value}, and nothing is running under it")
            }
            ViolationKind::KeyInUse { key, value } => {
                write!(formatter, "{got} carries the {key} {value}, under which something is running already")
            }
            ViolationKind::KeyMissing { key } => {
                write!(formatter, "{got} does not carry the {key} that says what it belongs to")
            }
            ViolationKind::WrongKey { key, value } => {
                write!(formatter, "{got} carries the {key} {value}, which is not that of what it belongs to")
            }
            ViolationKind::NothingRunning if got.kind == Some(Kind::Notification) => {
                write!(
                    formatter,
                    "{got} is about a running request, and none is running that it could be about"
                )
            }
            ViolationKind::NothingRunning => {
                write!(formatter, "{got} answers nothing: no `{}` of the {other} is running", got.method)
            }
            ViolationKind::NotRunning => {
                write!(formatter, "{got} names the id {id}, but the {sender} has sent no request with it")
            }
            ViolationKind::NotYours => {
                write!(
                    formatter,
                    "{got} names the id {id} of a request of the {other}, which only the {other} may cancel"
                )
            }
            ViolationKind::NotCancellable { request } => {
                write!(formatter, "{got} names the id {id} of a `{request}`, which cannot be cancelled")
            }
            ViolationKind::OtherKind { taken_for } => {
                let kind = got.kind.map_or("message", kind_name);
                write!(formatter, "{got} is a {kind}, not a {}", kind_name(*taken_for))
            }
            ViolationKind::Over => write!(formatter, "{got} cannot be sent any more: the session is over"),
            ViolationKind::Discouraged => {
                let modal = match self.strictness {
                    Strictness::Should => "should",
                    Strictness::Must => "must",
                };
                write!(formatter, "{got} is accepted in {states}, but the {sender} {modal} not send it there")
            }
        }
    }

    /// What the sender may send instead, and what it waits for.
    fn instead(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.expected.is_empty() && self.awaited.is_empty() {
            return formatter.write_str("may send nothing now");
        }
        if self.expected.is_empty() {
            return write!(formatter, "has to wait for {}", List(&self.awaited));
        }
        write!(formatter, "may send {} now", List(&self.expected))?;
        if self.awaited.is_empty() {
            return Ok(());
        }
        write!(formatter, ", and waits for {}", List(&self.awaited))
    }
}

/// What a kind of message is called in a sentence.
fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Request => "request",
        Kind::Notification => "notification",
        Kind::Reply { .. } => "reply",
        Kind::Refusal { .. } => "refusal",
    }
}

/// A side in a sentence.
fn name(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

/// One message in a sentence.
fn describe(
    formatter: &mut fmt::Formatter<'_>,
    kind: Option<Kind>,
    method: &str,
    condition: Option<&Condition>,
) -> fmt::Result {
    match kind {
        Some(Kind::Reply { .. }) => write!(formatter, "the result of `{method}`"),
        Some(Kind::Refusal { .. }) => write!(formatter, "the error for `{method}`"),
        _ => write!(formatter, "`{method}`"),
    }?;
    match condition {
        Some(condition) => write!(formatter, " (`{condition}`)"),
        None => Ok(()),
    }
}

impl fmt::Display for Got {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(formatter, self.kind, &self.method, self.condition.as_ref())
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(formatter, Some(self.kind), &self.method, self.condition.as_ref())
    }
}

/// An id that may be missing.
struct Id<'a>(Option<&'a RequestId>);

impl fmt::Display for Id<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(id) => write!(formatter, "{id}"),
            None => formatter.write_str("null"),
        }
    }
}

/// Names in backticks, "`A` and `B`".
struct Names<'a>(&'a [Text], &'static str);

impl fmt::Display for Names<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.0.iter().enumerate() {
            if place > 0 {
                write!(formatter, " {} ", self.1)?;
            }
            write!(formatter, "`{name}`")?;
        }
        Ok(())
    }
}

/// Messages, "`a`, `b` or `c`"; the same words only once, and not more than [`NAMED`].
struct List<'a>(&'a [Expected]);

impl fmt::Display for List<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = Vec::new();
        for expected in self.0 {
            let word = expected.to_string();
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let more = words.len().saturating_sub(NAMED);
        words.truncate(NAMED);
        match words.as_slice() {
            some if more > 0 => write!(formatter, "{} and {more} more", some.join(", ")),
            [one] => formatter.write_str(one),
            [some @ .., last] => write!(formatter, "{} or {last}", some.join(", ")),
            [] => Ok(()),
        }
    }
}
