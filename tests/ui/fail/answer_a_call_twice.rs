//! A request is answered a second time.

use mcp_protocols::mcp_2025_11_25::McpError;
use mcp_runtime::call::Responder;
use mcp_protocols::types::CallToolResult;

pub fn twice(responder: Responder<CallToolResult>, result: CallToolResult) -> Result<(), McpError> {
    responder.respond(result.clone())?;
    responder.respond(result)
}

fn main() {}
