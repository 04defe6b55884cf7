//! Answers the requests of clients with what a server has.

use std::collections::HashSet;
use std::sync::Arc;

use mcp_protocols::eras::types::{
    CacheScope, CallToolParams, CallToolResult, CompleteParams, CompleteResult, Completion,
    CompletionReference, GetPromptParams, GetPromptResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Object, PaginatedParams,
    PromptsCapability, ReadResourceParams, ReadResourceResult, ResourcesCapability, ServerCapabilities,
    ToolsCapability,
};
use mcp_protocols::eras::{Asker, Changes, Context, Handler, Offer};
use mcp_protocols::rounds::Round;
use mcp_runtime::RpcError;

use super::super::failure::refusal;
#[cfg(feature = "tracing")]
use super::log::logged;
use super::not_found::{ResourceNotFound, resource_refusal};
use super::page::page;
use super::typed::Typed;
use super::{prompt, resource, tool, tools};

/// What a server has.
pub(super) struct Parts<S> {
    pub(super) info: Implementation,
    pub(super) instructions: Option<String>,
    pub(super) state: Arc<S>,
    pub(super) changes: Changes,
    pub(super) tools: Vec<tool::ToolEntry<S>>,
    /// Those that are known only while the program runs.
    pub(super) other_tools: Vec<tools::ToolsEntry<S>>,
    pub(super) prompts: Vec<prompt::PromptEntry<S>>,
    pub(super) resources: Vec<resource::ResourceEntry<S>>,
    pub(super) page_size: usize,
}

/// How many values a client gets for an argument, as the revisions say.
const MOST_VALUES: usize = 100;

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
        Err(RpcError::invalid_params(format!("there is no tool `{}`", params.name)))
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
        if !self.prompts.is_empty() {
            can = can.prompts(PromptsCapability::new().list_changed(true));
        }
        if !self.resources.is_empty() {
            can = can.resources(ResourcesCapability::new().subscribe(true).list_changed(true));
        }
        if !self.prompts.is_empty() || !self.resources.is_empty() {
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
        let tools = self.tools.iter().filter(|entry| entry.is_for(client)).map(|entry| entry.tool.clone());
        let mut tools: Vec<_> = tools.collect();
        let mut names: HashSet<_> = self.tools.iter().map(|entry| entry.tool.name.clone()).collect();
        for entry in &self.other_tools {
            let listed = entry.list(Arc::clone(&self.state), context.clone()).await?;
            tools.extend(listed.into_iter().filter(|tool| names.insert(tool.name.clone())));
        }
        let (tools, next) = page(tools, params.cursor.as_deref(), self.page_size)?;
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
        let mut resources = Vec::new();
        for entry in &self.resources {
            resources.extend(entry.list(Arc::clone(&self.state), context.clone()).await?);
        }
        let (resources, next) = page(resources, params.cursor.as_deref(), self.page_size)?;
        let mut result = ListResourcesResult::new(resources, 0, CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Context,
        params: PaginatedParams,
    ) -> Result<ListResourceTemplatesResult, RpcError> {
        let templates = self.resources.iter().filter_map(resource::ResourceEntry::template);
        let (templates, next) = page(templates, params.cursor.as_deref(), self.page_size)?;
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
        let read = async {
            let entry = self.find_resource(&params.uri).ok_or_else(|| ResourceNotFound::at(&*params.uri))?;
            entry.read(Arc::clone(&self.state), asker.clone(), self.changes.clone(), params).await
        };
        let read = logged(asker.clone(), read).await.map_err(|failure| resource_refusal(failure, &version));
        read.map(Into::into)
    }

    async fn watch(&self, context: Context, uri: &str) -> Result<(), RpcError> {
        let version = context.meta().protocol_version.clone();
        let watched = match self.find_resource(uri) {
            Some(entry) => entry.watch(Arc::clone(&self.state), context, uri.to_owned()).await,
            None => Err(ResourceNotFound::at(uri).into()),
        };
        watched.map_err(|failure| resource_refusal(failure, &version))
    }

    async fn list_prompts(&self, _: Context, params: PaginatedParams) -> Result<ListPromptsResult, RpcError> {
        let client = &params.meta.client_capabilities;
        let prompts =
            self.prompts.iter().filter(|entry| entry.is_for(client)).map(|entry| entry.prompt.clone());
        let (prompts, next) = page(prompts, params.cursor.as_deref(), self.page_size)?;
        let mut result = ListPromptsResult::new(prompts, 0, CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    async fn get_prompt(
        &self,
        asker: Asker,
        params: GetPromptParams,
    ) -> Result<Round<GetPromptResult>, RpcError> {
        let unknown = || RpcError::invalid_params(format!("there is no prompt `{}`", params.name));
        let entry = self.find_prompt(&params.name).ok_or_else(unknown)?;
        let got = entry.get(Arc::clone(&self.state), asker.clone(), self.changes.clone(), params);
        logged(asker, got).await.map(Into::into)
    }

    async fn complete(&self, context: Context, params: CompleteParams) -> Result<CompleteResult, RpcError> {
        let complete = match &params.r#ref {
            CompletionReference::RefPrompt(prompt) => {
                self.find_prompt(&prompt.name).map(|entry| &entry.complete)
            }
            CompletionReference::RefResource(template) => {
                let mut entries = self.resources.iter();
                entries.find(|entry| entry.uri == template.uri).map(|entry| &entry.complete)
            }
            _ => None,
        };
        let unknown = || RpcError::invalid_params("there is no such prompt or resource template");
        let complete = complete.ok_or_else(unknown)?;
        let values = complete(Arc::clone(&self.state), context, Typed::of(params)).await.map_err(refusal)?;
        let (total, more) = (values.len(), values.len() > MOST_VALUES);
        let mut completion = Completion::new(values.into_iter().take(MOST_VALUES));
        completion.total = i64::try_from(total).ok();
        completion.has_more = Some(more);
        Ok(CompleteResult::new(completion))
    }
}
