//! MCP servers from types.
//!
//! A tool is a struct: its fields are the arguments, its documentation is the description, and its schema is derived. What a
//! tool may ask of the client stands in its type, and clients that cannot do it do not see the tool. One [`Server`] serves
//! clients of every revision of MCP, over standard streams, HTTP and any other transport.
//!
//! ```no_run
//! use mcp_kit::{Failure, Server};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! /// Adds two numbers
//! #[derive(Deserialize, JsonSchema)]
//! struct Add {
//!     a: i64,
//!     b: i64,
//! }
//!
//! fn main() -> Result<(), Failure> {
//!     Server::new("adder", "1.0.0", ())
//!         .tool_fn(|add: Add, _| async move { Ok((add.a + add.b).to_string()) })
//!         .run()
//! }
//! ```
//!
//! A tool that asks the client, or that is worth a place of its own, is a [`Tool`].
//!
//! `server/` has servers, and `connection/` what a program that calls servers uses; `schema.rs` reads what types say of
//! themselves, for both. Below is [`mcp_protocols::eras`], which a program may use by itself.

mod answer;
mod connection;
mod failure;
pub mod prelude;
mod schema;
mod server;

pub use answer::Answer;
pub use connection::{Call, CallError, ConnectOptions, Connection, Entry, Handlers, LiveList, Subscription};
pub use failure::Failure;
#[doc(no_inline)]
pub use mcp_protocols::eras;
pub use mcp_protocols::eras::{Asker, Change, Changes, ConnectError, Context, Era, Offer, types};
pub use mcp_protocols::rounds::RoundsError;
pub use mcp_runtime::session::{Means, Outcome};
#[doc(inline)]
pub use mcp_runtime::transport::{self, stdio};
pub use mcp_runtime::{DisconnectReason, Error, Options, Report, RpcError, TimeoutKind, Transport};
#[cfg(feature = "tracing")]
pub use server::ClientLog;
pub use server::{
    Client, Has, Json, ListRequest, Model, Needs, Output, Page, Problem, Progress, Prompt, Prompts, Resource,
    ResourceNotFound, Resources, Roots, Server, Suggestions, Tool, Tools, Typed, User, audio_of, blob_at,
    bytes_at, image_of, principal_of, said, text_at,
};
