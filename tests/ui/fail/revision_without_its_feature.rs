//! The types of a revision whose feature is off: rustc says which feature to turn on.

use mcp_protocols::mcp_2025_03_26::McpClient;

pub fn begin(transport: impl mcp_runtime::Transport) {
    let _ = McpClient::new(transport);
}

fn main() {}
