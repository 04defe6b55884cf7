//! [`DisconnectReason`] and [`ReconnectError`]: why a session ended, and why it could not be replaced.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocol_machine::TableError;

use super::end::{End, Outcome};
use super::reply::InvalidReply;
use crate::error_texts::error_texts;
use crate::jsonrpc::RpcError;

/// What ended a session that this side did not close.
///
/// ```
/// use mcp_runtime::{DisconnectReason, Error};
///
/// /// Whether the peer ended the session in order.
/// fn was_closed_by_peer(error: &Error) -> bool {
///     matches!(error, Error::Disconnected { reason: DisconnectReason::PeerClosed })
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DisconnectReason {
    /// The peer closed the connection in order.
    PeerClosed,
    /// Reading or writing failed.
    Failed(Arc<io::Error>),
    /// A step of the session could not be delivered, or its answer could not be read to its end.
    NotDelivered(Arc<dyn std::error::Error + Send + Sync>),
    /// The peer is a child process, and it has exited.
    Exited(ExitStatus),
    /// The peer does not read, and the output limit is reached.
    OutputFull(usize),
    /// The peer sent more steps of a linear channel than this side has room for.
    InputFull(usize),
    /// The peer sent a step that does not fit into what this side may keep of its messages, in bytes.
    InputTooLarge {
        /// How many bytes the payload of the step has.
        bytes: usize,
        /// The setting that has the limit.
        setting: &'static str,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The reply to a step cannot be accepted, so the state of the peer is unknown.
    InvalidReply(InvalidReply),
    /// The peer has lost the session, and reconnecting failed.
    SessionInvalid(ReconnectError),
    /// The transport was dropped, perhaps with the tokio runtime that it ran on.
    TransportDropped,
    /// Closing the session took too long, and the transport was dropped.
    CloseTimedOut(Duration),
    /// The session was started outside of a tokio runtime.
    NoRuntime,
    /// The tables of the protocol cannot be followed.
    Protocol(TableError),
}

error_texts! {
    DisconnectReason {
        Self::PeerClosed => ("the peer closed the connection"),
        Self::Failed(cause) => ("the connection failed: {cause}") from cause,
        Self::NotDelivered(cause) => ("a step could not be delivered: {cause}") from cause,
        Self::Exited(value) => ("the peer's process has ended ({value})"),
        Self::OutputFull(value) => (
            "the peer does not read: {value} bytes were waiting for it; see `Options::output_limit`"
        ),
        Self::InputFull(value) => (
            "the peer sent too many steps: {value} messages were waiting to be taken; see `Options::max_linear`"
        ),
        Self::InputTooLarge { bytes, setting, limit } => (
            "the peer sent a step of {bytes} bytes, for which the limit `{setting}` of {limit} has no room"
        ),
        Self::InvalidReply(cause) => ("{cause}") from cause,
        Self::SessionInvalid(cause) => ("the peer does not know the session any more: {cause}") from cause,
        Self::TransportDropped => ("the transport was dropped"),
        Self::CloseTimedOut(value) => ("closing took longer than {value:?}: see `Options::close_timeout`"),
        Self::NoRuntime => ("the session was started outside of a tokio runtime: start it inside of one"),
        Self::Protocol(value) => ("the protocol cannot be followed: {value}"),
    }
}

impl DisconnectReason {
    /// Whether the peer has left: it closed the connection, or stopped reading from it without a word, as a program does that is
    /// killed. A server need not take this for a mistake.
    ///
    /// ```
    /// use std::io::{Error, ErrorKind};
    /// use std::sync::Arc;
    ///
    /// use mcp_runtime::DisconnectReason;
    ///
    /// let broken = |kind| DisconnectReason::Failed(Arc::new(Error::from(kind)));
    /// assert!(DisconnectReason::PeerClosed.peer_left());
    /// assert!(broken(ErrorKind::BrokenPipe).peer_left());
    /// assert!(!broken(ErrorKind::InvalidData).peer_left());
    /// ```
    pub fn peer_left(&self) -> bool {
        match self {
            DisconnectReason::PeerClosed => true,
            DisconnectReason::Failed(error) => matches!(
                error.kind(),
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted
            ),
            _ => false,
        }
    }
}

/// Why reconnecting to a peer that has lost the session failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReconnectError {
    /// Another program has opened the session, so this side cannot open a new one.
    NotOurs,
    /// The handshake cannot be repeated: it is too long, or this side chose between alternatives.
    NotRepeatable,
    /// The peer refused the repeated handshake.
    Refused(RpcError),
    /// The peer answered with another version of the protocol.
    OtherVersion {
        /// The version that was agreed on.
        before: String,
        /// The version that the peer answered with.
        now: String,
    },
    /// The peer lost the new session at once.
    LostAgain,
    /// The repeated handshake could not be delivered.
    NotDelivered(Arc<dyn std::error::Error + Send + Sync>),
}

error_texts! {
    ReconnectError {
        Self::NotOurs => ("the program that opened it must open another one"),
        Self::NotRepeatable => ("its handshake cannot be repeated"),
        Self::Refused(value) => ("the peer refused the repeated handshake: {value}"),
        Self::OtherVersion { before, now } => (
            "the peer now speaks version `{now}`, and spoke `{before}` before"
        ),
        Self::LostAgain => ("the peer lost it again at once"),
        Self::NotDelivered(cause) => ("the repeated handshake could not be delivered: {cause}") from cause,
    }
}

impl From<End> for DisconnectReason {
    fn from(end: End) -> DisconnectReason {
        match end {
            End::Eof | End::GaveUp => DisconnectReason::PeerClosed,
            End::Failed(error) => DisconnectReason::Failed(Arc::new(error)),
            End::Exited(status) => DisconnectReason::Exited(status),
        }
    }
}

impl From<&Outcome> for DisconnectReason {
    fn from(outcome: &Outcome) -> DisconnectReason {
        match outcome {
            Outcome::Closed => DisconnectReason::PeerClosed,
            Outcome::Dropped => DisconnectReason::TransportDropped,
            Outcome::TimedOut(limit) => DisconnectReason::CloseTimedOut(*limit),
            Outcome::Failed(error) => DisconnectReason::Failed(Arc::clone(error)),
            Outcome::Exited { status, .. } => DisconnectReason::Exited(*status),
        }
    }
}
