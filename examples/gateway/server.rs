//! What the gateway has: the tools, prompts and resources of all servers behind it.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use mcp_kit::prelude::*;
use serde::{Deserialize, Serialize};

use super::Gateway;
use super::behind::Behind;

/// The server that has something, and what it calls it. Of `notes` and `notes_old`, `notes_old_add` is of the latter.
fn owner<'a, 'b>(gateway: &'a Gateway, name: &'b str) -> Option<(&'a Behind, &'b str)> {
    let owners = gateway.behind.iter().filter_map(|behind| {
        let rest = name.strip_prefix(&behind.name)?.strip_prefix('_')?;
        Some((&**behind, rest))
    });
    owners.max_by_key(|(behind, _)| behind.name.len())
}

/// Names what a server has as clients of the gateway do. Returns whether it is then found: not if another server has
/// that name.
fn name(gateway: &Gateway, behind: &Behind, name: &mut String) -> bool {
    *name = format!("{}_{name}", behind.name);
    owner(gateway, name).is_some_and(|(owner, _)| owner.name == behind.name)
}

/// The servers whose lists have another page, and the cursor of each: the gateway's own cursor.
#[derive(Default, Deserialize, Serialize)]
struct Cursors(BTreeMap<String, String>);

impl FromStr for Cursors {
    type Err = serde_json::Error;

    fn from_str(cursor: &str) -> Result<Cursors, serde_json::Error> {
        serde_json::from_str(cursor)
    }
}

impl Cursors {
    /// What the client is given, if there is another page.
    fn text(&self) -> Result<Option<String>, Failure> {
        if self.0.is_empty() { Ok(None) } else { Ok(Some(serde_json::to_string(self)?)) }
    }
}

/// A page of what all servers have: one page of each that has another one. They are asked side by side, and one that does
/// not answer does not hide what the others have.
async fn page_of_all<T, F: Future<Output = Page<T>>>(
    gateway: &Gateway,
    request: &ListRequest,
    list: impl Fn(Arc<Behind>, Option<String>) -> F,
) -> Result<Page<T>, Failure> {
    let cursors: Option<Cursors> = request.cursor()?;
    let lists = gateway.behind.iter().filter_map(|behind| {
        let cursor = match &cursors {
            Some(cursors) => Some(cursors.0.get(&behind.name)?.clone()),
            None => None,
        };
        let page = list(Arc::clone(behind), cursor);
        Some(async { (behind.name.clone(), page.await) })
    });
    let (mut entries, mut next) = (Vec::new(), Cursors::default());
    for (name, page) in join_all(lists).await {
        entries.extend(page.entries);
        next.0.extend(page.next_cursor.map(|cursor| (name, cursor)));
    }
    Ok(Page::from(entries).next_cursor(next.text()?))
}

/// What the first server answers that has something, of all that are asked side by side. If none has, and one did not
/// answer, that one may be the one to ask: this fails with its name.
async fn of_first<T, F>(
    gateway: &Gateway,
    ask: impl Fn(Arc<Connection>) -> F + Clone,
) -> Result<Option<T>, Failure>
where
    F: Future<Output = Result<T, RpcError>>,
{
    let mut answers: FuturesUnordered<_> =
        gateway.behind.iter().map(|behind| behind.ask(ask.clone())).collect();
    let mut nothing = Ok(None);
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            Err(failure) => nothing = Err(failure),
        }
    }
    nothing
}

impl Tools<Gateway> for Gateway {
    async fn list(gateway: &Gateway, request: &ListRequest) -> Result<Page<types::Tool>, Failure> {
        let list = |behind: Arc<Behind>, cursor| async move {
            let mut page = behind.list(|server| async move { server.tools_page(cursor).await }).await;
            page.entries.retain_mut(|tool| name(gateway, &behind, &mut tool.name));
            page
        };
        page_of_all(gateway, request, list).await
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
    async fn list(gateway: &Gateway, request: &ListRequest) -> Result<Page<types::Prompt>, Failure> {
        let list = |behind: Arc<Behind>, cursor| async move {
            let mut page = behind.list(|server| async move { server.prompts_page(cursor).await }).await;
            page.entries.retain_mut(|prompt| name(gateway, &behind, &mut prompt.name));
            page
        };
        page_of_all(gateway, request, list).await
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

/// A URI is what it is behind. The server answers that has something there.
impl Resources<Gateway> for Gateway {
    async fn list(gateway: &Gateway, request: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        let list = |behind: Arc<Behind>, cursor| async move {
            behind.list(|server| async move { server.resources_page(cursor).await }).await
        };
        page_of_all(gateway, request, list).await
    }

    async fn templates(gateway: &Gateway, _: &Context) -> Result<Vec<ResourceTemplate>, Failure> {
        let templates = |server: Arc<Connection>| async move { server.resource_templates().await };
        let lists = join_all(gateway.behind.iter().map(|behind| behind.list(templates))).await;
        Ok(lists.into_iter().flatten().collect())
    }

    async fn read(
        gateway: &Gateway,
        uri: &str,
        client: Client,
    ) -> Result<Option<Vec<ResourceContents>>, Failure> {
        let client = &client;
        of_first(gateway, |server| async move { server.pass_on_read(uri, client).await }).await
    }

    async fn watch(gateway: &Gateway, _: &Context, uri: &str) -> Result<bool, Failure> {
        let watch =
            |server: Arc<Connection>| async move { server.pass_on_watch(uri, &gateway.changes).await };
        Ok(of_first(gateway, watch).await?.is_some())
    }

    async fn complete(
        gateway: &Gateway,
        _: &Context,
        template: &str,
        typed: &Typed,
    ) -> Result<Option<Suggestions>, Failure> {
        let complete = |server: Arc<Connection>| async move {
            server.pass_on_completion(ResourceTemplateReference::new(template), typed).await
        };
        of_first(gateway, complete).await
    }
}
