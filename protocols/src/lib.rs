//! The Model Context Protocol, ready to use: each shipped `.session` file as a typed SDK.
//!
//! In: the `.session` files beside this crate. Out: one module a revision, with a typed client, a typed server and
//! their state machine. Refuses to add anything by hand: whatever is here, the compiler made from the file.
//!
//! ```no_run
//! use mcp_protocols::mcp_2025_03_26::{McpClient, McpError};
//! # async fn example(params: tower_mcp_types::protocol::InitializeParams) -> Result<(), McpError> {
//! let (near, _far) = mcp_runtime::transport::duplex();
//! let client = McpClient::new(near);
//! let (_result, client) = client.initialize(params).await?;
//! let client = client.send_initialized().await?;
//! let _tools = client.list_tools(None).await?;
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

/// Revision 2024-11-05, from `mcp-2024-11-05.session`.
pub mod mcp_2024_11_05 {
    mcp_runtime::protocol!("mcp-2024-11-05.session");
}

/// Revision 2025-03-26, from `mcp-2025-03-26.session`: batches, and a capability for completions.
pub mod mcp_2025_03_26 {
    mcp_runtime::protocol!("mcp-2025-03-26.session");
}

/// Revision 2025-06-18, from `mcp-2025-06-18.session`: a server may ask the user; no batches.
pub mod mcp_2025_06_18 {
    mcp_runtime::protocol!("mcp-2025-06-18.session");
}

/// Revision 2025-11-25, from `mcp-2025-11-25.session`: tasks, and addresses for the user to go to.
pub mod mcp_2025_11_25 {
    mcp_runtime::protocol!("mcp-2025-11-25.session");
}
