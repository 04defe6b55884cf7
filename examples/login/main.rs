//! A client that has its user log in where the server wants it: `login URL` lists the tools of the server at that address.

mod browser;

use std::error::Error;

use browser::Browser;
use mcp_auth::client::Authorization;
use mcp_protocols::eras::Connector;
use mcp_protocols::eras::types::{ClientCapabilities, Implementation, PaginatedParams};
use mcp_protocols::rounds::User;

/// A user whom servers do not ask anything.
struct Unasked;

impl User for Unasked {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("usage: login URL")?;
    let authorization =
        Authorization::of_user(&url, Browser::new().await?).client_name("the example `login`").build()?;
    let program = Implementation::new("login", env!("CARGO_PKG_VERSION"));
    let connector = Connector::new(program, ClientCapabilities::new(), Unasked);
    let client = connector.connect_to(&url, || authorization.transport()).await?;
    for tool in client.list_tools(PaginatedParams::new(client.meta())).await?.tools {
        println!("{}", tool.name);
    }
    client.close().await?;
    Ok(())
}
