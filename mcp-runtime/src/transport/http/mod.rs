//! Streamable HTTP: one address for all messages of a session.
//!
//! A client posts each of its messages. The server answers a posted request with JSON, or with a stream of events if it
//! sends more than the reply. It sends its other messages on a stream that the client opens with GET. Requests may
//! overtake one another.
//!
//! - [`server`], with the feature `http-server`: mounts into an axum router and returns one transport for each session.
//! - [`client`], with the feature `http-client`: a transport over hyper and reqwest.

#[cfg(feature = "http-client")]
pub mod client;
mod headers;
mod mirrored;
mod pieces;
#[cfg(feature = "http-server")]
pub mod server;

#[cfg(feature = "http-client")]
pub use client::{
    Challenge, ClientOptions, HeaderProvider, HttpClient, HttpClientError, HttpConnections, HttpError,
    Redirect, RequestError, SessionProvider,
};
pub use headers::{LAST_EVENT_ID, METHOD, NAME, PARAM_PREFIX, PROTOCOL_VERSION, SESSION_ID};
pub use mirrored::{ParamHeaderError, ParamHeaders};
#[cfg(feature = "http-server")]
pub use server::{
    Allowed, HttpServer, HttpSession, Identify, ListenOptions, RequestHead, ServerOptions, ToolHeaders,
};
