//! Answers the requests of clients with what a server has.

use std::sync::Arc;

use mcp_protocols::eras::types::{
    CacheScope, CallToolParams, CallToolResult, CompleteParams, CompleteResult, CompletionReference,
    GetPromptParams, GetPromptResult, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, Object, PaginatedParams, PromptsCapability, ReadResourceParams,
    ReadResourceResult, ResourcesCapability, ServerCapabilities, ToolsCapability,
};
use mcp_protocols::eras::{Asker, Changes, Context, Handler, Offer, types};
use mcp_protocols::rounds::Round;
use mcp_runtime::RpcError;
use mcp_runtime::error::Excerpt;

use super::super::failure::{Failure, refusal};
#[cfg(feature = "tracing")]
use super::log::logged;
use super::not_found::{ResourceNotFound, resource_refusal};
use super::page::Page;
use super::paging::Paging;
use super::suggestions::Suggestions;
use super::typed::Typed;
use super::{prompt, prompts, resource, resources, tool, tools};

/// What a server has.
pub(super) struct Parts<S> {
    pub(super) info: Implementation,
    pub(super) instructions: Option<String>,
    pub(super) state: Arc<S>,
    pub(super) changes: Changes,
    pub(super) tools: Vec<tool::ToolEntry<S>>,
    pub(super) prompts: Vec<prompt::PromptEntry<S>>,
    pub(super) resources: Vec<resource::ResourceEntry<S>>,
    // Those that are known only while the program runs.
    pub(super) other_tools: Vec<tools::ToolsEntry<S>>,
    pub(super) other_prompts: Vec<prompts::PromptsEntry<S>>,
    pub(super) other_resources: Vec<resources::ResourcesEntry<S>>,
    pub(super) page_size: usize,
}

/// Without the feature, what is logged goes only to the program's own subscriber.
#[cfg(not(feature = "tracing"))]
async fn logged<F: Future>(_: Asker, work: F) -> F::Output {
    work.await
}

impl<S> Parts<S> {
    pub(super) fn find_tool(&self, name: &str) -> Option<&tool::ToolEntry<S>> {
        self.tools.iter().find(|entry| entry.tool.name == name)
    }

    pub(super) fn find_prompt(&self, name: &str) -> Option<&prompt::PromptEntry<S>> {
        self.prompts.iter().find(|entry| entry.prompt.name == name)
    }
}

#[cfg(feature = "http")]
type ParamHeaders = std::collections::HashMap<String, Arc<mcp_runtime::transport::http::ParamHeaders>>;

#[cfg(feature = "http")]
impl<S> Parts<S> {
    /// The arguments that calls repeat in headers, by the name of the tool.
    pub(super) fn param_headers(&self) -> Result<ParamHeaders, super::problem::Problem> {
        let headers = |entry: &tool::ToolEntry<S>| {
            let name = entry.tool.name.clone();
            // A schema that the kit has made can be written.
            let schema = serde_json::to_value(&entry.tool.input_schema).unwrap_or_default();
            match mcp_runtime::transport::http::ParamHeaders::of_schema(&schema) {
                Ok(headers) => Ok((name, Arc::new(headers))),
                Err(error) => Err(super::problem::Problem::NoHeader { name, reason: error.to_string() }),
            }
        };
        self.tools.iter().map(headers).collect()
    }
}

