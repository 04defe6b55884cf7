//! What the gateway has: the tools, prompts and resources of all servers behind it.

use std::collections::BTreeMap;

use mcp_kit::prelude::*;

use super::Gateway;
use super::behind::Behind;

/// The server that has something, and what it calls it.
fn owner<'a, 'b>(gateway: &'a Gateway, name: &'b str) -> Option<(&'a Behind, &'b str)> {
    gateway.behind.iter().find_map(|behind| {
        let rest = name.strip_prefix(&behind.name)?.strip_prefix('_')?;
        Some((&**behind, rest))
    })
}

impl Tools<Gateway> for Gateway {
    async fn list(gateway: &Gateway, _: &Context) -> Result<Vec<types::Tool>, Failure> {
        let mut all = Vec::new();
        for behind in &gateway.behind {
            for mut tool in behind.connection().await?.tools().await? {
                tool.name = format!("{}_{}", behind.name, tool.name);
                all.push(tool);
            }
        }
        Ok(all)
    }

    async fn call(
        gateway: &Gateway,
        name: &str,
        arguments: Object,
        client: Client,
    ) -> Result<Option<CallToolResult>, Failure> {
        let Some((behind, tool)) = owner(gateway, name) else { return Ok(None) };
        Ok(Some(behind.connection().await?.pass_on(tool, arguments, &client).await?))
    }
}

impl Prompts<Gateway> for Gateway {
    async fn list(gateway: &Gateway, _: &Context) -> Result<Vec<types::Prompt>, Failure> {
        let mut all = Vec::new();
        for behind in &gateway.behind {
            for mut prompt in behind.connection().await?.prompts().await? {
                prompt.name = format!("{}_{}", behind.name, prompt.name);
                all.push(prompt);
            }
        }
        Ok(all)
    }

    async fn get(
        gateway: &Gateway,
        name: &str,
        arguments: BTreeMap<String, String>,
        client: Client,
    ) -> Result<Option<GetPromptResult>, Failure> {
        let Some((behind, prompt)) = owner(gateway, name) else { return Ok(None) };
        Ok(Some(behind.connection().await?.pass_on_prompt(prompt, arguments, &client).await?))
    }

    async fn complete(
        gateway: &Gateway,
        _: &Context,
        name: &str,
        typed: &Typed,
    ) -> Result<Option<Suggestions>, Failure> {
        let Some((behind, prompt)) = owner(gateway, name) else { return Ok(None) };
        let prompt = PromptReference::new(prompt);
        Ok(Some(behind.connection().await?.pass_on_completion(prompt, typed).await?))
    }
}

/// A URI is what it is behind. The first server that has something there answers.
impl Resources<Gateway> for Gateway {
    async fn list(gateway: &Gateway, _: &Context) -> Result<Vec<types::Resource>, Failure> {
        let mut all = Vec::new();
        for behind in &gateway.behind {
            all.extend(behind.connection().await?.resources().await?);
        }
        Ok(all)
    }

    async fn templates(gateway: &Gateway, _: &Context) -> Result<Vec<ResourceTemplate>, Failure> {
        let mut all = Vec::new();
        for behind in &gateway.behind {
            all.extend(behind.connection().await?.resource_templates().await?);
        }
        Ok(all)
    }

    async fn read(
        gateway: &Gateway,
        uri: &str,
        client: Client,
    ) -> Result<Option<Vec<ResourceContents>>, Failure> {
        for behind in &gateway.behind {
            if let Ok(contents) = behind.connection().await?.pass_on_read(uri, &client).await {
                return Ok(Some(contents));
            }
        }
        Ok(None)
    }

    async fn watch(gateway: &Gateway, _: &Context, uri: &str) -> Result<bool, Failure> {
        for behind in &gateway.behind {
            if behind.connection().await?.pass_on_watch(uri, &gateway.changes).await.is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn complete(
        gateway: &Gateway,
        _: &Context,
        template: &str,
        typed: &Typed,
    ) -> Result<Option<Suggestions>, Failure> {
        for behind in &gateway.behind {
            let template = ResourceTemplateReference::new(template);
            if let Ok(values) = behind.connection().await?.pass_on_completion(template, typed).await {
                return Ok(Some(values));
            }
        }
        Ok(None)
    }
}
