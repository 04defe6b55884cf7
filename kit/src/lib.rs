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
//! `tool.rs`, `prompt.rs` and `resource.rs` have what a server is made of; each is a trait, and the entry that a server keeps of
//! a type. `schema.rs` reads what types say of themselves, `needs.rs` and `client.rs` are what a tool asks with, and `server.rs`
//! answers requests. Below is [`mcp_protocols::eras`], which a program may use by itself.
#![warn(missing_docs, clippy::missing_errors_doc)]

mod client;
mod failure;
mod needs;
mod output;
mod problem;
mod prompt;
mod resource;
mod schema;
mod server;
mod template;
mod tool;

pub use client::{Answer, Client};
pub use failure::Failure;
pub use mcp_protocols::eras::{Changes, Context, types};
#[doc(inline)]
pub use mcp_runtime::transport::stdio;
pub use needs::{Has, Model, Needs, Roots, User};
pub use output::{Json, Output};
pub use problem::Problem;
pub use prompt::{Prompt, said};
pub use resource::{Resource, blob_at, text_at};
pub use server::Server;
pub use tool::Tool;
