//! [`Handler`]: what a server of every revision does.

use mcp_runtime::RpcError;

use super::context::{Asker, Context};
use crate::mcp_2026_07_28::types::{
    CallToolParams, CallToolResult, CompleteParams, CompleteResult, GetPromptParams, GetPromptResult,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedParams, ReadResourceParams, ReadResourceResult, ServerCapabilities,
};
use crate::rounds::Round;

/// What a server is, and what it can do: it says so in the handshake, or in reply to `server/discover`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Offer {
    /// The name and version of the server.
    pub server_info: Implementation,
    /// What the server can do. Announce only what the handler implements.
    pub capabilities: ServerCapabilities,
    /// How to use the server, as text that the client may show to its model.
    pub instructions: Option<String>,
}

impl Offer {
    /// A server that can do this.
    pub fn new(server_info: Implementation, capabilities: ServerCapabilities) -> Offer {
        Offer { server_info, capabilities, instructions: None }
    }

    /// How to use the server.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Offer {
        self.instructions = Some(instructions.into());
        self
    }
}

/// Answers the requests of clients of every revision. Each method has the payloads of the latest one; `params.meta` says in
/// every era which revision governs the request and what its client can do.
///
/// Implement the methods as `async fn`. A request that is not implemented is answered with *method not found*. Subscriptions,
/// the level of the log, `initialize` and `server/discover` are answered by the [`Server`](super::Server).
pub trait Handler: Send + Sync + 'static {
    /// What the server is, and what it can do. It is asked for each handshake, and each time that a client discovers.
    fn offer(&self) -> Offer;

    /// Whether a request may come back with a state that this handler has given with an `InputRequiredResult` of its own.
    /// If so, the handler has to open the state with a `Seal`, which refuses what was not sealed by this server. Otherwise a
    /// state that no call of this process waits for is refused before the handler sees it.
    fn opens_states(&self) -> bool {
        false
    }

    /// Lists the server's tools, one page at a time.
    fn list_tools(
        &self,
        context: Context,
        params: PaginatedParams,
    ) -> impl Future<Output = Result<ListToolsResult, RpcError>> + Send {
        let _ = (context, params);
        unhandled("tools/list")
    }

    /// Calls a tool. A tool that fails says so in its result; an error says that it was not run.
    fn call_tool(
        &self,
        asker: Asker,
        params: CallToolParams,
    ) -> impl Future<Output = Result<Round<CallToolResult>, RpcError>> + Send {
        let _ = (asker, params);
        unhandled("tools/call")
    }

    /// Lists the server's resources, one page at a time.
    fn list_resources(
        &self,
        context: Context,
        params: PaginatedParams,
    ) -> impl Future<Output = Result<ListResourcesResult, RpcError>> + Send {
        let _ = (context, params);
        unhandled("resources/list")
    }

    /// Lists the patterns of the URIs of further resources, one page at a time.
    fn list_resource_templates(
        &self,
        context: Context,
        params: PaginatedParams,
    ) -> impl Future<Output = Result<ListResourceTemplatesResult, RpcError>> + Send {
        let _ = (context, params);
        unhandled("resources/templates/list")
    }

    /// Reads the contents of a resource.
    fn read_resource(
        &self,
        asker: Asker,
        params: ReadResourceParams,
    ) -> impl Future<Output = Result<Round<ReadResourceResult>, RpcError>> + Send {
        let _ = (asker, params);
        unhandled("resources/read")
    }

    /// A client wants to hear of the changes of the resource at this URI. An error refuses that: a client of an older revision
    /// gets it, and one of 2026-07-28 does not find the URI in the acknowledgement.
    fn watch(&self, context: Context, uri: &str) -> impl Future<Output = Result<(), RpcError>> + Send {
        let _ = (context, uri);
        std::future::ready(Ok(()))
    }

    /// Lists the server's prompts, one page at a time.
    fn list_prompts(
        &self,
        context: Context,
        params: PaginatedParams,
    ) -> impl Future<Output = Result<ListPromptsResult, RpcError>> + Send {
        let _ = (context, params);
        unhandled("prompts/list")
    }

    /// Gets a prompt with its arguments filled in.
    fn get_prompt(
        &self,
        asker: Asker,
        params: GetPromptParams,
    ) -> impl Future<Output = Result<Round<GetPromptResult>, RpcError>> + Send {
        let _ = (asker, params);
        unhandled("prompts/get")
    }

    /// Suggests values for an argument of a prompt or of a resource template.
    fn complete(
        &self,
        context: Context,
        params: CompleteParams,
    ) -> impl Future<Output = Result<CompleteResult, RpcError>> + Send {
        let _ = (context, params);
        unhandled("completion/complete")
    }
}

fn unhandled<T>(method: &str) -> std::future::Ready<Result<T, RpcError>> {
    std::future::ready(Err(RpcError::method_not_found(method)))
}
