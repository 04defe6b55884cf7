//! Everything that a client may ask, in one place: a method for each request, each answered by the file of its subject.

use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Asker, Changes, Context, Handler, Offer};
use mcp_protocols::rounds::Round;
use mcp_runtime::RpcError;

use crate::resources::Watched;
use crate::{completion, prompts, resources, tools};

/// Lists and contents may be kept for a minute.
pub(crate) const TTL: i64 = 60_000;

/// What all clients share.
pub(crate) struct ServerHandler {
    pub(crate) changes: Changes,
    pub(crate) watched: Watched,
}

impl ServerHandler {
    pub(crate) fn new(changes: Changes) -> ServerHandler {
        ServerHandler { changes, watched: Watched::default() }
    }
}

impl Handler for ServerHandler {
    fn offer(&self) -> Offer {
        let can = ServerCapabilities::new()
            .tools(ToolsCapability::new().list_changed(true))
            .resources(ResourcesCapability::new().subscribe(true))
            .prompts(PromptsCapability::new().list_changed(true))
            .completions(Object::new())
            .logging(Object::new());
        Offer::new(Implementation::new("conformance-server", env!("CARGO_PKG_VERSION")), can)
    }

    async fn list_tools(&self, _: Context, _: PaginatedParams) -> Result<ListToolsResult, RpcError> {
        Ok(tools::list())
    }

    async fn call_tool(
        &self,
        asker: Asker,
        params: CallToolParams,
    ) -> Result<Round<CallToolResult>, RpcError> {
        tools::call(self, &asker, &params).await.map(Into::into)
    }

    async fn list_resources(&self, _: Context, _: PaginatedParams) -> Result<ListResourcesResult, RpcError> {
        Ok(resources::list())
    }

    async fn list_resource_templates(
        &self,
        _: Context,
        _: PaginatedParams,
    ) -> Result<ListResourceTemplatesResult, RpcError> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        _: Asker,
        params: ReadResourceParams,
    ) -> Result<Round<ReadResourceResult>, RpcError> {
        resources::read_at(&self.watched, &params.uri).map(Into::into)
    }

    async fn watch(&self, uri: &str) -> Result<(), RpcError> {
        resources::watch(uri)
    }

    async fn list_prompts(&self, _: Context, _: PaginatedParams) -> Result<ListPromptsResult, RpcError> {
        Ok(prompts::list())
    }

    async fn get_prompt(
        &self,
        asker: Asker,
        params: GetPromptParams,
    ) -> Result<Round<GetPromptResult>, RpcError> {
        prompts::get(&asker, &params).await.map(Into::into)
    }

    async fn complete(&self, _: Context, params: CompleteParams) -> Result<CompleteResult, RpcError> {
        Ok(completion::complete(&params))
    }
}
