//! Prompts: messages for a model, with places to fill in.

use mcp_protocols::eras::Asker;
use mcp_protocols::eras::types::*;
use mcp_runtime::RpcError;

use crate::asking;
use crate::content::{embedded, image, text, unknown};
use crate::handler::TTL;

pub(crate) fn list() -> ListPromptsResult {
    let argument = |name| PromptArgument::new(name).description("Is filled in").required(true);
    let prompts = [
        Prompt::new("test_simple_prompt").description("A message without places to fill in"),
        Prompt::new("test_prompt_with_arguments")
            .description("A message with two places to fill in")
            .arguments([argument("arg1"), argument("arg2")]),
        Prompt::new("test_prompt_with_embedded_resource")
            .description("A message that brings a resource along")
            .arguments([argument("resourceUri")]),
        Prompt::new("test_prompt_with_image").description("A message that brings a picture along"),
        Prompt::new("test_input_required_result_prompt").description("A message about what the user says"),
    ];
    ListPromptsResult::new(prompts, TTL, CacheScope::Public)
}

pub(crate) async fn get(asker: &Asker, params: &GetPromptParams) -> Result<GetPromptResult, RpcError> {
    let argument = |name: &str| {
        let missing = || RpcError::invalid_params(format!("the argument `{name}` is missing"));
        params.argument(name).ok_or_else(missing)
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
        "test_input_required_result_prompt" => {
            vec![text(&format!("Tell me about {}.", asking::subject(asker).await?))]
        }
        "test_prompt_with_image" => vec![image(), text("Say what is in the picture.")],
        other => return Err(unknown("prompt", other)),
    };
    let said = |content| PromptMessage::new(Role::User, content);
    Ok(GetPromptResult::new(messages.into_iter().map(said)))
}
