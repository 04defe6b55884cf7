//! What a session reports beside its steps and calls.
//!
//! In: what the engine noticed and lived on after. Out: [`Report`]s, which
//! [`Options::on_report`](crate::Options::on_report) hands to the application. Refuses to print: what nobody asked for
//! goes to `tracing` only.

use std::fmt;
use std::time::Duration;

use mcp_protocol_machine::protocol::Text;
use mcp_protocol_machine::{Excerpt, RequestId, Violation};

use crate::error::Error;
use crate::jsonrpc::RpcError;

/// Something that happened beside the steps and calls of the application: the session lives on.
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
    /// The peer sent what the protocol does not permit. A request was answered with an error, anything else dropped.
    Violation(Violation),
    /// The peer sent what the protocol permits and advises against.
    Advice(Violation),
    /// The peer sent what needs a capability that was not announced, and this side
    /// [tolerates](crate::Options::tolerate) that: the message was accepted.
    Tolerated(Violation),
    /// The peer sent a message before a step of this side that it has to wait for. It is held, and judged when this
    /// side has taken the step; see [`Options::max_early`](crate::Options::max_early).
    Early {
        /// The message, by its name in the `.session` file.
        message: Text,
    },
    /// The peer sent a line that is no message.
    Malformed {
        /// What is wrong with it; also the answer, if there was one.
        error: RpcError,
        /// Its id, if that could be read.
        id: Option<RequestId>,
    },
    /// The peer sent an error that belongs to no request: it could not read something that this side sent.
    Complaint {
        /// What the peer said.
        error: RpcError,
    },
    /// A notification or a reply could not be delivered; it is lost.
    Undelivered {
        /// Why.
        problem: String,
    },
    /// The peer had lost the session, and this side has reconnected. What the peer had been asked to remember, such as
    /// subscriptions, is gone. Calls that were waiting for their replies have failed.
    Reconnected,
    /// The payload of a message does not have its type. A request was answered with an error, anything else dropped.
    Undecodable {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// What the reader of the type said.
        problem: String,
    },
    /// A handler panicked: a request was answered with an error, and the session lives on. Or whoever hears the reports
    /// on a request panicked after its reply, and hears no more of them.
    Panicked {
        /// The message that it was working on, or the request, by its name in the `.session` file.
        message: Text,
        /// What the panic said, if that was text.
        text: Option<String>,
    },
    /// The peer announced what this side cannot work with: a version that it does not accept, or less than it
    /// requires.
    NegotiationFailed {
        /// [`Error::Version`] or [`Error::MissingCapabilities`].
        error: Error,
    },
    /// The future of `incoming().serve(handler)` was not polled, though there was something to hand to the handler.
    /// Replies and steps no longer wait for it, until it is polled again.
    NotServed {
        /// How long they have waited.
        after: Duration,
    },
    /// The peer sent a message before it had heard of a step of this side, which does not accept it any more. A request
    /// was answered with an error, anything else dropped.
    Late {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// The state in which it found this side. With `over` the state in which the sub-session was when it ended.
        state: Text,
        /// The message that it crossed, by its name; nothing in a session that was begun elsewhere.
        crossed: Option<Text>,
        /// The sub-session that it belongs to is over.
        over: bool,
    },
    /// This side has announced a capability and serves a handler that implements no request which the capability
    /// permits: they are answered with *method not found*. Reported once both have happened, the announcement and
    /// `serve`.
    ///
    /// A program that takes requests itself, from `incoming().next()` or as a
    /// [`CheckedSession`](crate::CheckedSession), is not judged: it may handle any of them.
    Unhandled {
        /// The path of the capability, such as `resources.subscribe`.
        capability: String,
        /// The wire methods that have no handler.
        methods: Vec<Text>,
    },
    /// A message was not worked on, or not sent, through no fault of its own.
    Dropped {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// Why.
        cause: DropReason,
    },
}

/// Why a message was not worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// Too many were waiting already.
    QueueFull,
    /// Too many requests were unanswered already.
    TooMany,
    /// The peer made too many requests in too short a time.
    TooFast,
    /// The messages that wait or are being worked on had too many bytes already.
    TooManyBytes,
    /// The handlers of the peer, or of all peers together, were too many already.
    TooManyHandlers,
    /// Nobody takes `incoming`.
    Unattended,
    /// Whoever took it let go of it.
    Abandoned,
    /// The session was closed, or ended, before anyone had taken it.
    Closed,
    /// The peer has said everything, and is sent nothing but the replies that it is owed.
    PeerClosed,
    /// The program took a later message, which led it to a state that does not accept this one.
    PassedOver,
}

impl Report {
    /// A report of the peer on a request does not have its type.
    pub(crate) fn unreadable(message: Text, error: &serde_json::Error) -> Report {
        Report::Undecodable { message, problem: format!("a report on it could not be read: {error}") }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Violation(violation) | Report::Advice(violation) => violation.fmt(formatter),
            Report::Tolerated(violation) => write!(formatter, "tolerated: {violation}"),
            Report::Early { message } => {
                write!(
                    formatter,
                    "`{message}` came before a step of this side that it has to wait for: it is held"
                )
            }
            Report::Malformed { error, id: None } => write!(formatter, "malformed message: {error}"),
            Report::Malformed { error, id: Some(id) } => {
                write!(formatter, "malformed message with the id {id}: {error}")
            }
            Report::Complaint { error } => {
                write!(formatter, "the peer could not read a message of this side: {error}")
            }
            Report::Undelivered { problem } => {
                write!(formatter, "a message could not be delivered: {problem}")
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
                "`incoming().serve(handler)` was not polled for {after:?}, so replies no longer wait for it: spawn its \
                 future, or poll it beside the calls"
            ),
            Report::Late { message, state, crossed, over } => {
                write!(formatter, "`{message}` is late")?;
                if let Some(crossed) = crossed {
                    write!(formatter, ": it crossed `{crossed}`")?;
                }
                match over {
                    true => write!(formatter, ", with which the sub-session in `{state}` ended"),
                    false => write!(formatter, ", and `{state}` does not accept it"),
                }
            }
            Report::Unhandled { capability, methods } => {
                write!(
                    formatter,
                    "`{capability}` was announced, and the handler implements nothing of it: not "
                )?;
                for (place, method) in methods.iter().enumerate() {
                    write!(formatter, "{}`{method}`", if place > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
            Report::Dropped { message, cause } => {
                write!(formatter, "`{message}` was dropped: ")?;
                formatter.write_str(match cause {
                    DropReason::QueueFull => "too many messages are waiting",
                    DropReason::TooMany => "too many requests are unanswered",
                    DropReason::TooFast => "too many requests in too short a time",
                    DropReason::TooManyBytes => "the messages that wait have too many bytes",
                    DropReason::TooManyHandlers => "too many handlers are running",
                    DropReason::Unattended => {
                        "nobody takes incoming messages: spawn `incoming().serve(handler)`"
                    }
                    DropReason::Abandoned => "whoever took it let go of it",
                    DropReason::Closed => "the session was over before anyone had taken it",
                    DropReason::PeerClosed => "the peer has said everything, and is sent replies only",
                    DropReason::PassedOver => {
                        "the program took a later message, and left the state that accepts it"
                    }
                })
            }
        }
    }
}
