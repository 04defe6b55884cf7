//! Violation A: a tool is called before the session was initialized.

use mcp_protocols::mcp_2025_11_25::{McpClient, McpError};
use mcp_runtime::Transport;
use mcp_protocols::types::CallToolParams;

pub async fn premature(transport: impl Transport, params: CallToolParams) -> Result<(), McpError> {
    let client = McpClient::new(transport);
    let _result = client.call_tool(params).await?;
    Ok(())
}

fn main() {}
