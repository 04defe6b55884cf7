//! What can go wrong with a step, a call or a session.
//!
//! In: refusals of the checker, errors of the peer, ends of the transport. Out: one [`Error`], whose variants are to
//! be matched on. Refuses to hide anything in text: each cause is a variant with its data.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocol_machine::protocol::{Condition, Side, Text};
use mcp_protocol_machine::{RequestId, TableError, Violation};

use crate::checked::CheckedSession;
use crate::driver::{End, Outcome};
use crate::jsonrpc::RpcError;

/// Why a step or a call did not do what it should.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This side has closed or abandoned the session.
    #[error("the session is closed")]
    Closed,
    /// The session has come to its end without this side having closed it.
    #[error("the session has ended: {reason}")]
    Disconnected {
        /// What ended it.
        reason: Reason,
    },
    /// The peer answered the request with an error.
    #[error("the peer refused the request: {0}")]
    Refused(#[from] RpcError),
    /// The message could not be delivered, or its reply could not be read to its end. The session lives on.
    #[error("the message could not be delivered: {0}")]
    NotDelivered(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// The peer does not know the session that the message was sent in.
    #[error("the peer does not know the session")]
    SessionInvalid,
    /// Whoever was to name the session could not.
    #[error("the session provider failed: {0}")]
    SessionProvider(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// The protocol does not permit this now. Nothing was written.
    #[error("{0}")]
    NotPermitted(#[from] Violation),
    /// A payload does not have the type that it is declared with.
    #[error("the payload of `{message}` does not have its type: {source}")]
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
        problem: Mismatch,
    },
    /// The peer chose another branch than the one that was waited for.
    #[error("`{got}` came in where `{expected}` was waited for")]
    Unexpected {
        /// The message that was waited for.
        expected: Text,
        /// The message that came.
        got: Text,
    },
    /// The call was cancelled by this side, or the copy by whoever opened it.
    #[error("the call was cancelled")]
    Cancelled,
    /// The pages of a list do not come to an end.
    #[error("the pages of `{message}` do not come to an end: {problem}")]
    Endless {
        /// The request, by its name in the `.session` file.
        message: Text,
        /// Why that is known.
        problem: Endless,
    },
    /// A message opens a copy with steps of its own, and was sent like one that does not.
    #[error("`{message}` opens something with steps of its own: send it with `open`")]
    Opens {
        /// The message, by its name in the `.session` file.
        message: Text,
    },
    /// A message that opens no copy was sent like one that does.
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
    /// Messages of several sessions were to be sent in one batch. Nothing was written.
    #[error("the messages of a batch belong to several sessions")]
    OtherSession,
    /// The peer announced a version of the protocol that this side does not accept.
    #[error("the peer {}, and this side accepts {}", speaks(offered), either(accepted))]
    Version {
        /// The version that this side asked for, if it asked for one.
        requested: Option<String>,
        /// The version that the peer announced, if it announced one.
        offered: Option<String>,
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
    #[error("`{message}` {what} {after:?}")]
    Timeout {
        /// The request, by its name in the `.session` file.
        message: Text,
        /// The limit that was reached.
        after: Duration,
        /// What did not happen in time.
        what: Overdue,
    },
}

fn protocol_name(name: &str, version: Option<&str>) -> String {
    format!("`{name}` {}", version.unwrap_or_default()).trim_end().to_owned()
}

/// Why a list is taken to be endless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Endless {
    /// There were as many pages as may be, and one more to come.
    #[error("there are more than {0}, which is as many as the settings permit")]
    TooMany(usize),
    /// A page led to one that came before; the number of the page that did.
    #[error("page {0} has a cursor that an earlier page had, too")]
    Repeats(usize),
}

/// What did not happen in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overdue {
    /// The message could not be written: the peer does not read. It never will be written.
    Room,
    /// The message could not be written: the reply to a request before it has not come, for which nobody waits any
    /// more. It never will be written.
    Turn,
    /// The reply did not come, nor a report where reports renew the time.
    Reply,
    /// The reply did not come within the most that reports may extend the time to.
    InAll,
}

impl fmt::Display for Overdue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Overdue::Room => "could not be written, for the peer does not read: gave up after",
            Overdue::Turn => {
                "could not be written, for the reply to a request before it is missing: gave up after"
            }
            Overdue::Reply => "was not answered within",
            Overdue::InAll => {
                "was not answered, whatever was reported on it, within the most that it may take:"
            }
        })
    }
}

