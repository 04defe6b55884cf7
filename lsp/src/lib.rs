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
//! A server answers `initialize`, and serves a handler until the editor has shut it down. An open document comes to the
//! handler as a value, from which one task reads the changes and the questions:
//!
//! ```no_run
//! use lsp_protocols::lsp_3_17::server::{ActiveNext, Context, Document, Handler, OpenNext};
//! use lsp_protocols::lsp_3_17::{LspError, LspServer, Open};
//! use lsp_protocols::types::*;
//! use mcp_runtime::transport::{Framing, stdio};
//!
//! struct Server;
//!
//! impl Handler for Server {
//!     async fn did_open(&self, context: Context, opened: DidOpenTextDocumentParams, document: Document<Open>) {
//!         if let Err(error) = follow(context, opened.text_document, document).await {
//!             eprintln!("{error}");
//!         }
//!     }
//! }
//!
//! async fn follow(context: Context, opened: TextDocumentItem, mut document: Document<Open>) -> Result<(), LspError> {
//!     let mut text = opened.text;
//!     loop {
//!         document = match document.next().await? {
//!             OpenNext::DidChange(changed, document) => {
//!                 // The server announces that it wants the whole text each time.
//!                 text = changed.content_changes.into_iter().next_back().map_or(text, |change| change.text);
//!                 // The context sends, and asks the editor, at any time.
//!                 let found = PublishDiagnosticsParams::new(opened.uri.clone(), Vec::new(), None);
//!                 context.peer().send_publish_diagnostics(found).await?;
//!                 document
//!             }
//!             OpenNext::Hover(_, responder, document) => {
//!                 let size = MarkedString::String(format!("{} bytes", text.len()));
//!                 responder.respond(Some(Hover { contents: HoverContents::Scalar(size), range: None }))?;
//!                 document
//!             }
//!             OpenNext::DidClose(_) => return Ok(()),
//!             // Whatever else is asked is answered with an error: its responder is dropped.
//!             other => match other.into_open() {
//!                 Ok(document) => document,
//!                 Err(_) => return Ok(()),
//!             },
//!         }
//!     }
//! }
//!
//! /// Serves one editor, and returns the exit code that the protocol asks for.
//! async fn serve() -> Result<i32, LspError> {
//!     let server = LspServer::new(stdio().framing(Framing::ContentLength));
//!     let (_asked, server) = server.recv_initialize().await?;
//!     let capabilities = ServerCapabilities {
//!         text_document_sync: Some(TextDocumentSyncKind::FULL.into()),
//!         hover_provider: Some(true.into()),
//!         ..Default::default()
//!     };
//!     let result = InitializeResult { capabilities: capabilities.into(), server_info: None };
//!     let (_, server) = server.send_initialize_result(result).await?.recv_initialized().await?;
//!     tokio::spawn(server.incoming().serve(Server));
//!     match server.next().await? {
//!         ActiveNext::Shutdown(server) => {
//!             server.send_shutdown_result().await?.recv_exit().await?.close().await.map(|_| 0)
//!         }
//!         ActiveNext::Exit(server) => server.close().await.map(|_| 1),
//!     }
//! }
//! ```
//!
//! # What to know
//!
//! - `$/cancelRequest`: drop a call, or use its `canceller()`. A handler learns of it from `context.cancelled()`, and
//!   what holds a responder from `responder.context().cancelled()`. The request still gets its
//!   reply.
//! - Progress of a call: `.on_progress(..)` asks for it, and takes each report. A handler sends reports with
//!   `context.send_progress(..)`, which fills the token in. A server that shows other work opens a
//!   [`Work`](lsp_3_17::server::Work) with `send_create_progress(..)`.
//! - [`mcp_runtime`] has the transports, the settings ([`Options`](mcp_runtime::Options)), and the errors with which
//!   requests are refused ([`RpcError`](mcp_runtime::RpcError)), so a program depends on it, too.
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
