//! [`HttpClient`]: the address of a server, and the settings of its requests.

use std::fmt;
use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::connections::HttpConnections;
use super::error::HttpClientError;
use super::options::ClientOptions;
use super::provider::{AnyHeaderProvider, AnyProvider, HeaderProvider, SessionProvider};
use super::repeated::ToolTable;
use super::way::Way;
use crate::transport::http::mirrored::ParamHeaders;

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
    pub(super) way: Way,
    pub(super) url: reqwest::Url,
    pub(super) headers: HeaderMap,
    pub(super) header_provider: Option<Arc<dyn AnyHeaderProvider>>,
    pub(super) options: ClientOptions,
    pub(super) provider: Option<Arc<dyn AnyProvider>>,
    pub(super) on_session: Option<OnSession>,
    pub(super) tools: ToolTable,
}

/// A closure that gets the ids of sessions.
pub(super) type OnSession = Arc<dyn Fn(&str) + Send + Sync>;

impl fmt::Debug for HttpClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("HttpClient");
        shown.field("server", &server(&self.url)).field("options", &self.options);
        shown.field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl HttpClient {
    /// A transport to the server at that address, which is a text or a `url::Url`, over connections of its own.
    ///
    /// # Errors
    /// If the address is not an `http` or `https` URL, or reqwest cannot be set up.
    pub fn new(url: impl AsRef<str>) -> Result<HttpClient, HttpClientError> {
        HttpClient::with_connections(HttpConnections::new()?, url)
    }

    /// The same over connections that sessions share, or that go through proxies, for instance. Redirects are not
    /// followed.
    ///
    /// # Errors
    /// If the address is not an `http` or `https` URL.
    pub fn with_connections(
        connections: HttpConnections,
        url: impl AsRef<str>,
    ) -> Result<HttpClient, HttpClientError> {
        let url = url.as_ref();
        let parsed = reqwest::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = parsed.ok_or_else(|| HttpClientError::Address(url.to_owned()))?;
        Ok(HttpClient {
            way: Way::to(&url, connections),
            url,
            headers: HeaderMap::new(),
            header_provider: None,
            options: ClientOptions::default(),
            provider: None,
            on_session: None,
            tools: ToolTable::default(),
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
    /// ```
    /// use mcp_runtime::transport::http::{HttpClient, HttpClientError};
    ///
    /// fn client(token: &str) -> Result<HttpClient, HttpClientError> {
    ///     let client = HttpClient::new("https://weather.example/mcp")?;
    ///     client.header("authorization", &format!("Bearer {token}"))
    /// }
    /// ```
    ///
    /// # Errors
    /// If the name or the value has a character that no header may have.
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

    /// Calls `tell` with the id of each session that this client opens: when the server has named it, and again after
    /// each reconnect. A program that lets another one continue the session publishes the id, once a call of its own has
    /// been answered. A program that knows the id can speak in the session, so keep it secret. If the server has no
    /// sessions, or the id comes from [`sessions_from`](Self::sessions_from), `tell` is not called.
    ///
    /// ```
    /// use mcp_runtime::transport::http::{HttpClient, HttpClientError};
    /// use tokio::sync::watch;
    ///
    /// fn opening(id: watch::Sender<Option<String>>) -> Result<HttpClient, HttpClientError> {
    ///     let transport = HttpClient::new("http://127.0.0.1:8080/weather")?;
    ///     Ok(transport.on_session(move |session| drop(id.send_replace(Some(session.to_owned())))))
    /// }
    /// ```
    #[must_use]
    pub fn on_session(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> HttpClient {
        self.on_session = Some(Arc::new(tell));
        self
    }

    /// Says which parameters the calls of a tool repeat in headers, in a revision without sessions. A client learns it from
    /// each list of tools that it gets; this is for a program that calls a tool without having listed the tools.
    ///
    /// ```
    /// use mcp_runtime::transport::http::{HttpClient, ParamHeaders};
    /// use serde_json::Value;
    ///
    /// fn knowing(schema_of_query: &Value) -> Result<HttpClient, Box<dyn std::error::Error>> {
    ///     let headers = ParamHeaders::of_schema(schema_of_query)?;
    ///     Ok(HttpClient::new("http://127.0.0.1:8080/mcp")?.tool("query", headers))
    /// }
    /// # knowing(&Value::Null).unwrap();
    /// ```
    #[must_use]
    pub fn tool(mut self, name: &str, headers: ParamHeaders) -> HttpClient {
        self.tools.note(name, headers);
        self
    }

    /// Continues sessions that another program has begun: `provider` names the session of each request.
    ///
    /// ```
    /// use mcp_runtime::transport::http::{HttpClient, HttpClientError, SessionProvider};
    ///
    /// /// The id of a session that another program has opened.
    /// struct Known(String);
    ///
    /// impl SessionProvider for Known {
    ///     type Error = std::convert::Infallible;
    ///
    ///     async fn session_id(&self) -> Result<String, Self::Error> {
    ///         Ok(self.0.clone())
    ///     }
    /// }
    ///
    /// fn continued(id: String) -> Result<HttpClient, HttpClientError> {
    ///     Ok(HttpClient::new("http://127.0.0.1:8080/weather")?.sessions_from(Known(id)))
    /// }
    /// ```
    #[must_use]
    pub fn sessions_from(mut self, provider: impl SessionProvider) -> HttpClient {
        self.provider = Some(Arc::new(provider));
        self
    }
}

/// Returns an address as it may be shown, without the parts that may hold credentials.
pub(super) fn server(url: &reqwest::Url) -> String {
    format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default())
}
