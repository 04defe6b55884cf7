//! The server that the conformance suite talks to, and a tour of what a server can do.
//!
//! `conformance-server [--streams] [ADDRESS]` serves clients of every revision over Streamable HTTP, on a free port of the
//! loopback if no address is given, and prints where; with `--streams` it answers every request with a stream. What the
//! client may ask is in `handler.rs`, with a file for each subject: tools, what they ask the client, resources, prompts,
//! completions. The names of the tools, resources and prompts are the suite's.

mod asking;
mod completion;
mod content;
mod elicitation;
mod handler;
mod prompts;
mod resources;
mod tools;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocols::eras::{Changes, Server};
use mcp_runtime::transport::http::{HttpServer, ParamHeaders, ServerOptions};
use tokio::net::TcpListener;

use handler::ServerHandler;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let schema = serde_json::to_value(tools::region_schema())?;
    let repeated = Arc::new(ParamHeaders::of_schema(&schema)?);
    let mut options =
        ServerOptions::new().param_headers(move |tool| (tool == tools::REGION).then(|| repeated.clone()));
    if arguments.next_if(|argument| argument == "--streams").is_some() {
        options = options.stream_after(Duration::ZERO);
    }
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());

    let changes = Changes::new();
    let server = Server::new(ServerHandler::new(changes.clone())).changes(changes);
    let http = HttpServer::new(options, move |transport| {
        let server = server.clone();
        async move {
            if let Err(error) = server.serve(transport).await {
                eprintln!("a session has ended: {error}");
            }
        }
    });
    let listener = TcpListener::bind(address).await?;
    let router = axum::Router::new().route("/mcp", http.method_router());
    println!("http://{}/mcp", listener.local_addr()?);
    http.serve(listener, router, async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}
