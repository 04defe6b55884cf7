//! The Model Context Protocol, ready to use: each shipped `.session` file as a typed SDK.
//!
//! The crate has one module for each revision, with a typed client, a typed server and their state machine. The
//! compiler generates all of it from the `.session` files, and the generated files are part of the crate: a program that
//! uses it compiles no compiler. The payload types of all revisions are in [`types`]. Only helpers of some of them,
//! the task id in payloads ([`related`]), rounds of requests (`rounds`), and what makes one program speak all revisions
//! (`eras`) are written by hand.
//!
//! ```no_run
//! use mcp_protocols::mcp_2025_11_25::{McpClient, McpError};
//! # async fn example(params: mcp_protocols::types::InitializeParams) -> Result<(), McpError> {
//! let (near, _far) = mcp_runtime::transport::duplex();
//! let client = McpClient::new(near);
//! let (_result, client) = client.initialize(params).await?;
//! let client = client.send_initialized().await?;
//! let _tools = client.list_tools(None).await?;
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Each revision has its tables, `PROTOCOL`, and a feature that adds its types. The feature of the latest revision,
//! `2025-11-25`, is on by default. A program needs the types of one revision. With one revision, rustc's messages are
//! shorter: they say `McpClient<Active>`. With several, they say `mcp_protocols::mcp_2025_11_25::McpClient<…>`.
//!
//! Write a program that speaks several revisions against the latest, and list the older ones that it also supports. The
//! version that the server answers with decides which revision governs from then on. The module `eras` is for programs that
//! also speak revision 2026-07-28, which has no handshake.
//!
//! ```
//! use mcp_protocols::{REVISIONS, VERSIONS, mcp_2025_11_25::{McpError, McpServer}};
//! use mcp_runtime::{Options, negotiate_version};
//! # use mcp_protocols::types::InitializeResult;
//! # async fn example(mut result: InitializeResult) -> Result<(), McpError> {
//! # let (_near, far) = mcp_runtime::transport::duplex();
//! let server = McpServer::with_options(far, Options::new().revisions(REVISIONS));
//! let (params, server) = server.recv_initialize().await?;
//! result.protocol_version = negotiate_version(&VERSIONS, &params.protocol_version).to_owned();
//! let server = server.send_initialize_result(result).await?;
//! # drop(server);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs, clippy::missing_errors_doc)]

mod helpers;
mod related;
mod revisions;

pub use related::{RELATED_TASK, related, related_task};
pub use revisions::{REVISIONS, VERSIONS};

// The `.session` files name their payload types by their public path.
extern crate self as mcp_protocols;

pub mod types;

/// Revision 2024-11-05, from `mcp-2024-11-05.session`. Its types need the feature `2024-11-05`.
pub mod mcp_2024_11_05;

/// Revision 2025-03-26, from `mcp-2025-03-26.session`: adds batches, and a capability for completions. Its types need
/// the feature `2025-03-26`.
pub mod mcp_2025_03_26;

/// Revision 2025-06-18, from `mcp-2025-06-18.session`: adds elicitation, removes batches. Its types need the feature
/// `2025-06-18`.
pub mod mcp_2025_06_18;

/// Revision 2025-11-25, from `mcp-2025-11-25.session`: adds tasks, and elicitation by URL. Its types need the feature
/// `2025-11-25`, which is on by default.
pub mod mcp_2025_11_25;

/// Revision 2026-07-28, from `mcp-2026-07-28.session`: without a handshake, and with payload types of its own. It needs
/// the feature `2026-07-28`.
#[cfg(feature = "2026-07-28")]
pub mod mcp_2026_07_28;

/// Revision 2026-07-28 with the extension `io.modelcontextprotocol/tasks`, from `mcp-2026-07-28-tasks.session`. It needs the
/// feature `2026-07-28-tasks`.
#[cfg(feature = "2026-07-28-tasks")]
pub mod mcp_2026_07_28_tasks;

#[cfg(feature = "eras")]
pub mod eras;

#[cfg(feature = "2026-07-28")]
pub mod rounds;

#[cfg(feature = "2026-07-28")]
mod subscribing;

#[cfg(feature = "2026-07-28")]
mod together;
