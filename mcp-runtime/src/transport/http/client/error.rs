//! [`HttpError`]: why a message was not delivered, or its answer not read. It never shows addresses or session ids.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocol_machine::Excerpt;
use reqwest::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};

use super::events::TooLong;
use super::identity::SessionIdentity;
use super::redirect::Redirect;
use super::request_error::RequestError;
use super::response::Response;
use crate::error::{DisconnectReason, Error, ReconnectError};
use crate::error_texts::error_texts;
use crate::jsonrpc::{ANY_DIALECT, Envelope, RpcError, parse};

/// How much of what a server says with a failure is kept.
pub(super) const SAID: usize = 1024;

/// A server's address cannot be used, or a client could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum HttpClientError {
    /// The address is not an `http` or `https` URL.
    Address(String),
    /// A name or a value cannot stand in the head of a request.
    Header(String),
    /// reqwest could not be set up.
    Client(reqwest::Error),
}

error_texts! {
    HttpClientError {
        Self::Address(value) => (
            "`{value}` is not the address of a server: write one that begins with `http://` or `https://`"
        ),
        Self::Header(value) => (
            "the header `{value}` cannot be sent: a name consists of letters, digits, `-` and `_`, and a value has no \
             line breaks or other control characters"
        ),
        Self::Client(cause) => ("no client could be made: {cause}") from cause,
    }
}

impl From<reqwest::Error> for HttpClientError {
    fn from(cause: reqwest::Error) -> HttpClientError {
        HttpClientError::Client(cause)
    }
}

/// Why a message was not delivered, or its answer not read.
#[derive(Debug)]
#[non_exhaustive]
pub enum HttpError {
    /// The request failed.
    Request(RequestError),
    /// The program's [`HeaderProvider`](super::HeaderProvider) failed.
    Headers(Arc<dyn StdError + Send + Sync>),
    /// The address begins with `https://`, and the program was compiled without TLS.
    NoTls(reqwest::Error),
    /// The server answered with an error status.
    #[non_exhaustive]
    Status {
        /// The status.
        status: u16,
        /// The JSON-RPC error in the body, if there was one.
        error: Option<RpcError>,
        /// The beginning of the body.
        body: String,
        /// The header `WWW-Authenticate`: how the client is to authenticate. Several are joined by commas.
        authenticate: Option<String>,
        /// Where the server redirects to.
        redirect: Option<Redirect>,
        /// The header `Retry-After`, if it is in seconds: how long the server asks the client to wait.
        retry_after: Option<Duration>,
        /// Whether the request named a session.
        in_session: bool,
    },
    /// The server answered in a form that is neither JSON nor a stream of events.
    Form(String),
    /// The server, or a proxy in front of it, has compressed the answer, which no client asks for.
    Encoding(String),
    /// The answer, or an event of it, is longer than permitted.
    TooLong(usize),
    /// The answer ended without the reply.
    NoReply,
    /// The server has lost the session in which the call was made, and the client has reconnected.
    SessionReplaced,
    /// The session is resumed, and the client does not know its id.
    Unnamed,
    /// The message was not accepted in time.
    Late,
}

error_texts! {
    HttpError {
        Self::Request(cause) => (
            "{}: {}",
            match cause {
                cause if cause.is_connect() => "the server cannot be reached",
                cause if cause.is_cut_off() => "the answer was cut off",
                _ => "the connection failed",
            },
            innermost(cause)
        ) from cause,
        Self::Headers(cause) => ("the header provider failed: {cause}") from cause,
        Self::NoTls(cause) => (
            "the server cannot be reached: `https` needs the feature `http-client-tls`, of `mcp-runtime` or `mcp-kit`"
        ) from cause,
        Self::Status { status, error, body, redirect, in_session, .. } => (
            "{}",
            StatusText {
                status: *status,
                error: error.as_ref(),
                body,
                redirect: *redirect,
                in_session: *in_session,
            }
        ),
        Self::Form(value) => ("the address is not a Streamable HTTP endpoint: it answered {}", in_form(value)),
        Self::Encoding(value) => (
            "the answer is encoded with `{}`, which the client did not ask for: have the server, or a proxy in front of it, \
             send it as it is",
            Excerpt(value)
        ),
        Self::TooLong(value) => (
            "the answer is longer than the limit of {value} bytes: see `ClientOptions::max_message_bytes`"
        ),
        Self::NoReply => ("the answer ended without the reply"),
        Self::SessionReplaced => ("the server has lost the session in which the call was made"),
        Self::Unnamed => (
            "a resumed session needs an id: name its provider with `HttpClient::sessions_from`"
        ),
        Self::Late => ("the message was not accepted in time: see `ClientOptions::post_within`"),
    }
}

