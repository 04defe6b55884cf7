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
//! - `http_client.rs`, `transport.rs`: the address of a server; a session with it, from its beginning to its end.
//! - `options.rs`, `connections.rs`, `provider.rs`, `error.rs`: settings; what requests go over; who names sessions and
//!   adds headers; what can go wrong.
//! - `conversation.rs`, `message.rs`: what the requests of a session share; what is posted. `posting.rs`: POST.
//!   `sending.rs`: a long message. `running.rs`: what ends a request before its answer does. `listening.rs`: GET.
//!   `reconnect.rs`: sessions that the server has lost. `events.rs`: streams of events.

mod connections;
mod conversation;
mod error;
pub(crate) mod events;
mod http_client;
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
mod transport;

pub use connections::HttpConnections;
pub use error::{HttpClientError, HttpError};
pub use http_client::HttpClient;
pub use options::ClientOptions;
pub use provider::{HeaderProvider, SessionProvider};
