//! Streamable HTTP: one address for all messages of a session.
//!
//! A client posts each of its messages. The server answers a posted request with JSON, or with a stream of events if it
//! sends more than the reply. It sends its other messages on a stream that the client opens with GET. Requests may
//! overtake one another.
//!
//! - [`server`], with the feature `http-server`: mounts into an axum router and returns one transport for each session.
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
