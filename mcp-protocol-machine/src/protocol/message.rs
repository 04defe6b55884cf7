//! One message, and all that binds it to the wire.

use super::{GateIndex, KeyIndex, Level, List, Literal, MessageIndex, Path, ShapeIndex, Side, Text};

/// One message and all that binds it to the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The name in the `.session` file; a refusal is named after its request, `InitializeError`.
    pub name: Text,
    /// Request, notification, reply or refusal.
    pub kind: Kind,
    /// The JSON-RPC method; a reply and a refusal have their request's. One that ends with `*` is a
    /// [pattern](Message::pattern).
    pub method: Text,
    /// What stands in `params` or `result`.
    pub payload: Payload,
    /// What the payload looks like; nothing if the file does not say it.
    pub shape: Option<ShapeIndex>,
    /// The condition on the payload that tells this message from others of the same method.
    pub condition: Option<Condition>,
    /// The capabilities that must have been announced, all of them.
    pub requires: List<Requirement>,
    /// Whether the runtime answers by itself, with an empty result.
    pub answered: bool,
    /// Whether the side that sent this request may cancel it.
    pub cancellable: bool,
    /// A cancellable request that opens a sub-session may be cancelled only until it has its reply: what it has opened
    /// ends in another way.
    pub until_reply: bool,
    /// This notification cancels the running request that it names.
    pub cancels: Option<Cancels>,
    /// This notification belongs to the running request that carries the same token.
    pub reports: Option<Reports>,
    /// This request may take several rounds: a reply asks for something, and the request is sent again with it.
    pub rounds: Option<Rounds>,
    /// The place where this message names capabilities that its sender grants.
    pub grants: Option<Path>,
    /// The place where this message names capabilities that its sender revokes.
    pub revokes: Option<Path>,
    /// The values in this message that tell which running sub-session it belongs to.
    pub keys: List<MessageKey>,
    /// How bad it is to send this message where it is refused, if the declaration says so.
    pub level: Option<Level>,
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

/// `if PATH` or `if PATH = VALUE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Condition {
    /// Where to look in the payload; without a key, it is the payload itself.
    pub path: Path,
    /// The value that must be there; `None` asks only for something that is neither `false` nor `null`.
    pub literal: Option<Literal>,
}

/// One capability that a message needs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requirement {
    /// Whose announcement is asked.
    pub holder: Holder,
    /// The path in it: the gates of `client.x`, `peer.x` and `own.x` are one gate.
    pub gate: GateIndex,
    /// The capability is needed only where the payload fits this, or does not.
    pub condition: Option<Condition>,
    /// `unless` in place of `if`: the capability is needed where the payload does not fit the condition.
    pub unless: bool,
}

impl Requirement {
    /// Whether the capability is needed for a payload, of which `applies` says which conditions it fits.
    pub fn is_needed(&self, applies: impl Fn(&Condition) -> bool) -> bool {
        self.condition.as_ref().is_none_or(|condition| applies(condition) != self.unless)
    }

    /// When the capability is needed, in the words of the `.session` file: `if mode = "url"`. Nothing if always.
    pub fn when(&self) -> Option<String> {
        let condition = self.condition.as_ref()?;
        Some(if self.unless { format!("unless {}", condition.test()) } else { condition.to_string() })
    }
}

/// Whose announcement a gate asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// That of one side, in either direction.
    Side(Side),
    /// That of the sender of the message, `own.x`.
    Sender,
    /// That of the receiver of the message, `peer.x`.
    Receiver,
}

/// A capability: granted iff the path exists in the announcement and is neither `false` nor `null`, or if it is a
/// [default](super::Announcement::defaults). With `during`, it is granted by certain requests, while they run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gate {
    /// The path in the announced capabilities; empty if the gate is granted by requests.
    pub path: Path,
    /// The requests that grant it, in place of an announcement.
    pub during: Option<During>,
}

/// `during R | S if PATH`: which requests permit a message for as long as they run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct During {
    /// The requests, sorted.
    pub requests: List<MessageIndex>,
    /// What their params fit, if not all of these requests count.
    pub condition: Option<Condition>,
}

/// A value by which later messages of a sub-session find it: `key uri = Subscribe.uri | Updated.uri`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// The name after `key`.
    pub name: Text,
    /// `open key`: a message whose value no sub-session holds may be uncorrelated.
    pub open: bool,
}

/// Where one message carries a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageKey {
    /// Which key.
    pub key: KeyIndex,
    /// Where its value is.
    pub place: KeyPlace,
    /// `open Message.path`: this message may be uncorrelated, though the key is not open.
    pub open: bool,
}

/// Where the value of a key is in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// At a path in the payload.
    Path(Path),
    /// `id of M`: it is the id of the envelope.
    Id,
    /// `session of M`: it is another member of the envelope, next to `params`. Its sender takes the value from the
    /// sub-session, and the reply to a request has the same member.
    Member(Text),
}

/// `cancels F`, or `cancels F with reply error N`: the notification cancels the running request whose id is at `F`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cancels {
    /// Where the notification carries the id of the request.
    pub id: Path,
    /// The request still gets its reply, a result or an error; this is the code of the error that says that it was
    /// cancelled. Nothing if the cancel ends the exchange without a reply.
    pub reply_error: Option<i64>,
}

/// `reports F of P | Q`: the notification belongs to the request that carries at `P` or `Q` the value at `F`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reports {
    /// Where the notification carries the token.
    pub token: Path,
    /// Where a request carries it.
    pub of: List<Path>,
}

/// `rounds M F from G, A of Q`: the reply `M` asks for another round of its request. The next round carries at `F` what the
/// reply had at `G`, and at `A` an answer to each question at `Q`, by the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rounds {
    /// The reply that asks.
    pub reply: MessageIndex,
    /// Where the next round carries the state that the reply gave.
    pub state: Path,
    /// Where the reply gives it.
    pub given: Path,
    /// Where the next round carries the answers.
    pub answers: Path,
    /// Where the reply has its questions.
    pub questions: Path,
}
