//! Violation D: a server reports changed tools before the client has sent `initialized`.

use mcp_protocols::mcp_2025_11_25::{AwaitingResult, McpError, McpServer};
use mcp_protocols::types::InitializeResult;

pub async fn hasty(server: McpServer<AwaitingResult>, result: InitializeResult) -> Result<(), McpError> {
    let server = server.send_initialize_result(result).await?;
    server.send_tools_list_changed().await
}

fn main() {}
