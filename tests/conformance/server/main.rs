//! The server that the conformance suite talks to, and a tour of what a server can do.
//!
//! `conformance-server [--streams] [ADDRESS]` serves clients of every revision over Streamable HTTP, on a free port of the
//! loopback if no address is given, and prints where; with `--streams` it answers every request with a stream. There is a file
//! for each subject: tools, what they ask the client, resources, prompts. The names of the tools, resources and prompts are
//! the suite's.

mod asking;
mod content;
mod elicitation;
mod prompts;
mod resources;
mod tools;

use std::time::Duration;

use mcp_kit::transport::http::ServerOptions;
use mcp_kit::{Failure, Server};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut options = ServerOptions::new();
    if arguments.next_if(|argument| argument == "--streams").is_some() {
        options = options.stream_after(Duration::ZERO);
    }
    let listener = TcpListener::bind(arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned())).await?;

    let server = Server::new("conformance-server", env!("CARGO_PKG_VERSION"), resources::Counter::default());
    let http = prompts::add(resources::add(tools::add(server))).http(options)?;
    let router = axum::Router::new().route("/mcp", http.method_router());
    println!("http://{}/mcp", listener.local_addr()?);
    Ok(http.serve(listener, router, async { drop(tokio::signal::ctrl_c().await) }).await?)
}
