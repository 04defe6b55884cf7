//! [`Tools`]: tools that are known only while the program runs.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use mcp_protocols::eras::types::{CallToolParams, CallToolResult, Object};
use mcp_protocols::eras::{Asker, Changes, types};
use mcp_runtime::RpcError;

use super::super::failure::{Failure, failed, refusal};
use super::client::Client;
use super::page::{ListRequest, Page};

/// Tools of a server with the state `S` that are known only while it runs, such as those of other servers or of a database.
/// [`Server::tools`](super::Server::tools) adds them.
///
/// ```
/// use mcp_kit::types::{self, CallToolResult, Object, ObjectSchema};
/// use mcp_kit::{Client, Failure, ListRequest, Page, Server, Tools};
///
/// /// Each is a text that a tool returns, by the name of the tool.
/// struct Texts(std::collections::BTreeMap<String, String>);
///
/// struct Text;
///
/// impl Tools<Texts> for Text {
///     async fn list(texts: &Texts, _: &ListRequest) -> Result<Page<types::Tool>, Failure> {
///         Ok(texts.0.keys().map(|name| types::Tool::new(name, ObjectSchema::new())).collect())
///     }
///
///     async fn call(
///         texts: &Texts,
///         name: &str,
///         _: Object,
///         _: Client,
///     ) -> Result<Option<CallToolResult>, Failure> {
///         Ok(texts.0.get(name).map(CallToolResult::text))
///     }
/// }
///
/// let server = Server::new("texts", "1.0.0", Texts(Default::default())).tools::<Text>();
/// # drop(server);
/// ```
pub trait Tools<S>: 'static {
    /// All of them, as the client that makes this request sees them; the server cuts them into pages. Where there are
    /// too many for that, a [`Page`] of them. If they change, say so with [`Server::changes`](super::Server::changes).
    fn list(
        state: &S,
        request: &ListRequest,
    ) -> impl Future<Output = Result<Page<types::Tool>, Failure>> + Send;

    /// Calls the one of this name; `None` if there is none. What the client can be asked stands in its
    /// [`context`](Client::context), and [`asker`](Client::asker) asks it. The arguments are not compared with the schema.
    fn call(
        state: &S,
        name: &str,
        arguments: Object,
        client: Client,
    ) -> impl Future<Output = Result<Option<CallToolResult>, Failure>> + Send;
}

type Listed = Result<Page<types::Tool>, Failure>;
type Called = Result<Option<CallToolResult>, Failure>;

/// Tools that a server has.
pub(crate) struct ToolsEntry<S> {
    list: fn(Arc<S>, Arc<ListRequest>) -> BoxFuture<'static, Listed>,
    call: fn(Arc<S>, String, Object, Client) -> BoxFuture<'static, Called>,
}

impl<S: Send + Sync + 'static> ToolsEntry<S> {
    pub(crate) fn of<T: Tools<S>>() -> ToolsEntry<S> {
        ToolsEntry {
            list: |state, request| Box::pin(async move { T::list(&state, &request).await }),
            call: |state, name, arguments, client| {
                Box::pin(async move { T::call(&state, &name, arguments, client).await })
            },
        }
    }

    pub(crate) async fn list(
        &self,
        state: Arc<S>,
        request: Arc<ListRequest>,
    ) -> Result<Page<types::Tool>, RpcError> {
        (self.list)(state, request).await.map_err(refusal)
    }

    /// Calls a tool, if it is one of these.
    pub(crate) async fn call(
        &self,
        state: Arc<S>,
        asker: Asker,
        changes: Changes,
        params: &CallToolParams,
    ) -> Result<Option<CallToolResult>, RpcError> {
        let arguments = params.arguments.clone().unwrap_or_default();
        match (self.call)(state, params.name.clone(), arguments, Client::new(asker, changes)).await {
            Ok(called) => Ok(called),
            Err(failure) => failed(failure).map(Some),
        }
    }
}
