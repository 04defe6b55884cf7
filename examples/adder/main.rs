//! The smallest MCP server: one tool, for clients of every revision. `cargo run --example adder --features kit` serves the
//! standard streams; a client starts it.

use mcp_kit::{Failure, Server};
use schemars::JsonSchema;
use serde::Deserialize;

/// Adds two numbers
#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

fn main() -> Result<(), Failure> {
    Server::new("adder", "1.0.0", ())
        .tool_fn(|add: Add, _| async move { Ok((add.a + add.b).to_string()) })
        .run()
}
