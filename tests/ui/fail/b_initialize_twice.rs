//! Violation B: `initialize` is sent a second time.

use mcp_protocols::mcp_2025_11_25::{McpClient, McpError};
use mcp_runtime::Transport;
use mcp_protocols::types::InitializeParams;

pub async fn twice(transport: impl Transport, params: InitializeParams) -> Result<(), McpError> {
    let client = McpClient::new(transport);
    let client = client.send_initialize(params.clone()).await?;
    let client = client.send_initialize(params).await?;
    Ok(client.abort())
}

fn main() {}