impl<S: Send + Sync + 'static> Parts<S> {
    /// Calls a tool.
    async fn called(&self, asker: Asker, params: CallToolParams) -> Result<CallToolResult, RpcError> {
        let state = || Arc::clone(&self.state);
        if let Some(entry) = self.find_tool(&params.name) {
            return entry.call(state(), asker, self.changes.clone(), params).await;
        }
        for entry in &self.other_tools {
            let called = entry.call(state(), asker.clone(), self.changes.clone(), &params).await?;
            if let Some(result) = called {
                return Ok(result);
            }
        }
        Err(RpcError::invalid_params(format!("there is no tool `{}`", Excerpt(&params.name))))
    }

    /// Fills a prompt in.
    async fn got(&self, asker: Asker, params: GetPromptParams) -> Result<GetPromptResult, RpcError> {
        let state = || Arc::clone(&self.state);
        if let Some(entry) = self.find_prompt(&params.name) {
            return entry.get(state(), asker, self.changes.clone(), params).await;
        }
        for entry in &self.other_prompts {
            let got = entry.get(state(), asker.clone(), self.changes.clone(), &params).await?;
            if let Some(result) = got {
                return Ok(result);
            }
        }
        Err(RpcError::invalid_params(format!("there is no prompt `{}`", Excerpt(&params.name))))
    }

    /// Reads a resource.
    async fn contents(
        &self,
        asker: Asker,
        params: ReadResourceParams,
    ) -> Result<ReadResourceResult, Failure> {
        let state = || Arc::clone(&self.state);
        if let Some(entry) = self.find_resource(&params.uri) {
            return entry.read(state(), asker, self.changes.clone(), params).await;
        }
        for entry in &self.other_resources {
            let read = entry.read(state(), asker.clone(), self.changes.clone(), &params.uri).await?;
            if let Some(result) = read {
                return Ok(result);
            }
        }
        Err(ResourceNotFound::at(params.uri).into())
    }

    /// A client wants to hear of the changes of a resource.
    async fn watched(&self, context: Context, uri: &str) -> Result<(), Failure> {
        let state = || Arc::clone(&self.state);
        if let Some(entry) = self.find_resource(uri) {
            return entry.watch(state(), context, uri.to_owned()).await;
        }
        for entry in &self.other_resources {
            if entry.watch(state(), context.clone(), uri).await? {
                return Ok(());
            }
        }
        Err(ResourceNotFound::at(uri).into())
    }

    /// Suggests values for an argument; `None` if the server has no such prompt or resource template.
    async fn suggested(
        &self,
        context: Context,
        params: CompleteParams,
    ) -> Result<Option<Suggestions>, Failure> {
        let state = || Arc::clone(&self.state);
        let (name, known, others): (_, _, Vec<prompts::CompleteOf<S>>) = match &params.r#ref {
            CompletionReference::RefPrompt(prompt) => (
                prompt.name.clone(),
                self.find_prompt(&prompt.name).map(|entry| &entry.complete),
                self.other_prompts.iter().map(|entry| entry.complete).collect(),
            ),
            CompletionReference::RefResource(template) => (
                template.uri.clone(),
                self.resources.iter().find(|entry| entry.uri == template.uri).map(|entry| &entry.complete),
                self.other_resources.iter().map(|entry| entry.complete).collect(),
            ),
            _ => return Ok(None),
        };
        let typed = Typed::of(params);
        if let Some(complete) = known {
            return complete(state(), context, typed).await.map(Some);
        }
        for complete in &others {
            let values = complete(state(), context.clone(), name.clone(), typed.clone()).await?;
            if values.is_some() {
                return Ok(values);
            }
        }
        // Whether it is one of them, only their lists say.
        Ok((!others.is_empty()).then(Suggestions::default))
    }

    fn find_resource(&self, uri: &str) -> Option<&resource::ResourceEntry<S>> {
        // One URI alone goes ahead of a template.
        let fixed = self.resources.iter().find(|entry| entry.uri == uri);
        fixed.or_else(|| self.resources.iter().find(|entry| entry.has(uri)))
    }
}

