//! Tools: each kind of content, and what a tool may do while it runs: report, log, call back, let the client wait.

use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Asker, Context};
use mcp_runtime::{Error, RpcError};
use serde_json::{Value, json};

use crate::content::{audio, embedded, image, text, unknown};
use crate::handler::{ServerHandler, TTL};
use crate::{asking, elicitation, resources};

pub(crate) fn list() -> ListToolsResult {
    let plain = |name, description| Tool::new(name, ObjectSchema::new()).description(description);
    let with = |name, description, argument: &str| {
        let schema = ObjectSchema::new().required_property(argument, [("type", "string")]);
        Tool::new(name, schema).description(description)
    };
    let tools = [
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
        plain("test_input_required_result_elicitation", "Asks the user for a name"),
        plain("test_input_required_result_sampling", "Asks the client's model for a capital"),
        plain("test_input_required_result_list_roots", "Asks where it may work"),
        plain("test_input_required_result_request_state", "Has the user confirm, and goes on"),
        plain("test_input_required_result_tampered_state", "The same"),
        plain("test_input_required_result_multiple_inputs", "Asks everything at once"),
        plain("test_input_required_result_multi_round", "Asks one thing, and then another"),
        plain("test_input_required_result_capabilities", "Asks what the client can answer"),
        plain("test_missing_capability", "Asks the client's model, if there is one or not"),
        plain("test_streaming_elicitation", "Asks the user for a name"),
        plain("test_logging_tool", "Writes to the log"),
        plain("test_trigger_tool_change", "Says that the list of tools has changed"),
        plain("test_trigger_prompt_change", "Says that the list of prompts has changed"),
        Tool::new(REGION, region_schema()).description("Says where it is called for"),
    ];
    ListToolsResult::new(tools, TTL, CacheScope::Public)
}

/// The tool whose calls repeat an argument in a header.
pub(crate) const REGION: &str = "test_headers";

pub(crate) fn region_schema() -> ObjectSchema {
    ObjectSchema::new().required_property("region", [("type", "string"), ("x-mcp-header", "Region")])
}

pub(crate) async fn call(
    handler: &ServerHandler,
    asker: &Asker,
    params: &CallToolParams,
) -> Result<CallToolResult, RpcError> {
    let context = &asker.context();
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
        "test_tool_with_logging" => told(log(context).await),
        "test_tool_with_progress" => told(report(context).await),
        "test_reconnection" => {
            // The connection ends here. The call does not, and the client fetches the answer when it is back.
            context.release_connection();
            CallToolResult::text("Welcome back.")
        }
        "test_change_watched_resource" => {
            handler.watched.change();
            handler.changes.resource(resources::WATCHED);
            CallToolResult::text("It is another now.")
        }
        "test_sampling" => sample(asker, argument("prompt")).await,
        "test_elicitation" => elicitation::ask(asker, argument("message"), elicitation::contact()).await,
        "test_elicitation_sep1034_defaults" => {
            elicitation::ask(asker, "Is this right?", elicitation::defaults()).await
        }
        "test_elicitation_sep1330_enums" => {
            elicitation::ask(asker, "Which colours?", elicitation::choices()).await
        }
        "json_schema_2020_12_tool" => CallToolResult::text("It is on its way."),
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            asking::name(asker).await?
        }
        "test_input_required_result_sampling" => asking::capital(asker).await?,
        "test_input_required_result_list_roots" => asking::roots(asker).await?,
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            asking::confirmed(asker).await?
        }
        "test_input_required_result_multiple_inputs" => asking::all_together(asker).await?,
        "test_input_required_result_multi_round" => asking::in_turn(asker).await?,
        "test_input_required_result_capabilities" => asking::what_it_can(asker).await?,
        "test_missing_capability" => asking::capability(asker).await?,
        "test_logging_tool" => told(log(context).await),
        "test_trigger_tool_change" => {
            handler.changes.tools();
            CallToolResult::text("They have changed.")
        }
        "test_trigger_prompt_change" => {
            handler.changes.prompts();
            CallToolResult::text("They have changed.")
        }
        REGION => CallToolResult::text(argument("region")),
        other => return Err(unknown("tool", other)),
    })
}

/// What a tool says in the end that has told something meanwhile, or could not.
fn told(outcome: Result<(), Error>) -> CallToolResult {
    match outcome {
        Ok(()) => CallToolResult::text("Done."),
        Err(error) => CallToolResult::error(format!("something could not be told: {error}")),
    }
}

/// Nothing is sent if the client does not want to hear of it.
async fn log(context: &Context) -> Result<(), Error> {
    for message in ["the tool begins", "the tool works", "the tool is done"] {
        context.log(LoggingMessageParams::new(LoggingLevel::Info, message).logger("desk")).await?;
    }
    Ok(())
}

/// Nothing is sent if the client has not asked for reports.
async fn report(context: &Context) -> Result<(), Error> {
    for percent in [0, 50, 100] {
        // Under which token is filled in.
        context.send_progress(ProgressParams::new(0, percent).total(100)).await?;
    }
    Ok(())
}

/// A question to the client's model, in the middle of the call. A client that has announced no model is not asked.
async fn sample(asker: &Asker, prompt: &str) -> CallToolResult {
    let question = SamplingMessage::new(Role::User, TextContent::new(prompt));
    match asker.create_message(CreateMessageParams::new([question], 100)).await {
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
