//! What can go wrong between a message and its delivery.
//!
//! In: failures of reqwest, statuses, broken streams. Out: one type, which callers find as the source of
//! [`Error::NotDelivered`](crate::Error::NotDelivered). Refuses to hide anything in text.

use super::events::TooLong;

/// Why a message was not delivered, or its answer not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The request failed.
    #[error("the request failed: {0}")]
    Request(#[source] reqwest::Error),
    /// The server answered with a status that stands for a failure.
    #[error("the server answered with status {status}: {body}")]
    Status {
        /// The status.
        status: u16,
        /// The beginning of what it said.
        body: String,
    },
    /// The server answered in a form that is neither JSON nor a stream of events.
    #[error("the server answered in the form `{0}`")]
    Form(String),
    /// The answer, or an event of it, is longer than permitted.
    #[error("the answer is longer than the limit of {0} bytes")]
    TooLong(usize),
    /// The answer ended without the reply.
    #[error("the answer ended without the reply")]
    NoReply,
    /// The server has lost the session that the call was made in; another was begun.
    #[error("the server has lost the session in which the call was made")]
    Renewed,
    /// The message was not accepted in time.
    #[error("the message was not accepted in time")]
    Late,
}

impl From<TooLong> for HttpError {
    fn from(TooLong(most): TooLong) -> HttpError {
        HttpError::TooLong(most)
    }
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> HttpError {
        // The address may carry what is nobody's business.
        HttpError::Request(error.without_url())
    }
}
