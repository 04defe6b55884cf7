//! Violation C: a tool is called after the session was closed.

use mcp_protocols::mcp_2025_11_25::{Active, McpClient, McpError};
use mcp_protocols::types::CallToolParams;

pub async fn too_late(client: McpClient<Active>, params: CallToolParams) -> Result<(), McpError> {
    client.close().await?;
    client.call_tool(params).await?;
    Ok(())
}

fn main() {}
