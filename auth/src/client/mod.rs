//! The client's side: gets tokens, adds them to requests, and renews them.
//!
//! - `authorization.rs`: [`Authorization`], which makes transports whose requests are authorized.
//! - `renewal.rs`: the token, and one renewal after another. Each goes through the stages: `discovery.rs` finds out who issues
//!   tokens, `registration.rs` as whom the client asks for one, `code.rs` has the user log in, `grant.rs` requests the token.
//! - `identity.rs`, `user_agent.rs`, `store.rs`: what the program gives. `fetch.rs`: the requests; `error.rs`: errors.

mod authorization;
mod code;
mod discovery;
mod error;
mod fetch;
mod grant;
mod identity;
mod registration;
mod renewal;
mod store;
mod user_agent;

pub use authorization::{Authorization, AuthorizationBuilder};
pub use error::AuthorizationError;
pub use fetch::FetchError;
pub use identity::RegisteredClient;
pub use store::{MemoryStore, Store};
pub use url::Url;
pub use user_agent::UserAgent;
