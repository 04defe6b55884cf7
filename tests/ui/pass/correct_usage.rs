//! The flow of the design note's sketch: the same names in the same order, and `?` throughout.

use mcp_protocols::mcp_2025_11_25::{McpClient, McpError};
use mcp_protocols::types::{
    CallToolParams, CallToolResult, InitializeParams, InitializeResult, ReadResourceResult, ResourceParams,
};
use mcp_runtime::Transport;

/// What the server said on the way.
pub(crate) type Said = (InitializeResult, CallToolResult, ReadResourceResult);

pub(crate) async fn correct_usage(
    transport: impl Transport,
    init_params: InitializeParams,
    tool_params: CallToolParams,
    resource_params: ResourceParams,
) -> Result<Said, McpError> {
    let client = McpClient::new(transport);
    let client = client.send_initialize(init_params).await?;
    let (result, client) = client.recv_initialize_result().await?;
    let client = client.send_initialized().await?;
    let tool_result = client.call_tool(tool_params).await?;
    let resource = client.read_resource(resource_params).await?;
    client.close();
    Ok((result, tool_result, resource))
}
