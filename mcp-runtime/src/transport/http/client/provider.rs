//! [`SessionProvider`] and [`HeaderProvider`]: session ids and headers that the program supplies.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode, Url};

/// Returns the session id for each request, for a session that another program has opened. The client does not open,
/// reconnect or end it.
pub trait SessionProvider: Send + Sync + 'static {
    /// What can go wrong. The call fails with it, in [`Error::SessionProvider`](crate::Error::SessionProvider).
    type Error: StdError + Send + Sync + 'static;

    /// Returns the id of the session. Called once for each message that is posted, and each time the stream for the
    /// server's own messages is opened ([`listen`](super::ClientOptions::listen), on by default). A cut answer is
    /// resumed with the id that its message had.
    fn session_id(&self) -> impl Future<Output = Result<String, Self::Error>> + Send;
}

type Named<'a> = Pin<Box<dyn Future<Output = Result<String, Failure>> + Send + 'a>>;

/// A provider of any type.
pub(super) trait AnyProvider: Send + Sync {
    fn name(&self) -> Named<'_>;
}

impl<P: SessionProvider> AnyProvider for P {
    fn name(&self) -> Named<'_> {
        Box::pin(async move {
            let named = self.session_id().await;
            named.map_err(|error| Arc::new(error) as Failure)
        })
    }
}

/// Headers for each request, such as a token that is renewed from time to time.
///
/// ```
/// use mcp_runtime::transport::http::HeaderProvider;
/// use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, InvalidHeaderValue};
///
/// struct Token(tokio::sync::watch::Receiver<String>);
///
/// impl HeaderProvider for Token {
///     type Error = InvalidHeaderValue;
///
///     async fn headers(&self) -> Result<HeaderMap, InvalidHeaderValue> {
///         let value = HeaderValue::try_from(format!("Bearer {}", *self.0.borrow()))?;
///         Ok(HeaderMap::from_iter([(AUTHORIZATION, value)]))
///     }
/// }
/// ```
pub trait HeaderProvider: Send + Sync + 'static {
    /// What can go wrong. The message is then not sent, and its caller finds this in
    /// [`HttpError::Headers`](super::HttpError::Headers).
    type Error: StdError + Send + Sync + 'static;

    /// Returns the headers. Called before each request: each message, each attempt to open or resume a stream, and the
    /// deletion of the session.
    fn headers(&self) -> impl Future<Output = Result<HeaderMap, Self::Error>> + Send;

    /// Returns the headers of one request, where they depend on its method or address, as a signature does. By default they
    /// are those of [`headers`](Self::headers), which is not called otherwise.
    fn headers_of(
        &self,
        method: &Method,
        url: &Url,
    ) -> impl Future<Output = Result<HeaderMap, Self::Error>> + Send {
        let _ = (method, url);
        self.headers()
    }

    /// The server has answered a request, with this head. Called for each answer, whatever its status, and before
    /// [`challenged`](Self::challenged). By default nothing is done.
    fn answered(&self, head: &HeaderMap) {
        let _ = head;
    }

    /// The server has refused a request with 401 or 403. Returns whether the request is to be sent once more, with the headers
    /// that [`headers_of`](Self::headers_of) returns then. A request is sent at most four times. By default it is not sent again.
    ///
    /// Until this returns, the message is on its way: a call waits for it as long as its timeout permits, and a notification
    /// as long as [`post_within`](super::ClientOptions::post_within). If the wait ends, the future is dropped. Not called for
    /// the deletion of a session.
    ///
    /// # Errors
    /// The message is not delivered, and its caller finds this in [`HttpError::Headers`](super::HttpError::Headers).
    fn challenged(&self, challenge: Challenge) -> impl Future<Output = Result<bool, Self::Error>> + Send {
        drop(challenge);
        std::future::ready(Ok(false))
    }
}

/// A request that the server has refused because of who sends it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Challenge {
    /// 401, or 403.
    pub status: u16,
    /// The header `WWW-Authenticate`: how the client is to authenticate. Several are joined by commas.
    pub authenticate: Option<String>,
    /// The headers of the refused request that this provider has returned for it. With them a provider sees whether it has
    /// other ones by now.
    pub sent: HeaderMap,
    /// How often the request has been sent, at least once.
    pub attempts: usize,
    /// The refusal of the same request before this one.
    pub previous: Option<Box<Challenge>>,
}

impl Challenge {
    /// Whether a server that answers so asks who sends the request.
    pub(super) fn is_one(status: StatusCode) -> bool {
        matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    }
}

type Failure = Arc<dyn StdError + Send + Sync>;

type Provided<'a> = Pin<Box<dyn Future<Output = Result<HeaderMap, Failure>> + Send + 'a>>;

type Answered<'a> = Pin<Box<dyn Future<Output = Result<bool, Failure>> + Send + 'a>>;

/// A provider of headers of any type.
pub(super) trait AnyHeaderProvider: Send + Sync {
    fn provide<'a>(&'a self, method: &'a Method, url: &'a Url) -> Provided<'a>;

    fn note(&self, head: &HeaderMap);

    fn answer(&self, challenge: Challenge) -> Answered<'_>;
}

impl<P: HeaderProvider> AnyHeaderProvider for P {
    fn provide<'a>(&'a self, method: &'a Method, url: &'a Url) -> Provided<'a> {
        Box::pin(async move {
            let headers = self.headers_of(method, url).await;
            headers.map_err(|error| Arc::new(error) as Failure)
        })
    }

    fn note(&self, head: &HeaderMap) {
        self.answered(head);
    }

    fn answer(&self, challenge: Challenge) -> Answered<'_> {
        Box::pin(async move {
            let again = self.challenged(challenge).await;
            again.map_err(|error| Arc::new(error) as Failure)
        })
    }
}

impl fmt::Debug for dyn AnyProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SessionProvider")
    }
}
