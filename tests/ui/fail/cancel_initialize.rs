//! `initialize` cannot be cancelled: neither form of it returns a canceller.

use mcp_protocols::mcp_2025_11_25::{McpClient, Uninit};
use mcp_protocols::types::InitializeParams;

pub fn in_steps(client: McpClient<Uninit>, params: InitializeParams) {
    client.send_initialize(params).canceller();
}

pub fn in_one(client: McpClient<Uninit>, params: InitializeParams) {
    client.initialize(params).canceller();
}

fn main() {}
