//! What the gateway has: the tools, prompts and resources of all servers behind it.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
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

/// What all servers have, which are asked side by side: a server that does not answer does not hide the others.
async fn of_all<T, F: Future<Output = Vec<T>>>(gateway: &Gateway, list: impl Fn(Arc<Behind>) -> F) -> Vec<T> {
    let lists = gateway.behind.iter().map(|behind| list(Arc::clone(behind)));
    join_all(lists).await.into_iter().flatten().collect()
}

impl Tools<Gateway> for Gateway {
    async fn list(gateway: &Gateway, _: &Context) -> Result<Vec<types::Tool>, Failure> {
        let list = |behind: Arc<Behind>| async move {
            let mut tools = behind.list(|server| async move { server.tools().await }).await;
            tools.iter_mut().for_each(|tool| tool.name = format!("{}_{}", behind.name, tool.name));
            tools
        };
        Ok(of_all(gateway, list).await)
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
        let list = |behind: Arc<Behind>| async move {
            let mut prompts = behind.list(|server| async move { server.prompts().await }).await;
            prompts.iter_mut().for_each(|prompt| prompt.name = format!("{}_{}", behind.name, prompt.name));
            prompts
        };
        Ok(of_all(gateway, list).await)
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
        let list = |behind: Arc<Behind>| async move {
            behind.list(|server| async move { server.resources().await }).await
        };
        Ok(of_all(gateway, list).await)
    }

    async fn templates(gateway: &Gateway, _: &Context) -> Result<Vec<ResourceTemplate>, Failure> {
        let list = |behind: Arc<Behind>| async move {
            behind.list(|server| async move { server.resource_templates().await }).await
        };
        Ok(of_all(gateway, list).await)
    }

    async fn read(
        gateway: &Gateway,
        uri: &str,
        client: Client,
    ) -> Result<Option<Vec<ResourceContents>>, Failure> {
        for behind in &gateway.behind {
            let Some(server) = behind.connected().await else { continue };
            if let Ok(contents) = server.pass_on_read(uri, &client).await {
                return Ok(Some(contents));
            }
        }
        Ok(None)
    }

    async fn watch(gateway: &Gateway, _: &Context, uri: &str) -> Result<bool, Failure> {
        for behind in &gateway.behind {
            let Some(server) = behind.connected().await else { continue };
            if server.pass_on_watch(uri, &gateway.changes).await.is_ok() {
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
            let Some(server) = behind.connected().await else { continue };
            let template = ResourceTemplateReference::new(template);
            if let Ok(values) = server.pass_on_completion(template, typed).await {
                return Ok(Some(values));
            }
        }
        Ok(None)
    }
}
