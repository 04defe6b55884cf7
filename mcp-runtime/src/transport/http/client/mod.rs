//! The side of Streamable HTTP that calls.
//!
//! In: the address of a server. Out: a transport whose session is like any other. Each message is a POST; what the
//! server answers, as JSON or as a stream, is read to its end, a stream that is cut is taken up where it was, and a
//! stream of its own is kept open for what the server says unasked. Refuses to depend on the order in which POSTs
//! arrive: what must come first is accepted before the next is sent.
//!
//! A session id comes in one of two ways. Usually the server gives it with the answer to the first message; if it
//! forgets the session later, the beginning is said once more, without the program's doing, as long as there is only
//! one way to say it. Or a [`SessionProvider`] names it, because the session belongs to somebody else.
//!
//! - `options.rs`, `connections.rs`, `provider.rs`, `error.rs`: settings; what requests go over; who names sessions and
//!   adds headers; what can go wrong.
//! - `conversation.rs`, `message.rs`: what the requests of a session share; what is posted. `posting.rs`: POST.
//!   `sending.rs`: a long message. `running.rs`: what ends a request before its answer does. `listening.rs`: GET.
//!   `reconnect.rs`: sessions that the server has lost. `events.rs`: streams of events. `ends.rs`: how it ends.

mod connections;
mod conversation;
mod error;
pub(crate) mod events;
mod listening;
mod message;
mod options;
mod posting;
mod provider;
mod reconnect;
mod running;
mod sending;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

pub use connections::HttpConnections;
pub use error::HttpError;
pub use options::ClientOptions;
pub use provider::{HeaderProvider, SessionProvider};

use conversation::{Conversation, Posts, server};
use provider::{AnyHeaderProvider, AnyProvider};

use crate::driver::{Clocked, End, Endpoint, Finish, Outcome, TransportEvent, duplicate};
use crate::error::DisconnectReason;
use crate::transport::Transport;
use crate::transport::http::SESSION_ID;

/// A server's address cannot be used, or a client could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpClientError {
    /// The address is none.
    #[error("`{0}` is no address of a server: it must begin with `http://` or `https://`")]
    Address(String),
    /// A name or a value cannot stand in the head of a request.
    #[error("`{0}` cannot stand in the head of a request")]
    Header(String),
    /// reqwest could not be set up.
    #[error("no client could be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// A session with a server over HTTP, to be given to a client.
///
/// ```no_run
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_runtime::transport::http::HttpClient;
///
/// let transport = HttpClient::new("http://127.0.0.1:8080/mcp")?;
/// // let client = McpClient::new(transport);
/// # drop(transport);
/// # Ok(())
/// # }
/// ```
pub struct HttpClient {
    client: reqwest::Client,
    url: reqwest::Url,
    headers: HeaderMap,
    header_provider: Option<Arc<dyn AnyHeaderProvider>>,
    options: ClientOptions,
    provider: Option<Arc<dyn AnyProvider>>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("HttpClient");
        shown.field("server", &server(&self.url)).field("options", &self.options);
        shown.field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl HttpClient {
    /// A transport to the server at that address, over connections of its own.
    ///
    /// # Errors
    /// If the address is none, or reqwest cannot be set up.
    pub fn new(url: &str) -> Result<HttpClient, HttpClientError> {
        HttpClient::with_connections(HttpConnections::new()?, url)
    }

    /// The same over connections that sessions share, or that go through proxies, for instance. Redirects are not
    /// followed.
    ///
    /// # Errors
    /// If the address is none.
    pub fn with_connections(connections: HttpConnections, url: &str) -> Result<HttpClient, HttpClientError> {
        let parsed = reqwest::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = parsed.ok_or_else(|| HttpClientError::Address(url.to_owned()))?;
        Ok(HttpClient {
            client: connections.into_client(),
            url,
            headers: HeaderMap::new(),
            header_provider: None,
            options: ClientOptions::default(),
            provider: None,
        })
    }

    /// Changes the settings.
    #[must_use]
    pub fn options(mut self, options: ClientOptions) -> HttpClient {
        self.options = options;
        self
    }

    /// Sends a header with every request, for instance `authorization`.
    ///
    /// # Errors
    /// If it cannot be one.
    pub fn header(mut self, name: &str, value: &str) -> Result<HttpClient, HttpClientError> {
        let name =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| HttpClientError::Header(name.to_owned()))?;
        let mut value =
            HeaderValue::from_str(value).map_err(|_| HttpClientError::Header(name.to_string()))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Asks `provider` for headers before each request, for instance for a token that is renewed from time to time. They
    /// replace those of [`header`](Self::header) that have their names.
    #[must_use]
    pub fn headers_from(mut self, provider: impl HeaderProvider) -> HttpClient {
        self.header_provider = Some(Arc::new(provider));
        self
    }

    /// Continues sessions that somebody else has begun: `provider` names the session of each request.
    #[must_use]
    pub fn sessions_from(mut self, provider: impl SessionProvider) -> HttpClient {
        self.provider = Some(Arc::new(provider));
        self
    }
}

impl Transport for HttpClient {
    fn is_ordered(&self) -> bool {
        false
    }

    async fn run(self, endpoint: Arc<dyn Endpoint>) {
        let resumed = endpoint.info().resumed;
        if resumed && self.provider.is_none() && !self.headers.contains_key(SESSION_ID) {
            // No server would know the session. It is over before anything is said in it.
            let reason = DisconnectReason::NotDelivered(Arc::new(HttpError::Unnamed));
            endpoint.notify(TransportEvent::Failed(reason));
        }
        let conversation = Conversation::new(self, Arc::clone(&endpoint));
        endpoint.attach(Box::new(Posts(Arc::clone(&conversation))));
        tokio::select! {
            () = carry(&conversation, Clocked::new(endpoint)) => {}
            () = conversation.post_in_order() => {}
        }
        // A session that was let go of has not been deleted yet; the server should not have to wait for its time.
        conversation.end().await;
    }
}

/// Waits until the session has said everything, has its last messages posted, and deletes it at the server.
async fn carry(conversation: &Arc<Conversation>, mut session: Clocked) {
    let options = &conversation.options;
    let mut outcome = Outcome::Closed;
    if session.finish().await == Finish::Complete {
        let flush = options.delete_within.saturating_add(options.post_within);
        let ended = async {
            conversation.drained().await;
            conversation.end().await;
        };
        let ended = tokio::select! {
            ended = tokio::time::timeout(flush, ended) => Some(ended),
            () = session.abandoned() => None,
        };
        if let Some(Err(_)) = ended {
            let problem = "the peer did not take the last messages in time";
            let error = io::Error::new(io::ErrorKind::TimedOut, problem);
            session.endpoint().notify(TransportEvent::OutputFailed(duplicate(&error)));
            outcome = Outcome::Failed(Arc::new(error));
        }
        if ended.is_some() {
            session.endpoint().notify(TransportEvent::InputEnded(End::GaveUp));
        }
    }
    session.terminate(outcome);
}
