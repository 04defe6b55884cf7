//! [`Report`]: what a running session tells its owner.

mod limit;
mod repeated;

use std::fmt;
use std::time::Duration;

use mcp_protocol_machine::protocol::Text;
use mcp_protocol_machine::{Excerpt, RequestId, Violation};

use crate::error::Error;
use crate::jsonrpc::RpcError;

pub use limit::{LimitedReport, ReportLimit};
pub(crate) use repeated::RepeatedViolations;

/// Something that a running session tells its owner. The session continues.
///
/// ```
/// use mcp_runtime::{Options, Report};
///
/// let options = Options::new().on_report(|report| match report {
///     Report::Violation(violation) => println!("the peer broke the protocol: {violation}"),
///     other => println!("{other}"),
/// });
/// # drop(options);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Report {
    /// The peer sent a message that the protocol does not permit. A request was answered with an error, any other
    /// message was dropped.
    Violation(Violation),
    /// The peer has sent a message many times that the protocol does not permit. The first violations were reported one
    /// by one, and the others are counted: the number is reported at distances that grow, and at the end of the
    /// session.
    ManyViolations {
        /// The latest of them.
        violation: Violation,
        /// How many there are so far.
        count: u64,
    },
    /// The peer sent a message that the protocol permits but advises against.
    Advice(Violation),
    /// The peer sent a message that needs a capability that was not announced. This side
    /// [tolerates](crate::Options::tolerate) that, and the message was accepted.
    Tolerated(Violation),
    /// The peer sent a message too early: it has to wait for a step of this side. It is held, and checked after the
    /// step; see [`Options::max_early`](crate::Options::max_early).
    Early {
        /// The message, by its name in the `.session` file.
        message: Text,
    },
    /// The peer sent a text that is not a message.
    Malformed {
        /// What is wrong with it; also the answer, if there was one.
        error: RpcError,
        /// Its id, if that could be read.
        id: Option<RequestId>,
    },
    /// The peer has sent many texts that are not messages. The first ones were reported one by one, and the others are
    /// counted: the number is reported at distances that grow, and at the end of the session.
    ManyMalformed {
        /// How many there are so far.
        count: u64,
    },
    /// The peer sent an error that does not belong to a request: it could not read a message of this side.
    Complaint {
        /// What the peer said.
        error: RpcError,
    },
    /// A notification or a reply could not be delivered; it is lost.
    Undelivered {
        /// Why.
        problem: String,
    },
    /// Over HTTP, the stream of what the server says unasked cannot be opened; the server may be down. This side goes on
    /// asking for it, and reports this once until a stream has been opened.
    NotListening {
        /// Why.
        problem: String,
    },
    /// The peer had lost the session, and this side has reconnected. What the peer had been asked to remember, such as
    /// subscriptions, is gone. Calls that were waiting for their replies have failed.
    Reconnected,
    /// The payload of a message does not have its type. A request was answered with an error, any other message was
    /// dropped.
    Undecodable {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// The error of the decoder.
        problem: String,
    },
    /// A handler panicked, and its request was answered with an error. Or an `on_progress` callback panicked after the
    /// reply, and is not called again.
    Panicked {
        /// The message that the handler was working on, or the request, by its name in the `.session` file.
        message: Text,
        /// What the panic said, if that was text.
        text: Option<String>,
    },
    /// The peer announced a version that this side does not accept, or too few capabilities.
    NegotiationFailed {
        /// [`Error::Version`] or [`Error::MissingCapabilities`].
        error: Error,
    },
    /// The future of `incoming().serve(handler)` was not polled, although messages wait for the handler. Replies and
    /// steps do not wait for it until it is polled again.
    NotServed {
        /// How long they have waited.
        after: Duration,
    },
    /// The peer sent a message before it had received a step of this side, after which the message is not accepted. A
    /// request was answered with an error, any other message was dropped.
    Late {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// The state in which it found this side. With `over` the state in which the sub-session was when it ended.
        state: Text,
        /// The message that it crossed, by its name; `None` in a resumed session.
        crossed: Option<Text>,
        /// The sub-session that it belongs to is over.
        over: bool,
    },
    /// This side has announced a capability, but its handler does not implement any request of it: they are answered
    /// with *method not found*. Reported once this side has announced it and called `serve`.
    ///
    /// A program that takes requests itself, from `incoming().next()` or as a
    /// [`CheckedSession`](crate::CheckedSession), gets no such report: it may handle any of them.
    Unhandled {
        /// The path of the capability, such as `resources.subscribe`.
        capability: String,
        /// The wire methods that have no handler.
        methods: Vec<Text>,
    },
    /// A correct message was not worked on, or not sent.
    Dropped {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// Why.
        cause: DropReason,
    },
    /// Several messages of one name were dropped at once: the value of a sub-session had not read them when it was
    /// dropped.
    ManyDropped {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// Why.
        cause: DropReason,
        /// How many messages there are.
        count: u64,
    },
}

