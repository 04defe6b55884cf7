//! The client that the conformance suite drives, and a tour of what a client can do.
//!
//! `conformance-client URL` connects to the server at that address, of whichever revision. What to do then the suite says in
//! the environment variable `MCP_CONFORMANCE_SCENARIO`; that is in `scenarios.rs`.

mod login;
mod scenarios;
mod user;

use std::error::Error;
use std::time::Duration;

use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Connector, Era};
use mcp_runtime::Options;
use mcp_runtime::transport::http::{ClientOptions, HttpClient};

use user::Proposed;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("usage: conformance-client URL")?;
    let variable = |name: &str| std::env::var(format!("MCP_CONFORMANCE_{name}"));
    let scenario = variable("SCENARIO").unwrap_or_else(|_| "initialize".to_owned());

    let offered = ClientCapabilities::new().elicitation(ElicitationCapability::new().form(Object::new()));
    let program = Implementation::new("conformance-client", env!("CARGO_PKG_VERSION"));
    let options = Options::new().timeout(Duration::from_secs(20));
    let mut connector = Connector::new(program, offered, Proposed).options(options);
    // The suite's servers of the older revisions do not expect to be asked what they speak.
    if variable("PROTOCOL_VERSION").as_deref() != Ok("2026-07-28") {
        connector = connector.era(Era::Handshake);
    }
    // Those servers also lose messages that they send before the stream is open, so the client waits long for it, also on a
    // busy machine.
    let patient = ClientOptions::default().listen_within(Duration::from_secs(10));
    let authorization = match scenario.starts_with("auth/") {
        true => Some(login::authorization(&url, &scenario)?),
        false => None,
    };
    let connect = || {
        let transport = match &authorization {
            Some(authorization) => authorization.transport(),
            None => HttpClient::new(&url),
        };
        transport.map(|transport| transport.options(patient.clone()))
    };
    let client = connector.connect_to(&url, connect).await?;
    println!("{} speaks {}", client.offer().server_info.name, client.version());
    scenarios::play(&scenario, &client).await?;
    // Over HTTP this deletes the session, if there is one.
    client.close().await?;
    Ok(())
}
