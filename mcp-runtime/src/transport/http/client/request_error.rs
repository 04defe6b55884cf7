//! [`RequestError`]: why a request got no answer.

use std::error::Error as StdError;
use std::fmt;

/// A request got no answer, or not all of it. Its [source](StdError::source) says why.
#[derive(Debug)]
pub struct RequestError(Cause);

/// By the way that the request took.
#[derive(Debug)]
enum Cause {
    Reqwest(reqwest::Error),
    Direct(hyper_util::client::legacy::Error),
    Body(hyper::Error),
}

impl RequestError {
    /// Whether there is no connection to the server.
    ///
    /// ```
    /// use mcp_runtime::Error;
    /// use mcp_runtime::transport::http::HttpError;
    ///
    /// /// Whether the server has certainly not seen the message.
    /// fn was_not_seen(error: &Error) -> bool {
    ///     matches!(error.http(), Some(HttpError::Request(error)) if error.is_connect())
    /// }
    /// ```
    pub fn is_connect(&self) -> bool {
        match &self.0 {
            Cause::Reqwest(error) => error.is_connect(),
            Cause::Direct(error) => error.is_connect(),
            Cause::Body(_) => false,
        }
    }

    /// Whether the answer had begun: the server has the message, and may have worked on it.
    pub(super) fn is_cut_off(&self) -> bool {
        match &self.0 {
            Cause::Reqwest(error) => error.is_body() || error.is_decode(),
            Cause::Direct(_) => false,
            Cause::Body(_) => true,
        }
    }

    /// The error of the client of reqwest, which may name the address.
    pub(super) fn by_client(self) -> Result<reqwest::Error, RequestError> {
        match self.0 {
            Cause::Reqwest(error) => Ok(error),
            other => Err(RequestError(other)),
        }
    }

    fn cause(&self) -> &(dyn StdError + 'static) {
        match &self.0 {
            Cause::Reqwest(error) => error,
            Cause::Direct(error) => error,
            Cause::Body(error) => error,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.cause(), formatter)
    }
}

impl StdError for RequestError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause().source()
    }
}

impl From<reqwest::Error> for RequestError {
    fn from(error: reqwest::Error) -> RequestError {
        RequestError(Cause::Reqwest(error))
    }
}

impl From<hyper::Error> for RequestError {
    fn from(error: hyper::Error) -> RequestError {
        RequestError(Cause::Body(error))
    }
}

impl From<hyper_util::client::legacy::Error> for RequestError {
    fn from(error: hyper_util::client::legacy::Error) -> RequestError {
        RequestError(Cause::Direct(error))
    }
}
