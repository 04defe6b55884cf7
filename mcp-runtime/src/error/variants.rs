//! What can go wrong, one variant for each cause.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocol_machine::protocol::{Side, Text};
use mcp_protocol_machine::{Excerpt, RequestId, Violation};

use super::limits::{PaginationError, TimeoutKind};
use super::mismatch::MismatchError;
use super::reason::{DisconnectReason, ReconnectError};
use super::reply::InvalidReply;
use super::version::{AnnouncedVersion, OTHERS, either};
use crate::jsonrpc::RpcError;

/// Why a step or a call did not do what it should.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This side has closed or abandoned the session.
    #[error("the session is closed")]
    Closed,
    /// The session has come to its end without this side having closed it.
    #[error("{}", ended(reason))]
    Disconnected {
        /// What ended it.
        #[source]
        reason: DisconnectReason,
    },
    /// The peer answered the request with an error.
    #[error("the peer refused the request: {0}")]
    Refused(#[from] RpcError),
    /// The peer's reply to the request cannot be accepted. A call fails by itself; a step whose replies lead to
    /// different states ends the session, for the peer may be in any of them.
    #[error("{0}")]
    InvalidReply(#[source] InvalidReply),
    /// The message could not be delivered, or its reply could not be read to its end. The session lives on.
    #[error("the message could not be delivered: {0}")]
    NotDelivered(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// The peer does not know the session that the message was sent in.
    #[error("the peer does not know the session")]
    SessionInvalid,
    /// The peer had lost the session, and this side has [reconnected](crate::Report::Reconnected). The value or message
    /// belongs to the lost session: a sub-session, a request of the peer, or a message sent while working on one.
    #[error("the peer has lost the session that this belongs to: begin it again in the new session")]
    SessionReplaced,
    /// Whoever was to name the session could not.
    #[error("the session provider failed: {0}")]
    SessionProvider(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// The protocol does not permit this now. Nothing was written.
    #[error("{0}")]
    NotPermitted(#[from] Violation),
    /// A payload does not have the type that it is declared with.
    #[error("the payload of `{message}` does not have its type: {}", Excerpt(&source.to_string()))]
    Payload {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// What the reader or writer of the type said.
        source: Arc<serde_json::Error>,
    },
    /// What the payload holds does not go with the message: conditions tell messages apart, and the peer would read
    /// another one; or it is a report of progress that says no more than the one before. Nothing was written.
    #[error("the payload of `{message}` {problem}")]
    Mismatch {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// What does not go with it.
        problem: MismatchError,
    },
    /// The peer chose another branch than the one that was waited for.
    #[error("`{got}` came in where `{expected}` was waited for")]
    Unexpected {
        /// The message that was waited for.
        expected: Text,
        /// The message that came.
        got: Text,
    },
    /// The call was cancelled by this side, or the sub-session by whoever opened it.
    #[error("the call was cancelled")]
    Cancelled,
    /// The pages of a list do not come to an end.
    #[error("the pages of `{message}` do not come to an end: {problem}")]
    Pagination {
        /// The request, by its name in the `.session` file.
        message: Text,
        /// Why that is known.
        problem: PaginationError,
    },
    /// A message opens a sub-session with steps of its own, and was sent like one that does not.
    #[error("`{message}` opens something with steps of its own: send it with `open`")]
    Opens {
        /// The message, by its name in the `.session` file.
        message: Text,
    },
    /// A message that opens no sub-session was sent like one that does.
    #[error("`{message}` opens nothing with steps of its own: send it with `request`, `call` or `notify`")]
    OpensNothing {
        /// The message, by its name in the `.session` file.
        message: Text,
    },
    /// A request that a session without types does not hold was to be answered.
    #[error(
        "the session holds no request with the id {id}: it is answered already, or another value's to answer"
    )]
    NotHeld {
        /// The id.
        id: RequestId,
    },
    /// Several messages were to be sent in one line, which the protocol does not permit. Nothing was written.
    #[error("{} permits no batches: send each message on its own", protocol_name(protocol, version.as_deref()))]
    NoBatches {
        /// The protocol.
        protocol: Text,
        /// The revision that governs.
        version: Option<Text>,
    },
    /// The replies to a batch of the peer would take more bytes than this, half of
    /// [`Options::output_limit`](crate::Options::output_limit). The request was refused in place of this reply.
    #[error(
        "the replies to a batch take more than {0} bytes: the request was refused; see `Options::output_limit`"
    )]
    BatchFull(usize),
    /// Messages of several sessions were to be sent in one batch. Nothing was written.
    #[error("the messages of a batch belong to several sessions")]
    OtherSession,
    /// The peer announced a version of the protocol that this side does not accept.
    #[error("the peer {}, and this side accepts {}{OTHERS}", offered.speaks(), either(accepted))]
    Version {
        /// The version that this side asked for, if it asked for one.
        requested: Option<String>,
        /// What the peer announced.
        offered: AnnouncedVersion,
        /// The versions that this side accepts.
        accepted: Vec<String>,
    },
    /// The peer lacks capabilities that this side requires.
    #[error("the {} lacks what this side requires: {}", side_name(*side), missing.join(", "))]
    MissingCapabilities {
        /// The side that announced.
        side: Side,
        /// Everything that is missing, by its path in the announcement.
        missing: Vec<String>,
    },
    /// The time that a call or a step may take has passed. A request that may be taken back was taken back.
    #[error("`{method}` {what} {after:?}")]
    Timeout {
        /// The message, by its name in the `.session` file.
        message: Text,
        /// The same as it is called on the wire.
        method: Text,
        /// The limit that was reached.
        after: Duration,
        /// What did not happen in time.
        what: TimeoutKind,
    },
}

/// That a session is over, and why.
fn ended(reason: &DisconnectReason) -> String {
    match reason {
        // It is mostly the beginning that is a step, and then there never was a session that could have ended.
        DisconnectReason::NotDelivered(cause) => format!("there is no session with the server: {cause}"),
        reason => format!("the session has ended: {reason}"),
    }
}

fn protocol_name(name: &str, version: Option<&str>) -> String {
    format!("`{name}` {}", version.unwrap_or_default()).trim_end().to_owned()
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
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
    /// What a session ends with where this happens to one of its steps.
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
