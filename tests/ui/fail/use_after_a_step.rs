//! A state is used after the session has gone on from it.

use mcp_protocols::mcp_2025_11_25::{AwaitingNotif, McpClient, McpError};

pub async fn stale(client: McpClient<AwaitingNotif>) -> Result<(), McpError> {
    let active = client.send_initialized().await?;
    client.ping().await?;
    active.close().await?;
    Ok(())
}

fn main() {}
