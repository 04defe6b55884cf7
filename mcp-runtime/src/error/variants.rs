//! [`Error`]: what can go wrong, one variant for each cause.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use mcp_protocol_machine::protocol::{Side, Text};
use mcp_protocol_machine::{Excerpt, RequestId, Violation};

use super::limits::{PaginationError, TimeoutKind};
use super::mismatch::MismatchError;
use super::reason::{DisconnectReason, ReconnectError};
use super::reply::InvalidReply;
use super::version::{AnnouncedVersion, OTHERS, either};
use crate::error_texts::error_texts;
use crate::jsonrpc::RpcError;

/// Why a step or a call failed.
///
/// ```
/// use mcp_runtime::{DisconnectReason, Error};
///
/// fn explain(error: &Error) -> String {
///     match error {
///         Error::Refused(error) => format!("the weather service says: {}", error.message),
///         Error::Disconnected { reason: DisconnectReason::PeerClosed } => "it is closed".to_owned(),
///         error => error.to_string(),
///     }
/// }
/// assert_eq!(explain(&Error::Cancelled), "the call was cancelled");
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// This side has closed or abandoned the session.
    Closed,
    /// The session has ended, and this side did not close it.
    Disconnected {
        /// What ended it.
        reason: DisconnectReason,
    },
    /// The peer answered the request with an error.
    Refused(RpcError),
    /// The peer's reply to the request cannot be accepted. A call fails by itself; a step whose replies lead to
    /// different states ends the session, for the peer may be in any of them.
    InvalidReply(InvalidReply),
    /// The message could not be delivered, or its reply could not be read to its end. The session continues.
    NotDelivered(Arc<dyn std::error::Error + Send + Sync>),
    /// The peer does not know the session that the message was sent in.
    SessionInvalid,
    /// The peer had lost the session, and this side has [reconnected](crate::Report::Reconnected). The value or message
    /// belongs to the lost session: a sub-session, a request of the peer, or a message sent while working on one.
    SessionReplaced,
    /// The `transport::http::SessionProvider` could not name the session.
    SessionProvider(Arc<dyn std::error::Error + Send + Sync>),
    /// The protocol does not permit this now. Nothing was written.
    NotPermitted(Violation),
    /// A payload does not have the type that it is declared with.
    Payload {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// What the reader or writer of the type said.
        source: Arc<serde_json::Error>,
    },
    /// The payload does not fit the message. Either the peer would read it as another message, because conditions tell
    /// messages apart, or it reports no more progress than the report before. Nothing was written.
    Mismatch {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// What does not fit.
        problem: MismatchError,
    },
    /// The peer chose another branch than the program waited for.
    Unexpected {
        /// The expected message.
        expected: Text,
        /// The received message.
        got: Text,
    },
    /// This side has cancelled the call, or the side that opened the sub-session has cancelled it.
    Cancelled,
    /// A list has too many pages, or its cursors repeat.
    Pagination {
        /// The request, by its name in the `.session` file.
        message: Text,
        /// Which of the two.
        problem: PaginationError,
    },
    /// The message opens a sub-session, and was sent with `request`, `call` or `notify`.
    Opens {
        /// The message, by its name in the `.session` file.
        message: Text,
    },
    /// The message does not open a sub-session, and was sent with `open`.
    OpensNothing {
        /// The message, by its name in the `.session` file.
        message: Text,
    },
    /// The checked session does not hold the request that was to be answered.
    NotHeld {
        /// The id.
        id: RequestId,
    },
    /// The protocol does not permit batches. Nothing was written.
    NoBatches {
        /// The protocol.
        protocol: Text,
        /// The revision that governs.
        version: Option<Text>,
    },
    /// The replies to a batch of the peer would take more than this many bytes, half of
    /// [`Options::output_limit`](crate::Options::output_limit). The request was refused in place of this reply.
    BatchFull(usize),
    /// A result has more bytes than may wait to be written, which [`Options::output_limit`](crate::Options::output_limit)
    /// says. The peer got an error in its place.
    ResultTooLarge {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    /// A request or a notification has more bytes than may wait to be written, which
    /// [`Options::output_limit`](crate::Options::output_limit) says. Nothing was written.
    MessageTooLarge {
        /// Its wire method.
        method: Text,
        /// How long its payload is.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    /// The messages of a batch belong to several sessions. Nothing was written.
    OtherSession,
    /// The peer announced a version of the protocol that this side does not accept.
    Version {
        /// The version that this side asked for, if it asked for one.
        requested: Option<String>,
        /// What the peer announced.
        offered: AnnouncedVersion,
        /// The versions that this side accepts.
        accepted: Vec<String>,
    },
    /// The peer lacks capabilities that this side requires.
    MissingCapabilities {
        /// The side that announced.
        side: Side,
        /// Everything that is missing, by its path in the announcement.
        missing: Vec<String>,
    },
    /// The timeout of a call or a step has passed. The request was cancelled, if the protocol allows it.
    Timeout {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// Its wire method.
        method: Text,
        /// The limit that was reached.
        after: Duration,
        /// What did not happen in time.
        what: TimeoutKind,
    },
}

error_texts! {
    Error {
        Self::Closed => ("the session is closed"),
        Self::Disconnected { reason } => ("{}", ended(reason)) from reason,
        Self::Refused(cause) => ("the peer refused the request: {cause}") from cause,
        Self::InvalidReply(cause) => ("{cause}") from cause,
        Self::NotDelivered(cause) => ("the request failed: {cause}") from cause,
        Self::SessionInvalid => ("the peer does not know the session: begin another one"),
        Self::SessionReplaced => (
            "the peer has lost the session that this belongs to: begin it again in the new session"
        ),
        Self::SessionProvider(cause) => ("the session provider failed: {cause}") from cause,
        Self::NotPermitted(cause) => ("{cause}") from cause,
        Self::Payload { message, source } => (
            "the payload of `{message}` does not have its type: {}",
            Excerpt(&source.to_string())
        ) from source,
        Self::Mismatch { message, problem } => ("the payload of `{message}` {problem}"),
        Self::Unexpected { expected, got } => ("expected `{expected}`, received `{got}`"),
        Self::Cancelled => ("the call was cancelled"),
        Self::Pagination { message, problem } => ("gave up reading the pages of `{message}`: {problem}"),
        Self::Opens { message } => ("`{message}` opens a sub-session: send it with `open`"),
        Self::OpensNothing { message } => (
            "`{message}` does not open a sub-session: send it with `request`, `call` or `notify`"
        ),
        Self::NotHeld { id } => (
            "the session does not hold a request with the id {id}: it was answered already, or belongs to \
             another value"
        ),
        Self::NoBatches { protocol, version } => (
            "{} does not permit batches: send each message on its own",
            protocol_name(protocol, version.as_deref())
        ),
        Self::BatchFull(value) => (
            "the replies to a batch take more than {value} bytes: the request was refused; see \
             `Options::output_limit`"
        ),
        Self::ResultTooLarge { bytes, most } => (
            "the result has {bytes} bytes, and may have {most}: see `Options::output_limit`"
        ),
        Self::MessageTooLarge { method, bytes, most } => (
            "`{method}` was not sent: its payload has {bytes} bytes, and may have {most}: see `Options::output_limit`"
        ),
        Self::OtherSession => (
            "the messages of a batch belong to several sessions: send one batch for each session"
        ),
        Self::Version { offered, accepted, .. } => (
            "the peer {}, and this side accepts {}{OTHERS}",
            offered.speaks(), either(accepted)
        ),
        Self::MissingCapabilities { side, missing } => (
            "the {} lacks what this side requires: {}",
            (*side).word(), missing.join(", ")
        ),
        Self::Timeout { method, after, what, .. } => ("`{method}` {what} {after:?}: see {}", what.settings()),
    }
}

impl From<RpcError> for Error {
    fn from(cause: RpcError) -> Error {
        Error::Refused(cause)
    }
}

impl From<Violation> for Error {
    fn from(cause: Violation) -> Error {
        Error::NotPermitted(cause)
    }
}

/// Writes the sentence: Rust prints an error that `main` returns in this form.
impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Error").field(&self.to_string()).finish()
    }
}

