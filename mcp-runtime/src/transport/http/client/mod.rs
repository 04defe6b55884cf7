//! The client side of Streamable HTTP.
//!
//! The address of a server becomes a transport whose session is like any other. Each message is a POST. The answer,
//! JSON or a stream, is read to its end, and a stream that is cut is resumed. One more stream is kept open for the
//! server's own messages. A message that must come first is accepted before the next one is sent, because POSTs may
//! overtake one another.
//!
//! A session id comes in one of two ways. Usually the server returns it with the answer to the first message. If the
//! server loses the session later, the client reconnects by repeating the handshake, if that has no alternatives. Or a
//! [`SessionProvider`] returns the id, because another program has opened the session.
//!
//! A protocol whose requests each announce what the client can do has no sessions. Then no stream is opened but those of
//! answers, and a request is cancelled by the end of its connection.
//!
//! - `http_client.rs`, `transport.rs`: the address of a server; a session with it, from its beginning to its end.
//! - `options.rs`, `provider.rs`, `error.rs`, `request_error.rs`, `redirect.rs`: settings; session ids and headers from the
//!   program; errors.
//! - `connections.rs`, `direct.rs`, `way.rs`: HTTP connections; those without TLS and a proxy; which of them lead to the
//!   server.
//! - `conversation.rs`, `message.rs`: what the requests of a session share; what is posted. `identity.rs`: how requests
//!   name the session.
//! - `posts.rs`: which message is posted when. `posting.rs`: POST; `sending.rs`: a long message; `running.rs`,
//!   `delivery.rs`: what ends a request before its answer does. `listening.rs`: GET. `response.rs`, `answer.rs`, `events.rs`:
//!   answers, and streams of events.
//! - `repeated.rs`: what heads repeat of their messages in a protocol without sessions.
//! - `unknown_session.rs`, `reconnect.rs`: sessions that the server has lost; `handshake.rs`: what is said again then.

mod answer;
mod connections;
mod conversation;
mod delivery;
mod direct;
mod error;
pub(crate) mod events;
mod handshake;
mod http_client;
mod identity;
mod listening;
mod message;
mod naming;
mod options;
mod posters;
mod posting;
mod posts;
mod provider;
mod reconnect;
mod redirect;
mod repeated;
mod request_error;
mod response;
mod running;
mod sending;
#[cfg(test)]
mod tests;
mod transport;
mod unknown_session;
mod way;

pub use connections::HttpConnections;
pub use error::{HttpClientError, HttpError};
pub use http_client::HttpClient;
pub use options::ClientOptions;
pub use provider::{Challenge, HeaderProvider, SessionProvider};
pub use redirect::Redirect;
pub use request_error::RequestError;