impl HttpError {
    /// Whether the same message may be delivered later: the server cannot be reached, does not answer in time, or answers with
    /// the status 408, 429 or one from 500 on.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            HttpError::Request(_) | HttpError::Late => true,
            HttpError::Status { status, .. } => StatusCode::from_u16(*status).is_ok_and(may_pass),
            _ => false,
        }
    }

    /// Whether the same message is likely to be taken a little later: its connection was lost, or the server, or what
    /// stands in front of it, has no room. A server that fails (500) may pass, too, and is likely to fail again.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            HttpError::Request(_) => true,
            HttpError::Status { status, .. } => matches!(status, 408 | 429 | 502..=504),
            _ => false,
        }
    }
}

/// Whether a server that answers like that may answer otherwise the next time.
pub(super) fn may_pass(status: StatusCode) -> bool {
    status.is_server_error()
        || status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
}

impl From<TooLong> for HttpError {
    fn from(TooLong(most): TooLong) -> HttpError {
        HttpError::TooLong(most)
    }
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> HttpError {
        let is_https = error.url().is_some_and(|url| url.scheme() == "https");
        // The address may hold secrets.
        let error = error.without_url();
        // Whether there is TLS is not this crate's to know: others may have had it compiled in.
        if is_https && error.is_connect() && innermost(&error).to_string().contains("scheme is not http") {
            return HttpError::NoTls(error);
        }
        HttpError::Request(error.into())
    }
}

impl From<RequestError> for HttpError {
    fn from(error: RequestError) -> HttpError {
        error.by_client().map_or_else(HttpError::Request, HttpError::from)
    }
}

impl From<hyper_util::client::legacy::Error> for HttpError {
    fn from(error: hyper_util::client::legacy::Error) -> HttpError {
        HttpError::Request(error.into())
    }
}

/// The error for a message that was not delivered.
pub(super) fn not_delivered(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::NotDelivered(Arc::new(error))
}

/// Returns the last source of an error; those before it only say that something failed.
fn innermost<'a>(error: &'a (dyn StdError + 'static)) -> &'a (dyn StdError + 'static) {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost
}

/// A form in a sentence.
pub(super) fn in_form(form: &str) -> String {
    if form.is_empty() { "without a content type".to_owned() } else { format!("with `{form}`") }
}

/// How the server wants the client to authenticate.
pub(super) fn authenticate(response: &Response) -> Option<String> {
    let asked = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let asked: Vec<_> = asked.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
    Some(asked.join(", ")).filter(|asked| !asked.is_empty())
}

/// How long a server wants the client to wait, if it says so in seconds.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    seconds.parse().ok().map(Duration::from_secs)
}

/// The head of an answer that stands for a failure, before its body is read.
pub(super) struct Failure {
    pub(super) status: StatusCode,
    authenticate: Option<String>,
    redirect: Option<Redirect>,
    pub(super) retry_after: Option<Duration>,
    in_session: bool,
}

impl Failure {
    /// What the answer to a request for a URL says by its head.
    pub(super) fn new(response: &Response, identity: &SessionIdentity, url: &Url) -> Failure {
        Failure {
            status: response.status(),
            authenticate: authenticate(response),
            redirect: Redirect::of(response, url),
            retry_after: retry_after(response),
            in_session: identity.id.is_some(),
        }
    }

