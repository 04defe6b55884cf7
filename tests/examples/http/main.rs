//! MCP over Streamable HTTP: `cargo run --example http`.
//!
//! Without arguments it starts a server on a free port of the loopback and talks to it. `-- serve 127.0.0.1:8080` only
//! serves, `-- call http://127.0.0.1:8080/mcp` only talks, to any other server, too. The code of the session is that of
//! the quickstart: it does not know over what it runs.

#[path = "../quickstart/server.rs"]
#[allow(dead_code, reason = "the quickstart serves its standard streams, too")]
mod server;

use std::error::Error;

use mcp_protocols::mcp_2025_03_26::McpServer;
use mcp_runtime::transport::http::{HttpServer, ServerOptions};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", address] => serve(TcpListener::bind(address).await?).await,
        other => Err(format!("unknown arguments {other:?}: try `serve ADDRESS`").into()),
    }
}

/// Serves sessions until Ctrl+C.
async fn serve(listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let server = HttpServer::new(ServerOptions::default(), |transport| async move {
        // Each session of each client is a value of its own, in its own state.
        if let Err(error) = server::serve_session(McpServer::new(transport)).await {
            eprintln!("a session has ended: {error}");
        }
    });
    let router = axum::Router::new().route("/mcp", server.method_router());
    println!("serving http://{}/mcp", listener.local_addr()?);
    server.serve(listener, router, async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}