/// Says that a session has ended, and why.
fn ended(reason: &DisconnectReason) -> String {
    match reason {
        // A step that cannot be delivered is mostly the first one, and then there was never a session.
        DisconnectReason::NotDelivered(cause) => {
            format!("the session with the server could not begin: {cause}")
        }
        reason => format!("the session has ended: {reason}"),
    }
}

/// The protocol in a sentence. Tables that a program builds may have no name.
fn protocol_name(name: &str, version: Option<&str>) -> String {
    let name = if name.is_empty() { "the protocol".to_owned() } else { format!("`{name}`") };
    match version.filter(|version| !version.is_empty()) {
        Some(version) => format!("{name} {version}"),
        None => name,
    }
}

impl Error {
    /// The error that answers a request whose announcement this side cannot work with.
    pub(crate) fn as_answer(&self) -> RpcError {
        match self {
            Error::Version { offered, accepted, .. } => {
                RpcError::unsupported_version(accepted, offered.as_deref().unwrap_or_default())
            }
            Error::MissingCapabilities { missing, .. } => {
                RpcError::invalid_params("Required capabilities are missing")
                    .with_data(serde_json::json!({ "missing": missing }))
            }
            other => RpcError::internal_error(other.to_string()),
        }
    }

    pub(crate) fn payload(message: &Text, source: serde_json::Error) -> Error {
        Error::Payload { message: message.clone(), source: Arc::new(source) }
    }
}