impl<S: Send + Sync + 'static> Handler for Parts<S> {
    fn offer(&self) -> Offer {
        let mut can = ServerCapabilities::new().logging(Object::new());
        if !self.tools.is_empty() || !self.other_tools.is_empty() {
            can = can.tools(ToolsCapability::new().list_changed(true));
        }
        let has_prompts = !self.prompts.is_empty() || !self.other_prompts.is_empty();
        let has_resources = !self.resources.is_empty() || !self.other_resources.is_empty();
        if has_prompts {
            can = can.prompts(PromptsCapability::new().list_changed(true));
        }
        if has_resources {
            can = can.resources(ResourcesCapability::new().subscribe(true).list_changed(true));
        }
        if has_prompts || has_resources {
            can = can.completions(Object::new());
        }
        let offer = Offer::new(self.info.clone(), can);
        match &self.instructions {
            Some(instructions) => offer.instructions(instructions),
            None => offer,
        }
    }

    async fn list_tools(
        &self,
        context: Context,
        params: PaginatedParams,
    ) -> Result<ListToolsResult, RpcError> {
        let client = &params.meta.client_capabilities;
        let names = self.tools.iter().map(|entry| entry.tool.name.clone()).collect();
        let paging = Paging::new(context, params.cursor, self.page_size)?;
        let mut paging = paging.unique(names, |tool: &types::Tool| &tool.name);
        let own = self.tools.iter().filter(|entry| entry.is_for(client)).map(|entry| entry.tool.clone());
        paging.add_own(own)?;
        for entry in &self.other_tools {
            paging.add(|request| entry.list(Arc::clone(&self.state), request)).await?;
        }
        let (tools, next) = paging.finish()?;
        // What a client sees depends on what it can do.
        let mut result = ListToolsResult::new(tools, 0, CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    async fn call_tool(
        &self,
        asker: Asker,
        params: CallToolParams,
    ) -> Result<Round<CallToolResult>, RpcError> {
        logged(asker.clone(), self.called(asker, params)).await.map(Into::into)
    }

    async fn list_resources(
        &self,
        context: Context,
        params: PaginatedParams,
    ) -> Result<ListResourcesResult, RpcError> {
        let mut paging = Paging::new(context, params.cursor, self.page_size)?;
        for entry in &self.resources {
            paging.add(|request| entry.list(Arc::clone(&self.state), request)).await?;
        }
        for entry in &self.other_resources {
            let list = async |request| {
                let mut page = entry.list(Arc::clone(&self.state), request).await?;
                // One that the server has itself goes ahead.
                page.entries.retain(|listed| self.find_resource(&listed.uri).is_none());
                Ok(page)
            };
            paging.add(list).await?;
        }
        let (resources, next) = paging.finish()?;
        let mut result = ListResourcesResult::new(resources, 0, CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        context: Context,
        params: PaginatedParams,
    ) -> Result<ListResourceTemplatesResult, RpcError> {
        let mut paging = Paging::new(context.clone(), params.cursor, self.page_size)?;
        paging.add_own(self.resources.iter().filter_map(resource::ResourceEntry::template))?;
        for entry in &self.other_resources {
            // These are never so many that a page of them would be asked for.
            let list =
                async |_| entry.templates(Arc::clone(&self.state), context.clone()).await.map(Page::from);
            paging.add(list).await?;
        }
        let (templates, next) = paging.finish()?;
        let mut result = ListResourceTemplatesResult::new(templates, 0, CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    async fn read_resource(
        &self,
        asker: Asker,
        params: ReadResourceParams,
    ) -> Result<Round<ReadResourceResult>, RpcError> {
        let version = params.meta.protocol_version.clone();
        let read = self.contents(asker.clone(), params);
        let read = logged(asker.clone(), read).await.map_err(|failure| resource_refusal(failure, &version));
        read.map(Into::into)
    }

    async fn watch(&self, context: Context, uri: &str) -> Result<(), RpcError> {
        let version = context.meta().protocol_version.clone();
        let watched = self.watched(context, uri).await;
        watched.map_err(|failure| resource_refusal(failure, &version))
    }

    async fn list_prompts(
        &self,
        context: Context,
        params: PaginatedParams,
    ) -> Result<ListPromptsResult, RpcError> {
        let client = &params.meta.client_capabilities;
        let names = self.prompts.iter().map(|entry| entry.prompt.name.clone()).collect();
        let paging = Paging::new(context, params.cursor, self.page_size)?;
        let mut paging = paging.unique(names, |prompt: &types::Prompt| &prompt.name);
        let own = self.prompts.iter().filter(|entry| entry.is_for(client)).map(|entry| entry.prompt.clone());
        paging.add_own(own)?;
        for entry in &self.other_prompts {
            paging.add(|request| entry.list(Arc::clone(&self.state), request)).await?;
        }
        let (prompts, next) = paging.finish()?;
        let mut result = ListPromptsResult::new(prompts, 0, CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    async fn get_prompt(
        &self,
        asker: Asker,
        params: GetPromptParams,
    ) -> Result<Round<GetPromptResult>, RpcError> {
        let got = self.got(asker.clone(), params);
        logged(asker, got).await.map(Into::into)
    }

    async fn complete(&self, context: Context, params: CompleteParams) -> Result<CompleteResult, RpcError> {
        let unknown = || RpcError::invalid_params("there is no such prompt or resource template");
        let values = self.suggested(context, params).await.map_err(refusal)?.ok_or_else(unknown)?;
        Ok(CompleteResult::new(values.into_completion()))
    }
}
