//! [`ClientOptions`], the settings of an HTTP client.

use std::time::Duration;

/// The settings of a client. Start from [`ClientOptions::default`] and change what should differ. What concerns
/// connections, proxies and certificates is set on the `reqwest::Client` that a transport may be given.
///
/// ```
/// use std::time::Duration;
/// use mcp_runtime::transport::http::{ClientOptions, HttpClient, HttpClientError};
///
/// fn patient(url: &str) -> Result<HttpClient, HttpClientError> {
///     Ok(HttpClient::new(url)?.options(ClientOptions::new().post_within(Duration::from_secs(120))))
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The longest message that is read, in bytes. Default: 16 MiB.
    pub max_message_bytes: usize,
    /// Whether a stream is opened for the server's own requests and notifications. Default: yes.
    pub listen: bool,
    /// How long messages behind the handshake wait for that stream to open, because some servers lose what they send
    /// before. Default: 1 second.
    pub listen_within: Duration,
    /// How long to wait before a stream that was cut is opened again, unless the server says how long. The wait doubles
    /// after each failed attempt, up to 30 seconds, and is at least 50 milliseconds. Default: 1 second.
    pub retry: Duration,
    /// After this many consecutive failures to resume the stream of an answer, the call fails. A server that ends the
    /// stream on purpose does not count as a failure. Default: 5.
    pub resume_attempts: usize,
    /// How long a notification or a reply may take to be accepted. Until then a reply is sent again whose connection was
    /// lost, or for which the server has no room. Default: 30 seconds.
    pub post_within: Duration,
    /// How long reconnecting may take before the session ends. A server that cannot be reached, or has no room, is
    /// asked again meanwhile. Default: 30 seconds.
    pub reconnect_within: Duration,
    /// How long a call that was made in a lost session waits for the server's 404 after a reconnect. With a 404 the
    /// call is made again, without one it fails. Default: 2 seconds.
    pub replay_within: Duration,
    /// How long deleting the session may take at the end. A client that is dropped while the server begins a session waits
    /// as long for its id before that. Default: 2 seconds.
    pub delete_within: Duration,
    /// The statuses by which a server says that it does not know the session. Default: 404. A server may say 400, too, with a
    /// text about the session.
    pub unknown_session: Vec<u16>,
    /// The version in the header `MCP-Protocol-Version` before a version was agreed on. Default: none; in a resumed
    /// session, its version ([`Resumed::version`](crate::Resumed::version)).
    pub protocol_version: Option<String>,
}

impl Default for ClientOptions {
    fn default() -> ClientOptions {
        ClientOptions {
            max_message_bytes: 16 * 1024 * 1024,
            listen: true,
            listen_within: Duration::from_secs(1),
            retry: Duration::from_secs(1),
            resume_attempts: 5,
            post_within: Duration::from_secs(30),
            reconnect_within: Duration::from_secs(30),
            replay_within: Duration::from_secs(2),
            delete_within: Duration::from_secs(2),
            unknown_session: vec![404],
            protocol_version: None,
        }
    }
}

/// A setter for each setting that is a plain value.
macro_rules! setters {
    ($($name:ident: $type:ty),* $(,)?) => {
        $(
            #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
            #[must_use]
            pub fn $name(mut self, $name: $type) -> ClientOptions {
                self.$name = $name;
                self
            }
        )*
    };
}

impl ClientOptions {
    /// The defaults.
    pub fn new() -> ClientOptions {
        ClientOptions::default()
    }

    setters! {
        max_message_bytes: usize,
        listen: bool,
        listen_within: Duration,
        retry: Duration,
        resume_attempts: usize,
        post_within: Duration,
        reconnect_within: Duration,
        replay_within: Duration,
        delete_within: Duration,
        unknown_session: Vec<u16>,
    }

    /// Sets [`protocol_version`](Self::protocol_version).
    #[must_use]
    pub fn protocol_version(mut self, version: impl Into<String>) -> ClientOptions {
        self.protocol_version = Some(version.into());
        self
    }
}
