//! A session cannot be had twice.

use mcp_protocols::mcp_2025_11_25::{Active, McpClient};

pub fn doubled(client: McpClient<Active>) -> (McpClient<Active>, McpClient<Active>) {
    (client.clone(), client)
}

fn main() {}
