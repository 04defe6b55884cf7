//! [`StepError`]: why a step failed, with the session value where the session continues.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::checked::CheckedSession;
use crate::error::Error;
use crate::jsonrpc::RpcError;
use crate::typed::{Advance, InState, NotTaken, StepFailure};

/// Why a step of a session value did not happen, with the value if the session can go on.
///
/// ```
/// use mcp_runtime::{Error, StepError};
///
/// /// Returns the session for another attempt, if the server has refused the request.
/// fn try_again<S>(outcome: Result<S, StepError<S>>) -> Result<S, Error> {
///     match outcome {
///         Ok(session) => Ok(session),
///         Err(StepError::Refused { error, session }) => {
///             eprintln!("the server refuses: {error}");
///             Ok(session)
///         }
///         Err(error) => Err(error.into()),
///     }
/// }
/// assert!(try_again::<()>(Err(StepError::Ended(Error::Closed))).is_err());
/// ```
#[non_exhaustive]
pub enum StepError<S> {
    /// The peer refused the request. The session is in the state before it.
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
    /// The step was taken, but this side cannot work with what the peer announced in it, according to
    /// [`Options::require`](crate::Options::require) or the accepted versions. Dropping the session disconnects from
    /// the peer.
    NegotiationFailed {
        /// What is wrong: [`Error::Version`] or [`Error::MissingCapabilities`].
        error: Error,
        /// The session after the step, as a checked session. Close or abort it, or continue all the same with
        /// [`try_into_typed`](CheckedSession::try_into_typed).
        session: CheckedSession,
    },
    /// The session has ended.
    Ended(Error),
}

impl<S> StepError<S> {
    /// Converts the session value in the error.
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

    /// Returns the session, where it continues, and the error.
    pub fn into_parts(self) -> (Option<S>, Error) {
        match self {
            StepError::Refused { error, session } => (Some(session), Error::Refused(error)),
            StepError::NotSent { error, session } => (Some(session), error),
            StepError::NegotiationFailed { error, .. } | StepError::Ended(error) => (None, error),
        }
    }

    /// Returns whether the timeout of the step has passed.
    pub fn is_timeout(&self) -> bool {
        self.error().is_some_and(Error::is_timeout)
    }

    /// Returns whether the step was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.error().is_some_and(Error::is_cancelled)
    }

    /// Returns whether the session has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self, StepError::Ended(_)) || self.error().is_some_and(Error::is_closed)
    }

    /// Returns whether the peer refused the request: [`StepError::Refused`].
    pub fn is_refused(&self) -> bool {
        matches!(self, StepError::Refused { .. }) || self.error().is_some_and(Error::is_refused)
    }

    fn error(&self) -> Option<&Error> {
        match self {
            StepError::Refused { .. } => None,
            StepError::NotSent { error, .. }
            | StepError::NegotiationFailed { error, .. }
            | StepError::Ended(error) => Some(error),
        }
    }
}

impl<S: InState> NotTaken for StepError<S> {
    fn of(failure: StepFailure) -> StepError<S> {
        match failure {
            StepFailure::Refused { error, session } => StepError::Refused { error, session: S::at(session) },
            StepFailure::NotSent { error, session } => StepError::NotSent { error, session: S::at(session) },
            StepFailure::NegotiationFailed { error, session } => {
                StepError::NegotiationFailed { error, session: session.into_checked() }
            }
            StepFailure::Ended(error) => StepError::Ended(error),
        }
    }
}

impl<Out, Back: InState> Future for Advance<Out, Back> {
    type Output = Result<Out, StepError<Back>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().poll_step(context).map_err(NotTaken::of)
    }
}

impl<S> From<StepError<S>> for Error {
    fn from(error: StepError<S>) -> Error {
        error.into_parts().1
    }
}

/// As for an [`Error`]: so a handler that takes steps ends with `?`.
impl<S> From<StepError<S>> for RpcError {
    fn from(error: StepError<S>) -> RpcError {
        Error::from(error).into()
    }
}

/// Writes the sentence: Rust prints an error that `main` returns in this form.
impl<S> std::fmt::Debug for StepError<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("StepError").field(&self.to_string()).finish()
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

impl<S> std::error::Error for StepError<S> {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::TimeoutKind;

    /// Timeout, cancelled, closed, refused.
    fn of(error: &StepError<()>) -> [bool; 4] {
        [error.is_timeout(), error.is_cancelled(), error.is_closed(), error.is_refused()]
    }

    #[test]
    fn an_error_that_main_returns_is_a_sentence() {
        let error = StepError::Refused { error: RpcError::new(1, "no room"), session: vec!["a long value"] };
        assert_eq!(format!("{error:?}"), r#"StepError("the peer refused the request: no room (code 1)")"#);
        let error: StepError<()> = StepError::Ended(Error::Closed);
        assert_eq!(format!("{error:?}"), r#"StepError("the session is closed")"#);
    }

    #[test]
    fn a_handler_passes_on_why_a_step_failed() {
        fn handler(error: StepError<()>) -> Result<(), RpcError> {
            Err(error)?
        }
        let refused = StepError::Refused { error: RpcError::new(7, "no room"), session: () };
        assert_eq!(handler(refused), Err(RpcError::new(7, "no room")));
        let ended = RpcError::internal_error("the session is closed");
        assert_eq!(handler(StepError::Ended(Error::Closed)), Err(ended));
    }

    #[test]
    fn a_step_answers_as_its_error_does() {
        let (message, method) = ("Ping".into(), "ping".into());
        let after = Duration::from_secs(1);
        let timeout = Error::Timeout { message, method, after, what: TimeoutKind::Reply };
        let not_sent = |error| StepError::NotSent { error, session: () };
        let refused = || RpcError::new(1, "no");
        assert_eq!(of(&not_sent(timeout.clone())), [true, false, false, false]);
        assert_eq!(of(&not_sent(Error::Cancelled)), [false, true, false, false]);
        assert_eq!(of(&not_sent(Error::Closed)), [false, false, true, false]);
        assert_eq!(of(&not_sent(Error::Refused(refused()))), [false, false, false, true]);
        assert_eq!(of(&StepError::Refused { error: refused(), session: () }), [false, false, false, true]);
        assert_eq!(of(&StepError::Ended(timeout)), [true, false, true, false]);
    }
}
