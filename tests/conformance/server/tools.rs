//! Tools: each kind of content, and what a tool may do while it runs: report, log, call back, let the client wait.

use std::borrow::Cow;

use mcp_kit::types::LoggingLevel;
use mcp_kit::{Client, Failure, Model, Resource, Roots, Server, User};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::content::{audio, embedded, image, text};
use crate::resources::{Counter, Watched};
use crate::{asking, elicitation};

/// A tool without arguments: what it says, or does with its client.
macro_rules! tools {
    ($server:expr; $($name:literal: $description:literal, |$counter:ident, $client:ident: $kind:ty| $does:expr;)*) => {
        $server $(.tool_named($name, $description, |(), $counter, $client: $kind| async move { $does }))*
    };
}

pub(crate) fn add(server: Server<Counter>) -> Server<Counter> {
    let server = tools! { server;
        "test_simple_text": "Says something", |_state, _client: Client| Ok("A tool has spoken.");
        "test_image_content": "Shows a picture", |_state, _client: Client| Ok(image());
        "test_audio_content": "Plays silence", |_state, _client: Client| Ok(audio());
        "test_embedded_resource": "Brings a resource along",
            |_state, _client: Client| Ok(embedded("test://embedded", "text/plain", "A page."));
        "test_multiple_content_types": "Says, shows and brings along", |_state, _client: Client| {
            let record = embedded("test://record", "application/json", r#"{"pages":1}"#);
            Ok(vec![text("A picture and a record:"), image(), record])
        };
        // That a tool fails is a result. An error as the reply means that it was not run.
        "test_error_handling": "Fails", |_state, _client: Client| Err::<(), _>("This tool fails.".into());
        "test_tool_with_logging": "Writes to the log while it works", |_state, client: Client| log(&client).await;
        "test_logging_tool": "Writes to the log", |_state, client: Client| log(&client).await;
        "test_tool_with_progress": "Tells how far it is", |_state, client: Client| {
            for percent in [0, 50, 100] {
                client.progress(percent, 100).await?;
            }
            Ok("Done.")
        };
        "test_reconnection": "Hangs up and has the client come back for the answer", |_state, client: Client| {
            // The connection ends here. The call does not, and the client fetches the answer when it is back.
            client.context().release_connection();
            Ok("Welcome back.")
        };
        "test_change_watched_resource": "Changes what can be watched", |counter, client: Client| {
            counter.change();
            client.changes().resource(Watched::URI);
            Ok("It is another now.")
        };
        "test_trigger_tool_change": "Says that the list of tools has changed", |_state, client: Client| {
            client.changes().tools();
            Ok("They have changed.")
        };
        "test_trigger_prompt_change": "Says that the list of prompts has changed", |_state, client: Client| {
            client.changes().prompts();
            Ok("They have changed.")
        };
        "test_elicitation_sep1034_defaults": "Asks the user, and proposes answers", |_state, client: Client<User>|
            elicitation::ask(&client, "Is this right?", elicitation::defaults()).await;
        "test_elicitation_sep1330_enums": "Has the user choose", |_state, client: Client<User>|
            elicitation::ask(&client, "Which colours?", elicitation::choices()).await;
        "test_input_required_result_elicitation": "Asks the user for a name",
            |_state, client: Client<User>| asking::name(client.asker()).await;
        "test_streaming_elicitation": "Asks the user for a name",
            |_state, client: Client<User>| asking::name(client.asker()).await;
        "test_input_required_result_sampling": "Asks the client's model for a capital",
            |_state, client: Client<Model>| asking::capital(client.asker()).await;
        "test_input_required_result_list_roots": "Asks where it may work",
            |_state, client: Client<Roots>| asking::roots(client.asker()).await;
        "test_input_required_result_request_state": "Has the user confirm, and goes on",
            |_state, client: Client<User>| asking::confirmed(client.asker()).await;
        "test_input_required_result_tampered_state": "The same",
            |_state, client: Client<User>| asking::confirmed(client.asker()).await;
        "test_input_required_result_multiple_inputs": "Asks everything at once",
            |_state, client: Client<(User, Model, Roots)>| asking::all_together(client.asker()).await;
        "test_input_required_result_multi_round": "Asks one thing, and then another",
            |_state, client: Client<User>| asking::in_turn(client.asker()).await;
        "test_input_required_result_capabilities": "Asks what the client can answer",
            |_state, client: Client| asking::what_it_can(&client).await;
        "test_missing_capability": "Asks the client's model, if there is one or not",
            |_state, client: Client<Model>| client.sample("Generate a greeting", 50).await;
    };
    server
        .tool_named(
            "test_sampling",
            "Asks the client's model",
            |asked: Sampling, _, client: Client<Model>| async move { client.sample(asked.prompt, 100).await },
        )
        .tool_named(
            "test_elicitation",
            "Asks the user",
            |asked: Question, _, client: Client<User>| async move {
                elicitation::ask(&client, &asked.message, elicitation::contact()).await
            },
        )
        .tool_named("test_headers", "Says where it is called for", |call: Call, _, _: Client| async move {
            Ok(call.region)
        })
        .tool_named("json_schema_2020_12_tool", "Sends a parcel", |_: Parcel, _, _: Client| async {
            Ok("It is on its way.")
        })
}

/// Nothing is sent if the client does not want to hear of it.
async fn log(client: &Client) -> Result<&'static str, Failure> {
    for message in ["the tool begins", "the tool works", "the tool is done"] {
        client.log(LoggingLevel::Info, message).await?;
    }
    Ok("Done.")
}

#[derive(Deserialize, JsonSchema)]
struct Sampling {
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    message: String,
}

/// Calls repeat the argument in a header.
#[derive(Deserialize, JsonSchema)]
struct Call {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

/// What has a schema with all that the draft of 2020-12 has: definitions and references, and arguments that depend on others.
#[derive(Deserialize)]
struct Parcel {}

impl JsonSchema for Parcel {
    fn schema_name() -> Cow<'static, str> {
        "Parcel".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {
                "address": {
                    "$anchor": "address",
                    "type": "object",
                    "properties": { "street": { "type": "string" }, "town": { "type": "string" } },
                },
            },
            "type": "object",
            "properties": {
                "home": { "$ref": "#/$defs/address" },
                "work": { "$ref": "#/$defs/address" },
                "insured": { "const": true },
                "value": { "type": "integer", "minimum": 1 },
            },
            "allOf": [{ "anyOf": [{ "required": ["home"] }, { "required": ["work"] }] }],
            "if": { "required": ["insured"] },
            "then": { "required": ["value"] },
            "else": { "properties": { "value": false } },
            "additionalProperties": false,
        })
    }
}