/// What is known of the peer's version.
fn speaks(version: &Option<String>) -> String {
    match version {
        Some(version) => format!("speaks version `{version}`"),
        None => "does not say which version it speaks".to_owned(),
    }
}

/// Versions in a sentence.
fn either(versions: &[String]) -> String {
    match versions {
        [] => "none".to_owned(),
        versions => format!("`{}`", versions.join("` or `")),
    }
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

/// Why a payload does not go with its message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Mismatch {
    /// It does not fit the condition of the message.
    Lacks(Condition),
    /// It fits the condition of another message, as which the peer would read it.
    ReadAs {
        /// The other message, by its name in the `.session` file.
        message: Text,
        /// Its condition.
        condition: Condition,
    },
    /// It is the result of a request, and fits the condition of none of its replies.
    FitsNone(Vec<Condition>),
    /// It announces another version of the protocol than this side has to.
    Version {
        /// What it announces, if it announces any.
        announced: Option<String>,
        /// What it may announce: the version that was asked for, or where this side does not speak that, those which
        /// it speaks.
        versions: Vec<String>,
    },
    /// It reports no more progress than the report before it did.
    NotMore {
        /// What was reported before.
        before: f64,
        /// What it reports.
        now: f64,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Lacks(condition) => {
                write!(formatter, "does not have what tells the message from others: `{condition}`")
            }
            Mismatch::ReadAs { message, condition } => {
                write!(formatter, "would be read as `{message}`, because of what it holds: `{condition}`")
            }
            Mismatch::Version { announced, versions } => {
                formatter.write_str("announces ")?;
                match announced {
                    Some(announced) => write!(formatter, "version `{announced}`")?,
                    None => formatter.write_str("no version")?,
                }
                write!(formatter, ", and has to announce {}", either(versions))
            }
            Mismatch::NotMore { before, now } => {
                write!(formatter, "reports the progress {now} after {before}: each report must say more")
            }
            Mismatch::FitsNone(conditions) => {
                formatter.write_str("is the result of no kind that there is")?;
                for (place, condition) in conditions.iter().enumerate() {
                    write!(formatter, "{} `{condition}`", if place == 0 { ":" } else { " or" })?;
                }
                Ok(())
            }
        }
    }
}

/// What ended a session that this side did not close.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The peer closed the connection in order.
    #[error("the peer closed the connection")]
    PeerClosed,
    /// Reading or writing failed.
    #[error("the connection failed: {0}")]
    Failed(#[source] Arc<io::Error>),
    /// The peer is a child process, and it has exited.
    #[error("the peer's process has ended ({0})")]
    Exited(ExitStatus),
    /// The peer did not take what was written for it.
    #[error("the peer does not read: {0} bytes were waiting for it")]
    OutputFull(usize),
    /// The peer sent more steps of a linear channel than this side has room for.
    #[error("the peer runs ahead: {0} messages were waiting to be taken")]
    InputFull(usize),
    /// The peer has lost the session, and it could not be begun anew.
    #[error("the peer does not know the session any more: {0}")]
    SessionInvalid(Renewal),
    /// The transport was dropped, perhaps with the tokio runtime that it ran on.
    #[error("the transport was dropped")]
    TransportDropped,
    /// The session was started outside of a tokio runtime.
    #[error("there is no tokio runtime to carry the session: start it inside of one")]
    NoRuntime,
    /// The tables of the protocol cannot be followed.
    #[error("the protocol cannot be followed: {0}")]
    Protocol(TableError),
}

