//! [`ServerOptions`], the settings of an HTTP server. By default only names of this machine are accepted.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;

use crate::options::RateLimit;
use crate::transport::http::mirrored::ParamHeaders;

/// Which names are accepted in a header that says for whom, or from where, a request is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Allowed {
    /// Names and addresses of this machine's loopback, with any port.
    Loopback,
    /// These. An entry without a port stands for any port.
    Listed(Vec<String>),
    /// Any: something in front of the server has looked already.
    Any,
}

/// The settings of a server. Start from [`ServerOptions::default`] and change what should differ.
///
/// ```
/// use std::time::Duration;
/// use mcp_runtime::transport::http::ServerOptions;
///
/// let options = ServerOptions::new()
///     .max_sessions(100)
///     .idle_after(Duration::from_secs(600))
///     .hosts(["weather.example"]);
/// assert_eq!(options.max_sessions, 100);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// How many sessions there may be, and requests without a session that are being served; a further one is refused with
    /// 503. A session counts until its code has
    /// returned. Default: 10,000.
    pub max_sessions: usize,
    /// How many handlers of requests, and of sub-sessions that clients have opened, may run in all sessions together; a
    /// further request is refused with the JSON-RPC error -32000. Default: 4096.
    pub max_handlers: usize,
    /// How many bytes all sessions together may hold: bodies that are being read, messages that wait or are being worked
    /// on, and answers that no client has read yet, until they are written. A request beyond it is refused with 503, or
    /// with the JSON-RPC error -32000 where it was read already; so is one whose reply does not fit. Default: 64 MiB.
    pub max_bytes: usize,
    /// How many of these bytes one session may hold; beyond it the status is 429. A body and the message in it are held
    /// at the same time for a moment, so this should be four times `max_body_bytes`. Default: 16 MiB.
    pub session_bytes: usize,
    /// How much of everything that all clients have together one client may have, in percent: of `max_sessions`,
    /// `max_handlers`, `max_bytes`, `max_replay_bytes`, `request_rate`, and of
    /// [`ListenOptions::max_connections`](super::ListenOptions::max_connections). A client is an address, as far as
    /// addresses are known, and a principal, if `principal` names one. Beyond it a request is refused with 429. 100
    /// disables the limit. Default: 50, because many clients may share one address.
    pub client_share: u8,
    /// How many requests all clients together may make; one that comes too soon is refused with 429. Default: 100,000 in
    /// a second.
    pub request_rate: Option<RateLimit>,
    /// The addresses of proxies whose header `X-Forwarded-For` is believed. Default: none.
    pub trusted_proxies: Vec<IpAddr>,
    /// Names the principal that makes a request; see [`principal`](Self::principal()). Default: none.
    pub principal: Option<Identify>,
    /// The longest body that is read, in bytes; a longer one is refused with 413. Default: 4 MiB.
    pub max_body_bytes: usize,
    /// How many requests of one session may be answered or read at the same time; a further one is refused with 429.
    /// Default: 1024.
    pub max_streams: usize,
    /// How many bytes of messages a session keeps for a client that reconnects: messages that were sent, and messages
    /// that wait for a stream. Default: 256 KiB.
    pub replay_bytes: usize,
    /// How many of these bytes all sessions together keep; beyond it less is kept. Default: 64 MiB.
    pub max_replay_bytes: usize,
    /// How long a client is asked to wait before it opens a stream again. Default: 1 second.
    pub retry: Duration,
    /// How long a stream may be silent before a comment is sent, which tells both sides that the other is there.
    /// Default: 15 seconds.
    pub keep_alive: Duration,
    /// How long to wait for an answer before a stream is started for it. With zero every request but the first is
    /// answered with a stream, so that a client that loses the connection can resume any answer. Default: 5 seconds.
    pub stream_after: Duration,
    /// How long the body of a request may take to come; then it is refused with 408. Default: 30 seconds.
    pub body_within: Duration,
    /// How many bytes of the body of a refused request are read and thrown away, so that a client that is still writing
    /// sees the refusal; then the connection is closed. Default: 16 MiB.
    pub drain_bytes: usize,
    /// How long a client may take nothing of what waits for it on a stream, or of a long answer. Then the stream ends,
    /// as if its connection had been lost, and the answer is cut. Default: 30 seconds.
    pub write_within: Duration,
    /// How long a session lives whose client neither says anything nor reads a stream. Default: 30 minutes.
    pub idle_after: Duration,
    /// The same for a client that has said nothing yet but the first message. Default: 1 minute.
    pub opening_within: Duration,
    /// What a request without a session must ask for. Default: `initialize`.
    pub opens_with: String,
    /// The versions that the header `MCP-Protocol-Version` may name besides the one that was agreed on; any other is
    /// refused with 400. Default: the revisions that have this transport.
    pub versions: Vec<String>,
    /// The first version of the protocol whose clients expect a stream to start with an event that carries only its id, so
    /// that they can resume it from the start. Versions compare as text; `None`: no client does. Default: `2025-11-25`.
    pub primed_since: Option<String>,
    /// Names the parameters of a tool that its calls repeat in headers; see
    /// [`param_headers`](Self::param_headers()). Default: none, so that these headers are not looked at.
    pub param_headers: Option<ToolHeaders>,
    /// Which names the header `Host` may carry; another is refused with 403. Default: those of the loopback, which
    /// keeps out a page whose name was made to point here.
    pub hosts: Allowed,
    /// Which names the header `Origin` may carry, if it is there; another is refused with 403. Entries carry their
    /// scheme, as in `https://example.org`. Default: those of the loopback.
    pub origins: Allowed,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            max_sessions: 10_000,
            max_handlers: 4096,
            max_bytes: 64 * 1024 * 1024,
            session_bytes: 16 * 1024 * 1024,
            client_share: 50,
            request_rate: Some(RateLimit::new(100_000, Duration::from_secs(1))),
            trusted_proxies: Vec::new(),
            principal: None,
            max_body_bytes: 4 * 1024 * 1024,
            max_streams: 1024,
            replay_bytes: 256 * 1024,
            max_replay_bytes: 64 * 1024 * 1024,
            retry: Duration::from_secs(1),
            keep_alive: Duration::from_secs(15),
            stream_after: Duration::from_secs(5),
            body_within: Duration::from_secs(30),
            drain_bytes: 16 * 1024 * 1024,
            write_within: Duration::from_secs(30),
            idle_after: Duration::from_secs(30 * 60),
            opening_within: Duration::from_secs(60),
            opens_with: "initialize".to_owned(),
            versions: ["2025-03-26", "2025-06-18", "2025-11-25"].map(str::to_owned).to_vec(),
            primed_since: Some("2025-11-25".to_owned()),
            param_headers: None,
            hosts: Allowed::Loopback,
            origins: Allowed::Loopback,
        }
    }
}

