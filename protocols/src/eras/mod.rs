//! One program for every revision: with a handshake, and without one.
//!
//! MCP has two eras. Up to revision 2025-11-25 a client begins a session with `initialize`, and either side may ask the
//! other. From 2026-07-28 on MCP has no sessions: each request says its revision and what its client can do, and a
//! server asks by its result. A program that is written here speaks both, with the payloads of the latest revision
//! ([`types`]):
//!
//! - a [`Server`] serves a [`Handler`]. How a client begins decides which era it is served in;
//! - a [`Connector`] finds out which era a server speaks, and makes a [`Client`] of it.
//!
//! `older.rs` and `newer.rs` convert payloads. `handler.rs` is what a program writes, with `context.rs` and `changes.rs`;
//! `requests.rs` and `session.rs` serve it in the two eras, with what `served.rs` holds, and `server.rs` chooses, among the revisions of
//! `spoken.rs`. The client is in `client/`.

mod changes;
mod client;
mod context;
mod era;
mod handler;
mod newer;
mod older;
mod requests;
mod served;
mod server;
mod session;
mod spoken;

pub use changes::{Change, Changes};
pub use client::{Call, Client, ConnectError, Connector, Listening, MayAsk, Request};
pub use context::{Asker, Context};
pub use era::Era;
pub use handler::{Handler, Offer};
pub use server::Server;
pub use spoken::UnknownRevision;

/// The payloads, in the form of the latest revision.
pub mod types {
    #[doc(inline)]
    pub use mcp_runtime::shapes::{Number, Object};

    #[doc(inline)]
    pub use crate::mcp_2026_07_28::types::*;
}
