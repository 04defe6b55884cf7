//! The server that the conformance suite talks to, and a tour of what a server can do.
//!
//! `conformance-server [--streams] [ADDRESS]` serves sessions over Streamable HTTP, on a free port of the loopback if no
//! address is given, and prints where; with `--streams` it answers every request with a stream. It is typed against
//! revision 2025-11-25 and speaks all of them. What the client may ask is in `handler.rs`, with a file for each subject:
//! tools, what they ask the user, resources, prompts, completions, the log. The names of the tools, resources and prompts
//! are the suite's.

mod completion;
mod content;
mod elicitation;
mod handler;
mod logging;
mod prompts;
mod resources;
mod tools;

use std::error::Error;
use std::time::Duration;

use mcp_protocols::mcp_2025_11_25::{Active, McpError, McpServer, Uninit};
use mcp_protocols::types::*;
use mcp_protocols::{REVISIONS, VERSIONS};
use mcp_runtime::transport::http::{HttpServer, ServerOptions};
use mcp_runtime::{Options, negotiate_version};
use tokio::net::TcpListener;

use handler::ServerHandler;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut options = ServerOptions::default();
    if arguments.next_if(|argument| argument == "--streams").is_some() {
        options = options.stream_after(Duration::ZERO);
    }
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());

    let server = HttpServer::new(options, |transport| async move {
        let session = McpServer::with_options(transport, Options::new().revisions(REVISIONS));
        if let Err(error) = serve(session).await {
            eprintln!("a session has ended: {error}");
        }
    });
    let listener = TcpListener::bind(address).await?;
    let router = axum::Router::new().route("/mcp", server.method_router());
    println!("http://{}/mcp", listener.local_addr()?);
    server.serve(listener, router, async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}

/// One session, from its first message to its end.
async fn serve(session: McpServer<Uninit>) -> Result<(), McpError> {
    // Requests of the client are answered in parallel with the handshake, as soon as it permits them.
    let serving = tokio::spawn(session.incoming().serve(ServerHandler::default()));
    let session = handshake(session).await;
    let _ = serving.await;
    session.map(drop)
}

/// The three messages in their order; no other compiles.
async fn handshake(session: McpServer<Uninit>) -> Result<McpServer<Active>, McpError> {
    let (params, session) = session.recv_initialize().await?;
    // The version that is answered governs the session from here on.
    let version = negotiate_version(&VERSIONS, &params.protocol_version);
    session.send_initialize_result(welcome(version)).await?.recv_initialized().await
}

fn welcome(version: &str) -> InitializeResult {
    let offered = ServerCapabilities::new()
        .tools(ToolsCapability::new())
        .resources(ResourcesCapability::new().subscribe(true))
        .prompts(PromptsCapability::new())
        .completions(Object::new())
        .logging(Object::new());
    let program = Implementation::new("conformance-server", env!("CARGO_PKG_VERSION"));
    InitializeResult::new(version, offered, program)
}
