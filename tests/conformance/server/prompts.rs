//! Prompts: messages for a model, with places to fill in.

use mcp_kit::types::{ContentBlock, PromptMessage, Role};
use mcp_kit::{Client, Context, Failure, Prompt, Server, Suggestions, Typed, User};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::asking;
use crate::content::{embedded, image, text};
use crate::resources::Counter;

pub(crate) fn add(server: Server<Counter>) -> Server<Counter> {
    let simple = "A message without places to fill in";
    let page = "A message that brings a resource along";
    let picture = "A message that brings a picture along";
    let subject = "A message about what the user says";
    server
        .prompt::<Compare>()
        .prompt_named("test_simple_prompt", simple, |(), _, _: Client| async {
            Ok(said([text("Say something kind.")]))
        })
        .prompt_named("test_prompt_with_embedded_resource", page, |page: Page, _, _: Client| async move {
            let resource = embedded(&page.resource_uri, "text/plain", "A page with a margin.");
            Ok(said([resource, text("Summarise this page.")]))
        })
        .prompt_named("test_prompt_with_image", picture, |(), _, _: Client| async {
            Ok(said([image(), text("Say what is in the picture.")]))
        })
        .prompt_named(
            "test_input_required_result_prompt",
            subject,
            |(), _, client: Client<User>| async move {
                let subject = asking::subject(client.asker()).await?;
                Ok(said([text(&format!("Tell me about {subject}."))]))
            },
        )
}

fn said(content: impl IntoIterator<Item = ContentBlock>) -> Vec<PromptMessage> {
    content.into_iter().map(|content| PromptMessage::new(Role::User, content)).collect()
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Page {
    /// Where the page is
    resource_uri: String,
}

/// A message with two places to fill in
#[derive(Deserialize, JsonSchema)]
struct Compare {
    /// Is filled in
    arg1: String,
    /// Is filled in
    arg2: String,
}

const WORDS: [&str; 6] = ["paper", "pencil", "ruler", "tea", "test", "text"];

impl Prompt<Counter> for Compare {
    type Needs = ();
    const NAME: Option<&'static str> = Some("test_prompt_with_arguments");

    async fn get(self, _: &Counter, _: Client) -> Result<Vec<PromptMessage>, Failure> {
        Ok(said([text(&format!("Compare `{}` with `{}`.", self.arg1, self.arg2))]))
    }

    async fn complete(_: &Counter, _: &Context, typed: &Typed) -> Result<Suggestions, Failure> {
        Ok(WORDS.into_iter().filter(|word| word.starts_with(&typed.text)).collect())
    }
}
