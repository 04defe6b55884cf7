//! The session is closed while a call that borrows it runs.

use mcp_protocols::mcp_2025_11_25::{Active, McpClient, McpError};
use mcp_protocols::types::CallToolParams;

pub async fn interrupted(client: McpClient<Active>, params: CallToolParams) -> Result<(), McpError> {
    let call = client.call_tool(params);
    client.close().await?;
    call.await?;
    Ok(())
}

fn main() {}