    /// The failure, with what the server said.
    pub(super) fn saying(self, body: &[u8]) -> HttpError {
        let error = match parse(body, usize::MAX, ANY_DIALECT) {
            Ok(Envelope::Error { error, .. } | Envelope::Complaint { error }) => Some(error),
            _ => None,
        };
        let said = body.get(..SAID).unwrap_or(body);
        HttpError::Status {
            status: self.status.as_u16(),
            error,
            body: String::from_utf8_lossy(said).into_owned(),
            authenticate: self.authenticate,
            redirect: self.redirect,
            retry_after: self.retry_after,
            in_session: self.in_session,
        }
    }
}

/// A failure in a sentence: what to do about it, and what the server said.
struct StatusText<'a> {
    status: u16,
    error: Option<&'a RpcError>,
    body: &'a str,
    redirect: Option<Redirect>,
    in_session: bool,
}

impl fmt::Display for StatusText<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the server answered with status {}", self.status)?;
        let name = StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
        if let Some(name) = name {
            write!(formatter, " ({name})")?;
        }
        let advice = match self.status {
            301 | 302 | 303 | 307 | 308 => Some(self.redirect.unwrap_or(Redirect::Elsewhere).advice()),
            401 => Some("give `HttpClient` valid credentials with `.header(\"authorization\", …)`"),
            404 | 405 if !self.in_session => Some("this path is not a Streamable HTTP endpoint"),
            _ => None,
        };
        if let Some(advice) = advice {
            write!(formatter, ": {advice}")?;
        }
        let said = self.error.map_or(self.body, |error| &error.message);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        if !said.is_empty() {
            write!(formatter, "{} {}", if advice.is_some() { "; it said:" } else { ":" }, Excerpt(&said))?;
        }
        Ok(())
    }
}

impl Error {
    /// Returns the HTTP error behind this error, if there is one: for a call that was not delivered, and for a session
    /// that ended because a step of its handshake was not delivered.
    ///
    /// ```
    /// use mcp_runtime::Error;
    /// use mcp_runtime::transport::http::HttpError;
    ///
    /// /// Whether the same call may succeed later.
    /// fn may_pass(error: &Error) -> bool {
    ///     match error.http() {
    ///         Some(HttpError::Request(_) | HttpError::Late) => true,
    ///         Some(HttpError::Status { status, .. }) => *status >= 500,
    ///         _ => error.is_timeout(),
    ///     }
    /// }
    /// ```
    pub fn http(&self) -> Option<&HttpError> {
        match self {
            Error::NotDelivered(cause)
            | Error::Disconnected {
                reason:
                    DisconnectReason::NotDelivered(cause)
                    | DisconnectReason::SessionInvalid(ReconnectError::NotDelivered(cause)),
            } => cause.downcast_ref(),
            _ => None,
        }
    }

    /// Returns whether the message did not reach the peer and may reach it later: over HTTP, the server cannot be reached, does
    /// not answer in time, or answers with a status that may pass, which is 408, 429 or one from 500 on.
    ///
    /// ```
    /// use mcp_runtime::Error;
    ///
    /// assert!(!Error::Closed.is_unreachable());
    /// ```
    pub fn is_unreachable(&self) -> bool {
        self.http().is_some_and(HttpError::may_pass)
    }

    /// Returns how long the server asks the program to wait before it sends the same message again: over HTTP, what the header
    /// `Retry-After` of its answer says in seconds.
    ///
    /// ```
    /// use mcp_runtime::Error;
    ///
    /// assert_eq!(Error::Closed.retry_after(), None);
    /// ```
    pub fn retry_after(&self) -> Option<Duration> {
        match self.http() {
            Some(HttpError::Status { retry_after, .. }) => *retry_after,
            _ => None,
        }
    }

    /// Returns whether the message was not sent at all: over HTTP, the server cannot be reached, or the
    /// [`HeaderProvider`](super::HeaderProvider) has failed, as one does whose user has not logged in.
    ///
    /// ```
    /// use mcp_runtime::Error;
    ///
    /// assert!(!Error::Cancelled.is_unsent());
    /// ```
    pub fn is_unsent(&self) -> bool {
        match self.http() {
            Some(HttpError::Request(cause)) => cause.is_connect(),
            Some(HttpError::Headers(_) | HttpError::NoTls(_)) => true,
            _ => false,
        }
    }
}
