//! The shapes of `protocols/mcp/payloads`, as Rust types, compared with recorded traffic: what is read is written again
//! member for member.

// What is missing among the test's own files fails the test, wherever it is noticed.
#![allow(clippy::expect_used)]

use serde_json::{Value, json};

use crate::payloads::{Carried, Method, Pass, check_traffic, lost, through};

mod shaped {
    mcp_runtime::protocol!("protocols/mcp-payloads.session");
}

use shaped::types::*;

fn carried(pass: Option<Pass>) -> Carried {
    Carried { name: "", pass }
}

macro_rules! methods {
    ($($method:literal ($($params:ident)?) $(-> ($($result:ident)?))?;)+) => {
        vec![$(Method {
            method: $method,
            params: carried(methods!(@pass $($params)?)),
            result: methods!(@result $(($($result)?))?),
        }),+]
    };
    (@pass) => { None };
    (@pass $type:ident) => { Some(through::<$type> as Pass) };
    (@result) => { None };
    (@result ($($type:ident)?)) => { Some(carried(methods!(@pass $($type)?))) };
}

fn methods() -> Vec<Method> {
    methods! {
        "initialize" (InitializeParams) -> (InitializeResult);
        "ping" () -> ();
        "notifications/cancelled" (CancelledParams);
        "notifications/progress" (ProgressParams);
        "tools/list" (PaginatedParams) -> (ListToolsResult);
        "tools/call" (CallToolParams) -> (CallToolResult);
        "resources/list" (PaginatedParams) -> (ListResourcesResult);
        "resources/templates/list" (PaginatedParams) -> (ListResourceTemplatesResult);
        "resources/read" (ResourceParams) -> (ReadResourceResult);
        "resources/subscribe" (ResourceParams) -> ();
        "resources/unsubscribe" (ResourceParams) -> ();
        "prompts/list" (PaginatedParams) -> (ListPromptsResult);
        "prompts/get" (GetPromptParams) -> (GetPromptResult);
        "completion/complete" (CompleteParams) -> (CompleteResult);
        "logging/setLevel" (SetLevelParams) -> ();
        "sampling/createMessage" (CreateMessageParams) -> (CreateMessageResult);
        "roots/list" (RequestParams) -> (ListRootsResult);
        "notifications/resources/updated" (ResourceUpdatedParams);
        "notifications/message" (LoggingMessageParams);
        "elicitation/create" (ElicitParams) -> (ElicitResult);
        "notifications/elicitation/complete" (ElicitationCompleteParams);
        "tasks/get" (TaskParams) -> (TaskResult);
        "tasks/list" (PaginatedParams) -> (ListTasksResult);
        "tasks/result" (TaskParams) -> (TaskPayload);
        "tasks/cancel" (TaskParams) -> (TaskResult);
        "notifications/tasks/status" (TaskStatusParams);
    }
}

fn everything_counts(_: &str, _: &Value) -> bool {
    false
}

#[test]
fn recorded_payloads_are_written_as_they_were_read() {
    let (met, wrong) = check_traffic(&methods(), everything_counts);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(met.values().sum::<usize>() > 200, "{met:?}");
}

#[test]
fn forms_keep_their_choices() {
    let with = |field: Value| {
        let schema = json!({ "type": "object", "properties": { "a": field } });
        json!({ "message": "?", "requestedSchema": schema })
    };
    for field in [
        json!({ "type": "string", "oneOf": [{ "const": "x", "title": "X" }] }),
        json!({ "type": "string", "enum": ["x"], "enumNames": ["X"] }),
        json!({ "type": "array", "items": { "anyOf": [{ "const": "x", "title": "X" }] } }),
        json!({ "type": "array", "items": { "type": "string", "enum": ["x"] }, "maxItems": 2 }),
        json!({ "type": "integer", "minimum": 0, "default": 1 }),
        json!({ "type": "boolean", "default": true }),
        json!({ "type": "string", "format": "email", "minLength": 3 }),
    ] {
        let form = with(field);
        assert_eq!(lost(through::<ElicitParams>, &form, everything_counts), [""; 0], "{form}");
    }
}

#[test]
fn what_is_not_known_is_kept_where_it_may_matter() {
    let hello = json!({
        "protocolVersion": "2025-03-26",
        "capabilities": { "example": {}, "experimental": { "x": { "y": 1 } } },
        "clientInfo": { "name": "a", "version": "1" },
        "_meta": { "example.org/trace": [1, null], "progressToken": 7 },
    });
    assert_eq!(lost(through::<InitializeParams>, &hello, everything_counts), [""; 0]);
}

#[test]
fn a_payload_that_does_not_fit_says_where() {
    let content = json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": 5 }] });
    let error = serde_json::from_value::<CallToolResult>(content).expect_err("a text that is a number");
    assert_eq!(error.to_string(), "content[1].text: expected a string, found 5");
}