/// A setter for each setting that is a plain value.
macro_rules! setters {
    ($($name:ident: $type:ty),* $(,)?) => {
        $(
            #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
            #[must_use]
            pub fn $name(mut self, $name: $type) -> ServerOptions {
                self.$name = $name;
                self
            }
        )*
    };
}

impl ServerOptions {
    /// The defaults.
    pub fn new() -> ServerOptions {
        ServerOptions::default()
    }

    setters! {
        max_sessions: usize,
        max_handlers: usize,
        max_bytes: usize,
        session_bytes: usize,
        client_share: u8,
        request_rate: Option<RateLimit>,
        max_body_bytes: usize,
        max_streams: usize,
        replay_bytes: usize,
        max_replay_bytes: usize,
        retry: Duration,
        keep_alive: Duration,
        stream_after: Duration,
        body_within: Duration,
        drain_bytes: usize,
        write_within: Duration,
        idle_after: Duration,
        opening_within: Duration,
        primed_since: Option<String>,
    }

    /// Names the principal that makes a request, from what the layers in front of this server have put into its
    /// extensions, for instance. A session belongs to the principal that began it: to any other, and to a request
    /// without one, it is not there (404), so that a stolen session id does not help. Each principal has its own
    /// [`client_share`](Self::client_share).
    ///
    /// ```
    /// use mcp_runtime::transport::http::ServerOptions;
    ///
    /// #[derive(Clone)]
    /// struct User(String); // put there by a layer that checks tokens
    ///
    /// let options = ServerOptions::new()
    ///     .principal(|request| request.extensions.get::<User>().map(|user| user.0.clone()));
    /// # drop(options);
    /// ```
    #[must_use]
    pub fn principal(
        mut self,
        name: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> ServerOptions {
        self.principal = Some(Identify(Arc::new(name)));
        self
    }

    /// Names the parameters of a tool that its calls repeat in headers, by the tool's name. In a revision without sessions
    /// a call whose headers do not say what its message says is refused with 400 and the code -32020. Call
    /// [`ParamHeaders::of_schema`] once for each tool, and not for each call.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mcp_runtime::transport::http::{ParamHeaderError, ParamHeaders, ServerOptions};
    /// use serde_json::{Value, json};
    ///
    /// fn options(schema_of_query: &Value) -> Result<ServerOptions, ParamHeaderError> {
    ///     let query = Arc::new(ParamHeaders::of_schema(schema_of_query)?);
    ///     Ok(ServerOptions::new().param_headers(move |tool| (tool == "query").then(|| query.clone())))
    /// }
    /// # options(&json!({})).unwrap();
    /// ```
    #[must_use]
    pub fn param_headers(
        mut self,
        of_tool: impl Fn(&str) -> Option<Arc<ParamHeaders>> + Send + Sync + 'static,
    ) -> ServerOptions {
        self.param_headers = Some(ToolHeaders(Arc::new(of_tool)));
        self
    }

    /// Whether an address is that of a proxy which is trusted.
    pub(super) fn is_trusted(&self, address: IpAddr) -> bool {
        self.trusted_proxies.contains(&address.to_canonical())
    }

    /// Sets [`trusted_proxies`](Self::trusted_proxies).
    #[must_use]
    pub fn trusted_proxies(mut self, proxies: impl IntoIterator<Item = IpAddr>) -> ServerOptions {
        self.trusted_proxies = proxies.into_iter().map(|address| address.to_canonical()).collect();
        self
    }

    /// Sets [`opens_with`](Self::opens_with).
    #[must_use]
    pub fn opens_with(mut self, method: impl Into<String>) -> ServerOptions {
        self.opens_with = method.into();
        self
    }

    /// Sets [`versions`](Self::versions).
    #[must_use]
    pub fn versions<T: Into<String>>(mut self, versions: impl IntoIterator<Item = T>) -> ServerOptions {
        self.versions = versions.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`hosts`](Self::hosts) to these names, such as `example.org`, or `example.org:8080` for one port only.
    #[must_use]
    pub fn hosts<T: Into<String>>(mut self, hosts: impl IntoIterator<Item = T>) -> ServerOptions {
        self.hosts = Allowed::Listed(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets [`hosts`](Self::hosts) to any.
    #[must_use]
    pub fn any_host(mut self) -> ServerOptions {
        self.hosts = Allowed::Any;
        self
    }

    /// Sets [`origins`](Self::origins) to these, such as `https://example.org`.
    #[must_use]
    pub fn origins<T: Into<String>>(mut self, origins: impl IntoIterator<Item = T>) -> ServerOptions {
        self.origins = Allowed::Listed(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Sets [`origins`](Self::origins) to any.
    #[must_use]
    pub fn any_origin(mut self) -> ServerOptions {
        self.origins = Allowed::Any;
        self
    }
}

/// Names the sender of a request, from what the layers before this one have found out.
#[derive(Clone)]
pub struct Identify(pub(super) Arc<Identifying>);

type Identifying = dyn Fn(&Parts) -> Option<String> + Send + Sync;

impl fmt::Debug for Identify {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Identify")
    }
}

/// Names the parameters of a tool that its calls repeat in headers.
#[derive(Clone)]
pub struct ToolHeaders(pub(super) Arc<OfTool>);

type OfTool = dyn Fn(&str) -> Option<Arc<ParamHeaders>> + Send + Sync;

impl fmt::Debug for ToolHeaders {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ToolHeaders")
    }
}
