//! Tools: each kind of content, and what a tool may do while it runs: report, log, call back, let the client wait.

use mcp_protocols::mcp_2025_11_25::McpError;
use mcp_protocols::mcp_2025_11_25::server::Context;
use mcp_protocols::types::*;
use mcp_runtime::RpcError;
use serde_json::{Value, json};

use crate::content::{audio, embedded, image, text, unknown};
use crate::elicitation;
use crate::handler::ServerHandler;

pub(crate) fn list() -> ListToolsResult {
    let plain = |name, description| Tool::new(name, ObjectSchema::new()).description(description);
    let with = |name, description, argument: &str| {
        let schema = ObjectSchema::new().required_property(argument, [("type", "string")]);
        Tool::new(name, schema).description(description)
    };
    ListToolsResult::new([
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
        Tool::new("json_schema_2020_12_tool", parcel_schema())
            .description("Sends a parcel; some arguments need others"),
    ])
}

pub(crate) async fn call(
    handler: &ServerHandler,
    context: &Context,
    params: &CallToolParams,
) -> Result<CallToolResult, RpcError> {
    let argument = |name| params.argument(name).and_then(Value::as_str).unwrap_or_default();
    Ok(match params.name.as_str() {
        "test_simple_text" => CallToolResult::text("A tool has spoken."),
        "test_image_content" => CallToolResult::new([image()]),
        "test_audio_content" => CallToolResult::new([audio()]),
        "test_embedded_resource" => {
            CallToolResult::new([embedded("test://embedded", "text/plain", "A page.")])
        }
        "test_multiple_content_types" => {
            let record = embedded("test://record", "application/json", r#"{"pages":1}"#);
            CallToolResult::new([text("A picture and a record:"), image(), record])
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
        "test_sampling" => sample(context, argument("prompt")).await,
        "test_elicitation" => elicitation::ask(context, argument("message"), elicitation::contact()).await,
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
        context.send_progress(ProgressParams::new(0, percent).total(100)).await?;
    }
    Ok(())
}

/// A request of this side, inside the client's. A client that has announced no model is not asked.
async fn sample(context: &Context, prompt: &str) -> CallToolResult {
    let question = SamplingMessage::new(Role::User, TextContent::new(prompt));
    match context.peer().create_message(CreateMessageParams::new([question], 100)).await {
        Ok(answer) => {
            let said = answer.content.first_text().unwrap_or("nothing");
            CallToolResult::text(format!("the model `{}` says: {said}", answer.model))
        }
        Err(error) => CallToolResult::error(format!("the model was not asked: {error}")),
    }
}

/// A schema with what the draft of 2020-12 has: definitions and references, and arguments that depend on others.
fn parcel_schema() -> ObjectSchema {
    let needs = |argument: &str| json!({ "required": [argument] });
    let keywords = json!({
        "$defs": {
            "address": {
                "$anchor": "address",
                "type": "object",
                "properties": { "street": { "type": "string" }, "town": { "type": "string" } },
            },
        },
        "allOf": [{ "anyOf": [needs("home"), needs("work")] }],
        "if": needs("insured"),
        "then": needs("value"),
        "else": { "properties": { "value": false } },
        "additionalProperties": false,
    });
    let mut schema = ObjectSchema::new()
        .schema("https://json-schema.org/draft/2020-12/schema")
        .property("home", [("$ref", "#/$defs/address")])
        .property("work", [("$ref", "#/$defs/address")])
        .property("insured", [("const", true)])
        .property("value", [("type", json!("integer")), ("minimum", json!(1))]);
    schema.rest.extend(keywords.as_object().cloned().unwrap_or_default());
    schema
}