/// Why a message was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// Too many messages were waiting.
    QueueFull,
    /// Too many requests were unanswered.
    TooMany,
    /// The peer made too many requests in too short a time.
    TooFast,
    /// The messages that wait or are being worked on had too many bytes.
    TooManyBytes,
    /// Too many handlers were running, for this peer or for all peers together.
    TooManyHandlers,
    /// No part of the program takes `incoming`.
    Unattended,
    /// The handler, the value of the sub-session, or the responder that would have taken it was dropped.
    Abandoned,
    /// The session ended before the program took the message.
    Closed,
    /// The peer has closed its side, and is only sent replies.
    PeerClosed,
    /// The program took a later message, which led it to a state that does not accept this one.
    PassedOver,
    /// An earlier request with the same id was cancelled by the peer, and is still being worked on.
    IdInUse,
    /// A message of this side: the peer had left the state that permits it, and the program had not read that yet. It was
    /// not written.
    TooLate,
}

impl Report {
    /// A progress notification does not have its type.
    pub(crate) fn unreadable(message: Text, error: &serde_json::Error) -> Report {
        Report::Undecodable { message, problem: format!("a report on it could not be read: {error}") }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Violation(violation) | Report::Advice(violation) => violation.fmt(formatter),
            Report::ManyViolations { violation, count } => {
                write!(formatter, "{count} times so far, and only counted after the first ones: {violation}")
            }
            Report::Tolerated(violation) => write!(formatter, "tolerated: {violation}"),
            Report::Early { message } => {
                write!(formatter, "`{message}` came too early: it is held until this side has taken a step")
            }
            Report::Malformed { error, id: None } => write!(formatter, "malformed message: {error}"),
            Report::Malformed { error, id: Some(id) } => {
                write!(formatter, "malformed message with the id {id}: {error}")
            }
            Report::ManyMalformed { count } => {
                write!(
                    formatter,
                    "{count} malformed messages so far: those after the first ones are only counted"
                )
            }
            Report::Complaint { error } => {
                write!(formatter, "the peer could not read a message of this side: {error}")
            }
            Report::Undelivered { problem } => {
                write!(formatter, "a message could not be delivered: {problem}")
            }
            Report::NotListening { problem } => {
                write!(
                    formatter,
                    "what the server says unasked does not come, and is asked for again: {problem}"
                )
            }
            Report::Reconnected => {
                formatter.write_str("the peer had lost the session: reconnected to a new one")
            }
            Report::Undecodable { message, problem } => {
                write!(formatter, "the payload of `{message}` does not have its type: {}", Excerpt(problem))
            }
            Report::Panicked { message, text: None } => {
                write!(formatter, "the handler of `{message}` panicked")
            }
            Report::Panicked { message, text: Some(text) } => {
                write!(formatter, "the handler of `{message}` panicked: {text}")
            }
            Report::NegotiationFailed { error } => error.fmt(formatter),
            Report::NotServed { after } => write!(
                formatter,
                "`incoming().serve(handler)` was not polled for {after:?}, so replies do not wait for it: spawn its \
                 future, or poll it together with the calls"
            ),
            Report::Late { message, state, crossed, over } => {
                write!(formatter, "`{message}` is late")?;
                if let Some(crossed) = crossed {
                    write!(formatter, ": it crossed `{crossed}`")?;
                }
                match (over, crossed) {
                    (true, _) => write!(formatter, ", with which the sub-session in `{state}` ended"),
                    (false, Some(_)) => write!(formatter, ", after which `{state}` does not accept it"),
                    (false, None) => write!(formatter, ", and `{state}` does not accept it"),
                }
            }
            Report::Unhandled { capability, methods } => {
                write!(
                    formatter,
                    "`{capability}` was announced, but the handler does not implement any request of it: add "
                )?;
                for (place, method) in methods.iter().enumerate() {
                    write!(formatter, "{}`{method}`", if place > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
            Report::Dropped { message, cause } => {
                write!(formatter, "`{message}` was dropped: ")?;
                cause.fmt(formatter)
            }
            Report::ManyDropped { message, cause, count } => {
                write!(formatter, "{count} messages `{message}` were dropped: {cause}")
            }
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            DropReason::QueueFull => "too many messages are waiting",
            DropReason::TooMany => "too many requests are unanswered",
            DropReason::TooFast => "too many requests in too short a time",
            DropReason::TooManyBytes => "the messages that wait have too many bytes",
            DropReason::TooManyHandlers => "too many handlers are running",
            DropReason::Unattended => {
                "the program does not take incoming messages: spawn `incoming().serve(handler)`"
            }
            DropReason::Abandoned => "the handler or the value that would have taken it was dropped",
            DropReason::Closed => "the session ended before the program took it",
            DropReason::PeerClosed => "the peer has closed its side, and is only sent replies",
            DropReason::PassedOver => "the program took a later message, and left the state that accepts it",
            DropReason::TooLate => "the peer has left the state that permits it, so it was not written",
            DropReason::IdInUse => {
                "an earlier request with its id was cancelled, and is still being worked on"
            }
        })
    }
}