impl From<Error> for DisconnectReason {
    /// Returns what ends the session when one of its steps fails with this error.
    fn from(error: Error) -> DisconnectReason {
        match error {
            Error::Disconnected { reason } => reason,
            Error::SessionInvalid => DisconnectReason::SessionInvalid(ReconnectError::NotOurs),
            Error::Closed => DisconnectReason::PeerClosed,
            Error::InvalidReply(reply) => DisconnectReason::InvalidReply(reply),
            Error::NotDelivered(error) | Error::SessionProvider(error) => {
                DisconnectReason::NotDelivered(error)
            }
            error => DisconnectReason::Failed(Arc::new(io::Error::other(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_timeout_names_the_settings_that_decide_it() {
        for (what, expected) in [
            (
                TimeoutKind::Reply,
                "`ping` was not answered within 2s: see `Options::timeout`, and `timeout` of the call",
            ),
            (
                TimeoutKind::Total,
                "`ping` was not answered, in spite of its progress, within 2s: see `Options::max_timeout`, and \
                 `max_timeout` of the call",
            ),
            (
                TimeoutKind::Write,
                "`ping` could not be written, because the peer does not read: gave up after 2s: see \
                 `Options::timeout` and `Options::max_timeout`",
            ),
            (
                TimeoutKind::EarlierReply,
                "`ping` could not be written, because the reply to an earlier request is missing: gave up after \
                 2s: see `Options::timeout` and `Options::max_timeout`",
            ),
        ] {
            let (message, method) = ("Ping".into(), "ping".into());
            let error = Error::Timeout { message, method, after: Duration::from_secs(2), what };
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_protocol_without_a_name_is_named_in_words() {
        let error = |name: &'static str, version: Option<&'static str>| {
            Error::NoBatches { protocol: name.into(), version: version.map(Into::into) }.to_string()
        };
        let rest = "does not permit batches: send each message on its own";
        assert_eq!(error("Desk", Some("1")), format!("`Desk` 1 {rest}"));
        assert_eq!(error("Desk", None), format!("`Desk` {rest}"));
        assert_eq!(error("", None), format!("the protocol {rest}"));
        assert_eq!(error("", Some("")), format!("the protocol {rest}"));
    }
}
