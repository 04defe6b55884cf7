//! Prompts: messages for a model, with places to fill in.

use mcp_protocols::types::{GetPromptParams, GetPromptResult, ListPromptsResult};
use mcp_runtime::RpcError;
use serde_json::{Value, json};

use crate::content::{embedded, image, read, text, unknown};

pub(crate) fn list() -> ListPromptsResult {
    let argument = |name: &str| json!({ "name": name, "description": "Is filled in", "required": true });
    read(json!({ "prompts": [
        { "name": "test_simple_prompt", "description": "A message without places to fill in" },
        {
            "name": "test_prompt_with_arguments",
            "description": "A message with two places to fill in",
            "arguments": [argument("arg1"), argument("arg2")],
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "description": "A message that brings a resource along",
            "arguments": [argument("resourceUri")],
        },
        { "name": "test_prompt_with_image", "description": "A message that brings a picture along" },
    ] }))
}

pub(crate) fn get(params: &GetPromptParams) -> Result<GetPromptResult, RpcError> {
    let argument = |name: &str| {
        let missing = || RpcError::invalid_params(format!("the argument `{name}` is missing"));
        params.arguments.get(name).ok_or_else(missing)
    };
    let messages = match params.name.as_str() {
        "test_simple_prompt" => vec![text("Say something kind.")],
        "test_prompt_with_arguments" => {
            vec![text(&format!("Compare `{}` with `{}`.", argument("arg1")?, argument("arg2")?))]
        }
        "test_prompt_with_embedded_resource" => vec![
            embedded(argument("resourceUri")?, "text/plain", "A page with a margin."),
            text("Summarise this page."),
        ],
        "test_prompt_with_image" => vec![image(), text("Say what is in the picture.")],
        other => return Err(unknown("prompt", other)),
    };
    let said = |content: Value| json!({ "role": "user", "content": content });
    Ok(read(json!({ "messages": messages.into_iter().map(said).collect::<Vec<_>>() })))
}
