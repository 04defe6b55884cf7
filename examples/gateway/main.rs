//! One MCP server in front of others: `cargo run --example gateway --features gateway -- SERVERS.json` serves the
//! standard streams, and with `127.0.0.1:8080` behind it HTTP at `/mcp`. The file lists the servers behind as MCP
//! clients do: `{ "mcpServers": { "notes": { "command": "notes", "args": [] }, "search": { "url": "http://…/mcp" } } }`.
//!
//! A tool `add` of the server `notes` is the tool `notes_add` of the gateway. A page of a list has a page of each server. A
//! server that ends is started again; one that cannot be reached does not hold up what the others have. One that does not
//! answer what any of them may have is named after ten seconds, or after those of its `"timeout"`.

mod behind;
mod server;

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_kit::prelude::*;
use serde::Deserialize;
use tokio::net::TcpListener;

use behind::{Behind, Entry};

/// What the file says.
#[derive(Deserialize)]
struct Servers {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, Entry>,
}

/// What the gateway knows.
struct Gateway {
    behind: Vec<Arc<Behind>>,
    changes: Changes,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("name the file with the servers")?;
    let Servers { servers } = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let changes = Changes::new();
    let start = |(name, entry)| Behind::start(name, entry, changes.clone());
    let behind = servers.into_iter().map(start).collect();
    let server =
        Server::new("gateway", env!("CARGO_PKG_VERSION"), Gateway { behind, changes: changes.clone() })
            .with_changes(changes.clone())
            .tools::<Gateway>()
            .prompts::<Gateway>()
            .resources::<Gateway>();
    let Some(address) = arguments.next() else { return server.serve(stdio()).await };
    let listener = TcpListener::bind(address).await?;
    println!("serving http://{}/mcp", listener.local_addr()?);
    let http = server.http(ServerOptions::new())?;
    let router = axum::Router::new().route("/mcp", http.method_router());
    let stop = async move { tokio::signal::ctrl_c().await.map_or((), |()| changes.end()) };
    Ok(http.serve(listener, router, stop).await?)
}
