//! Asking the user: forms that the client shows while a tool waits.
//!
//! The forms are JSON, for the crate's types lose some of what a form may say: titles of choices, lists of several.

use mcp_protocols::mcp_2025_11_25::server::Context;
use mcp_protocols::types::CallToolResult;
use serde_json::{Value, json};

/// Shows a form and says what came of it. A client that has not announced forms is not asked: the call fails here, before
/// anything is sent.
pub(crate) async fn ask(context: &Context, message: &str, form: Value) -> CallToolResult {
    let params = json!({ "message": message, "requestedSchema": form });
    match context.peer().elicit(params).await {
        Ok(answer) => {
            let content = serde_json::to_string(&answer.content).unwrap_or_default();
            CallToolResult::text(format!("the user's answer is {:?}: {content}", answer.action))
        }
        Err(error) => CallToolResult::error(format!("the user was not asked: {error}")),
    }
}

fn form(fields: Value) -> Value {
    json!({ "type": "object", "properties": fields })
}

/// Two fields, both of which must be filled in.
pub(crate) fn contact() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "How to call you" },
            "email": { "type": "string", "description": "Where to write to", "format": "email" },
        },
        "required": ["username", "email"],
    })
}

/// A field of each kind, each with a default.
pub(crate) fn defaults() -> Value {
    form(json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    }))
}

/// Every way to offer a choice: one or several of a list, with titles or without.
pub(crate) fn choices() -> Value {
    let names = json!(["red", "green", "blue"]);
    let titled = json!([
        { "const": "red", "title": "Like a rose" },
        { "const": "green", "title": "Like grass" },
        { "const": "blue", "title": "Like the sea" },
    ]);
    form(json!({
        "untitledSingle": { "type": "string", "enum": names },
        "titledSingle": { "type": "string", "oneOf": titled },
        "legacyEnum": { "type": "string", "enum": names, "enumNames": ["Rose", "Grass", "Sea"] },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": names } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } },
    }))
}
