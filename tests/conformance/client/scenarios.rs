//! What to do in a session that is ready, for each scenario of the suite. Whether it was done well the suite says.

use std::error::Error;

use mcp_protocols::mcp_2025_11_25::{Active, McpClient};
use mcp_protocols::types::CallToolParams;

pub(crate) async fn play(scenario: &str, client: &McpClient<Active>) -> Result<(), Box<dyn Error>> {
    match scenario {
        // The handshake is all there is.
        "initialize" => Ok(()),
        "tools_call" => {
            let sum = CallToolParams::new("add_numbers").with_argument("a", 2).with_argument("b", 3);
            call(client, sum).await
        }
        // The server asks the user before it answers; `user.rs` does.
        "elicitation-sep1034-client-defaults" => {
            call(client, CallToolParams::new("test_client_elicitation_defaults")).await
        }
        // The server hangs up before it answers. The transport comes back for the answer, after the time that the server
        // has asked for; the call notices nothing.
        "sse-retry" => call(client, CallToolParams::new("test_reconnection")).await,
        // What a tool takes is said in a schema, which is to come through unharmed.
        "json-schema-2020-12-preservation" => {
            let tools = client.list_tools(None).await?.tools;
            let tool = tools.into_iter().find(|tool| tool.name == "json_schema_2020_12_tool");
            let tool = tool.ok_or("the server does not have the tool")?;
            let schema = serde_json::to_value(tool.input_schema)?;
            call(client, CallToolParams::new("json_schema_echo").with_argument("schema", schema)).await
        }
        other => Err(format!("this client knows no scenario `{other}`").into()),
    }
}

/// Calls a tool, if the server has it, and shows what it says.
async fn call(client: &McpClient<Active>, params: CallToolParams) -> Result<(), Box<dyn Error>> {
    let name = params.name.clone();
    let tools = client.list_tools(None).await?.tools;
    if !tools.iter().any(|tool| tool.name == name) {
        return Err(format!("the server has no tool `{name}`").into());
    }
    let result = client.call_tool(params).await?;
    println!("{name} says: {}", result.first_text().unwrap_or("nothing"));
    Ok(())
}
