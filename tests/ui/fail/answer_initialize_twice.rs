//! `initialize` is answered, and then refused.

use mcp_protocols::mcp_2025_11_25::{AwaitingResult, McpError, McpServer};
use mcp_runtime::RpcError;
use mcp_protocols::types::InitializeResult;

pub async fn twice(server: McpServer<AwaitingResult>, result: InitializeResult) -> Result<(), McpError> {
    let answered = server.send_initialize_result(result).await?;
    server.refuse(RpcError::internal_error("not today")).await?;
    Ok(answered.abort())
}

fn main() {}
