//! Why a step of a session value failed, before the value has its generated type.

use super::session::Session;
use crate::error::Error;
use crate::jsonrpc::RpcError;

/// Why a step did not happen, with the value if the session can go on. [`NotTaken`](super::step::NotTaken) makes of it
/// what the program gets.
#[derive(Debug)]
pub enum StepFailure {
    /// The peer refused the request.
    Refused {
        /// What the peer said.
        error: RpcError,
        /// The session in the state before the request.
        session: Session,
    },
    /// Nothing was written.
    NotSent {
        /// Why not.
        error: Error,
        /// The session as it was.
        session: Session,
    },
    /// The step happened, and this side cannot work with what the peer announced with it.
    NegotiationFailed {
        /// What is wrong.
        error: Error,
        /// The session after the step.
        session: Session,
    },
    /// The session has ended.
    Ended(Error),
}

impl From<StepFailure> for Error {
    fn from(failure: StepFailure) -> Error {
        match failure {
            StepFailure::Refused { error, .. } => Error::Refused(error),
            StepFailure::NotSent { error, .. }
            | StepFailure::NegotiationFailed { error, .. }
            | StepFailure::Ended(error) => error,
        }
    }
}
