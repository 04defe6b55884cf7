//! The smallest server of `rmcp`: the tool of the project's `examples/adder`, with the macros of the SDK. `build_times.sh`
//! builds both.

use std::error::Error;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::stdio;
use rmcp::{ServiceExt, schemars, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

struct Adder;

#[tool_router(server_handler)]
impl Adder {
    /// Adds two numbers
    #[tool]
    fn add(&self, Parameters(add): Parameters<Add>) -> String {
        (add.a + add.b).to_string()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    Adder.serve(stdio()).await?.waiting().await?;
    Ok(())
}
