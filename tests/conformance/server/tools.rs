//! Tools: each kind of content, and what a tool may do while it runs: report, log, call back, let the client wait.

use mcp_protocols::mcp_2025_11_25::McpError;
use mcp_protocols::mcp_2025_11_25::server::Context;
use mcp_protocols::types::{CallToolParams, CallToolResult, ListToolsResult};
use mcp_runtime::RpcError;
use serde_json::{Value, json};

use crate::content::{audio, embedded, image, read, text, unknown};
use crate::elicitation;
use crate::handler::ServerHandler;

pub(crate) fn list() -> ListToolsResult {
    let plain = |name, description| tool(name, description, json!({ "type": "object" }));
    let with = |name, description, argument: &str| {
        let properties = json!({ argument: { "type": "string" } });
        let schema = json!({ "type": "object", "properties": properties, "required": [argument] });
        tool(name, description, schema)
    };
    read(json!({ "tools": [
        plain("test_simple_text", "Says something"),
        plain("test_image_content", "Shows a picture"),
        plain("test_audio_content", "Plays silence"),
        plain("test_embedded_resource", "Brings a resource along"),
        plain("test_multiple_content_types", "Says, shows and brings along"),
        plain("test_error_handling", "Fails"),
        plain("test_tool_with_logging", "Writes to the log while it works"),
        plain("test_tool_with_progress", "Tells how far it is"),
        plain("test_reconnection", "Hangs up and has the client come back for the answer"),
        plain("test_change_watched_resource", "Changes what can be watched"),
        with("test_sampling", "Asks the client's model", "prompt"),
        with("test_elicitation", "Asks the user", "message"),
        plain("test_elicitation_sep1034_defaults", "Asks the user, and proposes answers"),
        plain("test_elicitation_sep1330_enums", "Has the user choose"),
        tool("json_schema_2020_12_tool", "Sends a parcel; some arguments need others", parcel_schema()),
    ] }))
}

fn tool(name: &str, description: &str, schema: Value) -> Value {
    json!({ "name": name, "description": description, "inputSchema": schema })
}

pub(crate) async fn call(
    handler: &ServerHandler,
    context: &Context,
    params: &CallToolParams,
) -> Result<CallToolResult, RpcError> {
    let argument =
        |name: &str| params.arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(match params.name.as_str() {
        "test_simple_text" => CallToolResult::text("A tool has spoken."),
        "test_image_content" => result(&[image()]),
        "test_audio_content" => result(&[audio()]),
        "test_embedded_resource" => result(&[embedded("test://embedded", "text/plain", "A page.")]),
        "test_multiple_content_types" => {
            let record = embedded("test://record", "application/json", r#"{"pages":1}"#);
            result(&[text("A picture and a record:"), image(), record])
        }
        // That a tool fails is a result. An error as the reply means that it was not run.
        "test_error_handling" => CallToolResult::error("This tool fails, and that is what it is for."),
        "test_tool_with_logging" => told(log(handler, context).await),
        "test_tool_with_progress" => told(report(context).await),
        "test_reconnection" => {
            // The connection ends here. The call does not, and the client fetches the answer when it is back.
            context.release_connection();
            CallToolResult::text("Welcome back.")
        }
        "test_change_watched_resource" => {
            handler.watched.change();
            CallToolResult::text("It is another now.")
        }
        "test_sampling" => sample(context, &argument("prompt")).await,
        "test_elicitation" => elicitation::ask(context, &argument("message"), elicitation::contact()).await,
        "test_elicitation_sep1034_defaults" => {
            elicitation::ask(context, "Is this right?", elicitation::defaults()).await
        }
        "test_elicitation_sep1330_enums" => {
            elicitation::ask(context, "Which colours?", elicitation::choices()).await
        }
        "json_schema_2020_12_tool" => CallToolResult::text("It is on its way."),
        other => return Err(unknown("tool", other)),
    })
}

fn result(content: &[Value]) -> CallToolResult {
    read(json!({ "content": content }))
}

/// What a tool says in the end that has told something meanwhile, or could not.
fn told(outcome: Result<(), McpError>) -> CallToolResult {
    match outcome {
        Ok(()) => CallToolResult::text("Done."),
        Err(error) => CallToolResult::error(format!("something could not be told: {error}")),
    }
}

async fn log(handler: &ServerHandler, context: &Context) -> Result<(), McpError> {
    handler.log.info(context, "the tool begins").await?;
    handler.log.info(context, "the tool works").await?;
    handler.log.info(context, "the tool is done").await
}

/// Nothing is sent if the client has not asked for reports.
async fn report(context: &Context) -> Result<(), McpError> {
    for percent in [0, 50, 100] {
        // Under which token is filled in.
        let progress = json!({ "progressToken": 0, "progress": percent, "total": 100 });
        context.send_progress(read(progress)).await?;
    }
    Ok(())
}

/// A request of this side, inside the client's. A client that has announced no model is not asked.
async fn sample(context: &Context, prompt: &str) -> CallToolResult {
    let question = json!({
        "messages": [{ "role": "user", "content": text(prompt) }],
        "maxTokens": 100,
    });
    match context.peer().create_message(read(question)).await {
        Ok(answer) => {
            let said = answer.first_text().unwrap_or("nothing");
            CallToolResult::text(format!("the model `{}` says: {said}", answer.model))
        }
        Err(error) => CallToolResult::error(format!("the model was not asked: {error}")),
    }
}

/// A schema with what the draft of 2020-12 has: definitions and references, and arguments that depend on others.
fn parcel_schema() -> Value {
    let needs = |argument: &str| json!({ "required": [argument] });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "address",
                "type": "object",
                "properties": { "street": { "type": "string" }, "town": { "type": "string" } },
            },
        },
        "properties": {
            "home": { "$ref": "#/$defs/address" },
            "work": { "$ref": "#/$defs/address" },
            "insured": { "const": true },
            "value": { "type": "integer", "minimum": 1 },
        },
        "allOf": [{ "anyOf": [needs("home"), needs("work")] }],
        "if": needs("insured"),
        "then": needs("value"),
        "else": { "properties": { "value": false } },
        "additionalProperties": false,
    })
}
