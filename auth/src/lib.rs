//! Authorization for MCP over HTTP, as revisions 2025-03-26 to 2026-07-28 have it.
//!
//! - [`client`], with the feature `client`: gets a token from the authorization server that an MCP server names, adds it to
//!   each request, and renews it. The user logs in with a browser or is logged in at an enterprise; or the program has credentials
//!   of its own, or the identity of a workload. Tokens may be bound to a key.
//! - [`server`], with the feature `server`: for an MCP server in an axum router: validates the token of each request and
//!   says who asks.
//!
//! Tokens are never logged, and never sent to another host than the one they are for: [`Secret`] does not show itself, and no
//! redirect is followed.
//!
//! `challenge.rs`, `metadata.rs` and `scopes.rs` have what both sides say to each other.

#[cfg(any(feature = "client", feature = "server"))]
mod challenge;
#[cfg(feature = "client")]
pub mod client;
#[cfg(any(feature = "client", feature = "server"))]
mod metadata;
mod scopes;
mod secret;
#[cfg(feature = "server")]
pub mod server;

pub use scopes::Scopes;
pub use secret::Secret;
