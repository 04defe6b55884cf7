//! Everything that a client may ask, in one place: a method for each request, each answered by the file of its subject.

use mcp_protocols::mcp_2025_11_25::{Subscribing, server};
use mcp_protocols::types::*;
use mcp_runtime::RpcError;
use server::Context;

use crate::logging::Log;
use crate::resources::Watched;
use crate::{completion, prompts, resources, tools};

/// What one session remembers.
#[derive(Default)]
pub(crate) struct ServerHandler {
    pub(crate) log: Log,
    pub(crate) watched: Watched,
}

impl server::Handler for ServerHandler {
    async fn list_tools(&self, _: Context, _: Option<PaginatedParams>) -> Result<ListToolsResult, RpcError> {
        Ok(tools::list())
    }

    async fn call_tool(&self, context: Context, params: CallToolParams) -> Result<CallToolResult, RpcError> {
        tools::call(self, &context, &params).await
    }

    async fn list_resources(
        &self,
        _: Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListResourcesResult, RpcError> {
        Ok(resources::list())
    }

    async fn list_resource_templates(
        &self,
        _: Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListResourceTemplatesResult, RpcError> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        _: Context,
        params: ResourceParams,
    ) -> Result<ReadResourceResult, RpcError> {
        resources::read_at(&self.watched, &params.uri)
    }

    /// A subscription is a session type of its own: the value is the subscription, and lives as long as it.
    async fn subscribe(
        &self,
        _: Context,
        params: ResourceParams,
        subscription: server::Subscription<Subscribing>,
    ) {
        self.watched.tell(&params.uri, subscription).await;
    }

    /// Somebody unsubscribes from what is not subscribed to. There is nothing to do about it.
    async fn unsubscribe(&self, _: Context, _: ResourceParams) -> Result<(), RpcError> {
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListPromptsResult, RpcError> {
        Ok(prompts::list())
    }

    async fn get_prompt(&self, _: Context, params: GetPromptParams) -> Result<GetPromptResult, RpcError> {
        prompts::get(&params)
    }

    async fn complete(&self, _: Context, params: CompleteParams) -> Result<CompleteResult, RpcError> {
        Ok(completion::complete(&params))
    }

    async fn set_level(&self, _: Context, params: SetLevelParams) -> Result<(), RpcError> {
        self.log.set_level(params.level);
        Ok(())
    }
}
