//! The client's side: gets tokens, adds them to requests, and renews them.
//!
//! - `authorization.rs`: [`Authorization`], which makes transports whose requests are authorized; `headers.rs` adds the token
//!   to each, and hears what the server says to it.
//! - `renewal.rs`: the token, and one renewal after another. Each goes through the stages: `discovery.rs` finds out who issues
//!   tokens, `registration.rs` as whom the client asks for one, and `subject.rs` for whom it is. `code.rs` has the user log in;
//!   `identity_provider.rs` has the user's enterprise say who the user is. `grant.rs` requests the token, for JWTs of others with
//!   `assertion.rs`.
//! - `binding.rs`: to which key tokens are bound. `proof_key.rs` makes the proofs of it, which `token_requests.rs` adds to requests
//!   for tokens; `nonces.rs` has what servers want to find in them.
//! - `identity.rs`, `user_agent.rs`, `token_source.rs`, `store.rs`: what the program gives. `fetch.rs`: the requests; `error.rs`:
//!   errors.

mod assertion;
mod authorization;
mod binding;
mod code;
mod discovery;
mod error;
mod fetch;
mod grant;
mod headers;
mod identity;
mod identity_provider;
mod nonces;
mod proof_key;
mod registration;
mod renewal;
mod store;
mod subject;
mod token_requests;
mod token_source;
mod user_agent;

pub use authorization::{Authorization, AuthorizationBuilder};
pub use error::AuthorizationError;
pub use fetch::FetchError;
pub use identity::RegisteredClient;
pub use identity_provider::IdentityProvider;
pub use proof_key::ProofKey;
pub use store::{MemoryStore, Store};
pub use token_source::TokenSource;
pub use url::Url;
pub use user_agent::UserAgent;