/// Why a session that the peer has lost was not begun anew.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Renewal {
    /// This side does not own the session, so it is not its to begin.
    #[error("it belongs to somebody else, who must begin another")]
    NotOurs,
    /// What was said so far cannot be said once more as it was: too much, or something was chosen.
    #[error("its beginning cannot be repeated")]
    NotRepeatable,
    /// The peer refused the beginning when it was repeated.
    #[error("the peer refused to begin it anew: {0}")]
    Refused(RpcError),
    /// The peer answered with another version of the protocol.
    #[error("the peer now speaks version `{now}`, and spoke `{before}` before")]
    OtherVersion {
        /// The version that was agreed on.
        before: String,
        /// The version that the peer answered with.
        now: String,
    },
    /// The peer forgot the session anew at once.
    #[error("the peer lost it again at once")]
    LostAgain,
    /// The beginning could not be delivered.
    #[error("its beginning could not be delivered: {0}")]
    NotDelivered(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

impl From<Error> for Reason {
    /// What a session ends with where this happens to one of its steps.
    fn from(error: Error) -> Reason {
        match error {
            Error::Disconnected { reason } => reason,
            Error::SessionInvalid => Reason::SessionInvalid(Renewal::NotOurs),
            Error::Closed => Reason::PeerClosed,
            Error::NotDelivered(error) | Error::SessionProvider(error) => {
                Reason::Failed(Arc::new(io::Error::other(error)))
            }
            error => Reason::Failed(Arc::new(io::Error::other(error))),
        }
    }
}

impl From<End> for Reason {
    fn from(end: End) -> Reason {
        match end {
            End::Eof | End::GaveUp => Reason::PeerClosed,
            End::Failed(error) => Reason::Failed(Arc::new(error)),
            End::Exited(status) => Reason::Exited(status),
        }
    }
}

impl From<&Outcome> for Reason {
    fn from(outcome: &Outcome) -> Reason {
        match outcome {
            Outcome::Closed => Reason::PeerClosed,
            Outcome::Dropped => Reason::TransportDropped,
            Outcome::Failed(error) => Reason::Failed(Arc::clone(error)),
            Outcome::Exited { status, .. } => Reason::Exited(*status),
        }
    }
}

/// Why a step of a session value did not happen, with the value where there is one to go on with.
#[derive(Debug)]
pub enum StepError<S> {
    /// The peer refused the request, which is thereby undone.
    Refused {
        /// What the peer said.
        error: RpcError,
        /// The session, in the state before the request.
        session: S,
    },
    /// Nothing was written.
    NotSent {
        /// Why not.
        error: Error,
        /// The session as it was.
        session: S,
    },
    /// The step happened, but what the peer announced with it is not what this side can work with, by
    /// [`Options::require`](crate::Options::require) or the version. Dropping the session parts from the peer.
    Unfit {
        /// What is wrong: [`Error::Version`] or [`Error::MissingCapabilities`].
        error: Error,
        /// The session after the step, without its type: to be closed or aborted, or to go on with all the same,
        /// with [`try_into_typed`](CheckedSession::try_into_typed).
        session: CheckedSession,
    },
    /// The session has ended.
    Ended(Error),
}

impl<S> StepError<S> {
    /// The same error with another session value.
    pub fn map<T>(self, convert: impl FnOnce(S) -> T) -> StepError<T> {
        match self {
            StepError::Refused { error, session } => StepError::Refused { error, session: convert(session) },
            StepError::NotSent { error, session } => StepError::NotSent { error, session: convert(session) },
            StepError::Unfit { error, session } => StepError::Unfit { error, session },
            StepError::Ended(error) => StepError::Ended(error),
        }
    }

    /// The session, where there is one to go on with, and the error.
    pub fn into_parts(self) -> (Option<S>, Error) {
        match self {
            StepError::Refused { error, session } => (Some(session), Error::Refused(error)),
            StepError::NotSent { error, session } => (Some(session), error),
            StepError::Unfit { error, .. } | StepError::Ended(error) => (None, error),
        }
    }
}

impl<S> From<StepError<S>> for Error {
    fn from(error: StepError<S>) -> Error {
        error.into_parts().1
    }
}

impl<S> std::fmt::Display for StepError<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StepError::Refused { error, .. } => write!(formatter, "the peer refused the request: {error}"),
            StepError::NotSent { error, .. } => write!(formatter, "nothing was sent: {error}"),
            StepError::Unfit { error, .. } | StepError::Ended(error) => error.fmt(formatter),
        }
    }
}

impl<S: std::fmt::Debug> std::error::Error for StepError<S> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StepError::Refused { error, .. } => Some(error),
            StepError::NotSent { error, .. } => Some(error),
            StepError::Unfit { error, .. } | StepError::Ended(error) => std::error::Error::source(error),
        }
    }
}
