//! A batch holds calls and notifications; a step such as `initialize` stands in none.

use mcp_protocols::mcp_2025_11_25::{Active, McpClient, Uninit};
use mcp_runtime::batch;
use mcp_protocols::types::InitializeParams;

pub async fn first(client: McpClient<Uninit>, other: McpClient<Active>, params: InitializeParams) {
    let _ = batch((client.initialize(params), other.ping())).await;
}

fn main() {}
