//! The Language Server Protocol, ready to use: its `.session` file as a typed SDK for editors and language servers.
//!
//! [`lsp_3_17`] has a typed client, a typed server and their state machine. The compiler generates all of it from
//! `lsp-3.17.session`, and the generated file is part of the crate: a program that uses it compiles no compiler. The
//! payloads ([`types`]) are those of `lsp-types`, but for a few.
//!
//! ```no_run
//! use lsp_protocols::lsp_3_17::{LspClient, LspError};
//! use lsp_protocols::types::*;
//! # async fn example(opened: DidOpenTextDocumentParams, asked: HoverParams) -> Result<(), LspError> {
//! # let (near, _far) = mcp_runtime::transport::duplex();
//! let client = LspClient::new(near);
//! let (_result, client) = client.initialize(InitializeParams::default()).await?;
//! let client = client.send_initialized(InitializedParams {}).await?;
//! let document = client.send_did_open(opened).await?;
//! let _hover = document.hover(asked).await?;
//! let client = client.shutdown().await?.send_exit().await?;
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! An open document is a value, from `didOpen` to `didClose`. Its methods change the text and ask about it, and a server
//! reads both from one queue, in the order of the wire: so it answers from the text that precedes the request.
//! The session has the methods for questions about documents, too: a document need not be open.
//!
//! On a stream, a header with the length precedes each message: use `Framing::ContentLength` of the transport. So an
//! editor starts its server, and has a handler take what the server says at any time:
//!
//! ```no_run
//! use lsp_protocols::lsp_3_17::{LspClient, client};
//! use lsp_protocols::types::*;
//! use mcp_runtime::transport::{Child, Framing};
//! use tokio::process::Command;
//!
//! struct Editor;
//!
//! impl client::Handler for Editor {
//!     async fn publish_diagnostics(&self, _: client::Context, params: PublishDiagnosticsParams) {
//!         println!("{}: {} diagnostics", params.uri.as_str(), params.diagnostics.len());
//!     }
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Child::builder(Command::new("rust-analyzer")).framing(Framing::ContentLength).spawn()?;
//! let client = LspClient::new(server);
//! tokio::spawn(client.incoming().serve(Editor));
//! let (_result, client) = client.initialize(InitializeParams::default()).await?;
//! # drop(client);
//! # Ok(())
//! # }
//! ```
//!
//! A message of a feature may be sent if the server has announced the feature, or has registered it under the method of
//! the message. A registration may also carry options, such as `resolveProvider`, or have a name that is not a method,
//! `textDocument/semanticTokens`. The session does not read these: a program that agrees on them calls
//! `grant_capability`, on both sides.

// The `.session` files name their payload types by their public path.
extern crate self as lsp_protocols;

pub mod types;

/// Version 3.17, from `lsp-3.17.session`.
pub mod lsp_3_17;
