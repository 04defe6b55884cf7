//! Streamable HTTP: one address for everything that the two sides of a session say.
//!
//! In: HTTP requests, or the session of a client. Out: the same sessions as over any other transport. A client posts
//! each of its messages; the server answers a posted request with JSON, or with a stream of events when it has more to
//! say about it, and says the rest on a stream of its own that the client opens with GET. Refuses to depend on the
//! order of requests: they may overtake one another.
//!
//! - [`server`], with the feature `http-server`: mounts into an axum router and hands out one transport a session.
//! - [`client`], with the feature `http-client`: a transport over reqwest.

#[cfg(feature = "http-client")]
pub mod client;
#[cfg(any(feature = "http-client", feature = "http-server"))]
mod pieces;
#[cfg(feature = "http-server")]
pub mod server;

#[cfg(feature = "http-client")]
pub use client::{
    ClientOptions, HeaderProvider, HttpClient, HttpClientError, HttpConnections, HttpError, SessionProvider,
};
#[cfg(feature = "http-server")]
pub use server::{Allowed, HttpServer, HttpSession, Identify, ListenOptions, RequestHead, ServerOptions};

/// The header that names the session.
pub const SESSION_ID: &str = "mcp-session-id";
/// The header that names the version of the protocol.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The header that says up to where a stream was read.
pub const LAST_EVENT_ID: &str = "last-event-id";

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
