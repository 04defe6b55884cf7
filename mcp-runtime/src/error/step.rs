//! Why a step of a session value did not happen.
//!
//! In: an [`Error`], and the value that the step was tried on. Out: a [`StepError`], which gives the value back where
//! there is one to go on with.

use super::Error;
use crate::checked::CheckedSession;
use crate::jsonrpc::RpcError;

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
    NegotiationFailed {
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
            StepError::NegotiationFailed { error, session } => {
                StepError::NegotiationFailed { error, session }
            }
            StepError::Ended(error) => StepError::Ended(error),
        }
    }

    /// The session, where there is one to go on with, and the error.
    pub fn into_parts(self) -> (Option<S>, Error) {
        match self {
            StepError::Refused { error, session } => (Some(session), Error::Refused(error)),
            StepError::NotSent { error, session } => (Some(session), error),
            StepError::NegotiationFailed { error, .. } | StepError::Ended(error) => (None, error),
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
            StepError::NegotiationFailed { error, .. } | StepError::Ended(error) => error.fmt(formatter),
        }
    }
}

impl<S: std::fmt::Debug> std::error::Error for StepError<S> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StepError::Refused { error, .. } => Some(error),
            StepError::NotSent { error, .. } => Some(error),
            StepError::NegotiationFailed { error, .. } | StepError::Ended(error) => {
                std::error::Error::source(error)
            }
        }
    }
}
