//! What to do with a server, for each scenario of the suite. Whether it was done well the suite says.

use std::error::Error;

use mcp_protocols::eras::Client;
use mcp_protocols::eras::types::*;
use serde::Deserialize;

use crate::user::Proposed;

pub(crate) async fn play(scenario: &str, client: &Client<Proposed>) -> Result<(), Box<dyn Error>> {
    let params = |tool: &str| CallToolParams::new(tool, client.meta());
    match scenario {
        // To connect is all there is: the handshake, or a request that asks what the server speaks.
        "initialize" | "request-metadata" => Ok(()),
        "tools_call" => call(client, params("add_numbers").with_argument("a", 2).with_argument("b", 3)).await,
        // The server asks the user before it answers; `user.rs` does.
        "elicitation-sep1034-client-defaults" => {
            call(client, params("test_client_elicitation_defaults")).await
        }
        // The server hangs up before it answers. The transport comes back for the answer, after the time that the server
        // has asked for; the call notices nothing.
        "sse-retry" => call(client, params("test_reconnection")).await,
        // What a tool takes is said in a schema, which is to come through unharmed.
        "json-schema-2020-12-preservation" => {
            let tools = list_tools(client).await?;
            let tool = tools.into_iter().find(|tool| tool.name == "json_schema_2020_12_tool");
            let tool = tool.ok_or("the server does not have the tool")?;
            let schema = serde_json::to_value(tool.input_schema)?;
            call(client, params("json_schema_echo").with_argument("schema", schema)).await
        }
        // What a schema refers to is not fetched.
        "json-schema-ref-no-deref" => list_tools(client).await.map(drop),
        // The library sends the state back, and makes each round a request of its own.
        "sep-2322-client-request-state" => {
            for tool in [
                "test_mrtr_echo_state",
                "test_mrtr_unrelated",
                "test_mrtr_no_state",
                "test_mrtr_no_result_type",
            ] {
                call(client, params(tool)).await?;
            }
            Ok(())
        }
        // The library writes the headers.
        "http-standard-headers" => {
            for tool in list_tools(client).await? {
                client.call_tool(params(&tool.name)).await?;
            }
            for resource in client.list_resources(PaginatedParams::new(client.meta())).await?.resources {
                client.read_resource(ReadResourceParams::new(resource.uri, client.meta())).await?;
            }
            for prompt in client.list_prompts(PaginatedParams::new(client.meta())).await?.prompts {
                client.get_prompt(GetPromptParams::new(prompt.name, client.meta())).await?;
            }
            Ok(())
        }
        // It learns from the list of tools which arguments are repeated in headers.
        "http-custom-headers" => {
            list_tools(client).await?;
            for call in to_call()? {
                client.call_tool(params(&call.name).arguments(call.arguments)).await?;
            }
            Ok(())
        }
        // A tool whose schema breaks the rules for headers is not in the list.
        "http-invalid-tool-headers" => {
            for tool in list_tools(client).await? {
                client.call_tool(params(&tool.name).with_argument("region", "here")).await?;
            }
            Ok(())
        }
        // The transport gets a token, and another one when the server wants more of it.
        scenario if scenario.starts_with("auth/") => call(client, params("test-tool")).await,
        other => Err(format!("this client knows no scenario `{other}`").into()),
    }
}

/// What the suite wants to be called.
#[derive(Deserialize)]
struct ToCall {
    name: String,
    arguments: Object,
}

fn to_call() -> Result<Vec<ToCall>, Box<dyn Error>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Context {
        tool_calls: Vec<ToCall>,
    }

    let context: Context = serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT")?)?;
    Ok(context.tool_calls)
}

async fn list_tools(client: &Client<Proposed>) -> Result<Vec<Tool>, Box<dyn Error>> {
    Ok(client.list_tools(PaginatedParams::new(client.meta())).await?.tools)
}

/// Calls a tool, if the server has it, and shows what it says.
async fn call(client: &Client<Proposed>, params: CallToolParams) -> Result<(), Box<dyn Error>> {
    let name = params.name.clone();
    if !list_tools(client).await?.iter().any(|tool| tool.name == name) {
        return Err(format!("the server has no tool `{name}`").into());
    }
    let result = client.call_tool(params).await?;
    println!("{name} says: {}", result.first_text().unwrap_or("nothing"));
    Ok(())
}
