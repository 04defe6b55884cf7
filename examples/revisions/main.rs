//! A server for every revision of MCP that has a handshake: `cargo run --example revisions --features http`.
//!
//! Without arguments it serves its standard streams, so that any client can start it; `-- serve 127.0.0.1:8080` serves
//! HTTP. Every tool shows one thing that a server can do: send progress, log, ask the model, ask the user, be
//! cancelled, notify of a change.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod server;

use std::error::Error;

use mcp_runtime::transport::http::{HttpServer, ServerOptions};
use mcp_runtime::{Options, transport};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => Ok(server::serve(transport::stdio(), options()).await?),
        ["serve", address] => serve(TcpListener::bind(address).await?).await,
        other => Err(format!("unknown arguments {other:?}: try none, or `serve ADDRESS`").into()),
    }
}

/// Prints reports on the standard error output; the session continues.
fn options() -> Options {
    Options::new().on_report(|report| eprintln!("{report}"))
}

/// Serves sessions until Ctrl+C.
async fn serve(listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let server = HttpServer::new(ServerOptions::default(), |transport| async move {
        if let Err(error) = server::serve(transport, options()).await {
            eprintln!("a session has ended: {error}");
        }
    });
    let router = axum::Router::new().route("/mcp", server.method_router());
    println!("serving http://{}/mcp", listener.local_addr()?);
    server.serve(listener, router, async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}
