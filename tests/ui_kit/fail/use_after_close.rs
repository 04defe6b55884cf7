//! A client is used after it was closed.

use mcp_kit::Failure;
use mcp_kit::types::PaginatedParams;
use mcp_protocols::eras::Client;
use mcp_protocols::rounds::User;

async fn leave<U: User + 'static>(client: Client<U>) -> Result<(), Failure> {
    client.close().await?;
    client.list_tools(PaginatedParams::new(client.meta())).await?;
    Ok(())
}

fn main() {}
