//! The server is given a type that is not a tool.

use mcp_kit::Server;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

fn main() {
    drop(Server::new("adder", "1", ()).tool::<Add>());
}
