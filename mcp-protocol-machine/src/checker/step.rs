//! What a message did to a session, and where what it belongs to stands: [`Step`], [`Late`], [`Awaiting`].

use crate::id::{RequestId, SubSessionNumber, Token};
use crate::protocol::{MessageIndex, StateIndex};
use crate::violation::Violation;

/// What a notification is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About<'a> {
    /// About nothing, or the place that should say so is empty.
    Nothing,
    /// For a message with `cancels`: the id of the request to cancel.
    Request(&'a RequestId),
    /// For a message with `reports`: the token that the request carried.
    Token(&'a Token),
}

/// Where the exchange that a reply belongs to stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaiting {
    /// It runs: the reply is one of this request's, or its refusal.
    Request(MessageIndex),
    /// It was cancelled: a late reply is to be swallowed, [`Checker::stray_reply`](crate::Checker::stray_reply) keeps
    /// count.
    Retired,
    /// The request was a violation and has been reported: the reply is to be swallowed, too.
    Refused,
    /// It has its reply.
    Completed,
    /// The request never existed, or is forgotten.
    Unknown,
}

/// What an accepted message did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// What moved.
    pub kind: StepKind,
    /// The message; for a reply to nothing that runs, nothing.
    pub message: Option<MessageIndex>,
    /// The sub-session that it belongs to, of those that a key ties together: one that was opened, moved or ended.
    pub sub_session: Option<SubSessionNumber>,
    /// Accepted, but the protocol advises against it here: of kind [`Discouraged`](crate::ViolationKind::Discouraged).
    pub advice: Option<Violation>,
}

/// What moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// A linear channel, from one state to the next, which may be the same. The next one may be a fork.
    Linear {
        /// Where it was.
        from: StateIndex,
        /// Where it is.
        to: StateIndex,
    },
    /// A new sub-session of a `*` body was opened, and may be over at once.
    Spawned {
        /// The state that the new sub-session is in.
        state: StateIndex,
        /// For a `*` in the body of another one: the sub-session in which it was opened.
        within: Option<SubSessionNumber>,
    },
    /// A running sub-session went on.
    SubSession {
        /// Whether it is over now.
        ended: bool,
    },
    /// Nothing: the message belongs to a running exchange whose state does not mind it.
    Reported,
    /// Nothing: the message comes too late for its exchange and is to be dropped.
    Swallowed,
    /// Nothing: the message is late for the state, and is to be reported and dropped. A request is to be answered with
    /// an error, which is judged as the reply to a refused request.
    Late(Late),
    /// Nothing: the session is closed and the message is to be dropped.
    Closed,
}

/// Why a message is late: its sender had not heard of a step of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Late {
    /// The state in which it arrived, of a linear channel or of a sub-session.
    pub state: StateIndex,
    /// The message that it has crossed; nothing where that is not known, in a session that was begun elsewhere.
    pub crossed: Option<MessageIndex>,
    /// The sub-session that it belongs to is over: `state` is the one that the end found it in.
    pub over: bool,
}

impl StepKind {
    /// Whether the message is to be dropped.
    pub const fn is_dropped(self) -> bool {
        matches!(self, StepKind::Swallowed | StepKind::Late(_) | StepKind::Closed)
    }
}

impl Step {
    /// A step without a sub-session and without advice.
    pub(super) const fn plain(kind: StepKind, message: MessageIndex) -> Step {
        Step { kind, message: Some(message), sub_session: None, advice: None }
    }
}
