//! The client that the conformance suite drives, and a tour of what a client can do.
//!
//! `conformance-client URL` holds one session with the server at that address. What to do in it the suite says in the
//! environment variable `MCP_CONFORMANCE_SCENARIO`; that is in `scenarios.rs`. The suite's servers may answer with an
//! older revision than the one that this client is typed against and asks for, and it goes on in that one.

mod scenarios;
mod user;

use std::error::Error;
use std::time::Duration;

use mcp_protocols::REVISIONS;
use mcp_protocols::mcp_2025_11_25::McpClient;
use mcp_protocols::types::*;
use mcp_runtime::Options;
use mcp_runtime::transport::http::{ClientOptions, HttpClient};

use user::User;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("usage: conformance-client URL")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_else(|_| "initialize".to_owned());

    // The suite's servers lose messages that they send before the stream is open, so the client waits long for it, also
    // on a busy machine.
    let patient = ClientOptions::default().listen_within(Duration::from_secs(10));
    let transport = HttpClient::new(&url)?.options(patient);
    let options = Options::new().revisions(REVISIONS).timeout(Duration::from_secs(20));
    let client = McpClient::with_options(transport, options);
    // Requests of the server are answered in parallel, until the session ends.
    tokio::spawn(client.incoming().serve(User));

    let offered = ClientCapabilities::new().elicitation(ElicitationCapability::new().form(Object::new()));
    let program = Implementation::new("conformance-client", env!("CARGO_PKG_VERSION"));
    let hello = InitializeParams::new("2025-11-25", offered, program);
    let (welcome, client) = client.initialize(hello).await?;
    println!("{} speaks {}", welcome.server_info.name, welcome.protocol_version);
    let client = client.send_initialized().await?;
    scenarios::play(&scenario, &client).await?;
    // Over HTTP this deletes the session.
    client.close().await?;
    Ok(())
}
