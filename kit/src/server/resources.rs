//! [`Resources`]: resources that are known only while the program runs.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use mcp_protocols::eras::types::{CacheScope, ReadResourceResult, ResourceContents, ResourceTemplate};
use mcp_protocols::eras::{Asker, Changes, Context, types};
use mcp_runtime::RpcError;

use super::super::failure::{Failure, refusal};
use super::client::Client;
use super::page::{ListRequest, Page};
use super::prompts::CompleteOf;
use super::suggestions::Suggestions;
use super::typed::Typed;

/// Resources of a server with the state `S` that are known only while it runs, such as those of other servers.
/// [`Server::resources`](super::Server::resources) adds them. Where the fields of a type stand in the URIs, a
/// [`Resource`](super::Resource) is less to write.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use mcp_kit::types::{self, ResourceContents};
/// use mcp_kit::{Client, Failure, ListRequest, Page, Resources, Server, text_at};
///
/// /// Each is a text, by its URI.
/// struct Texts(BTreeMap<String, String>);
///
/// struct Text;
///
/// impl Resources<Texts> for Text {
///     async fn list(texts: &Texts, _: &ListRequest) -> Result<Page<types::Resource>, Failure> {
///         Ok(texts.0.keys().map(|uri| types::Resource::new(uri, uri)).collect())
///     }
///
///     async fn read(texts: &Texts, uri: &str, _: Client) -> Result<Option<Vec<ResourceContents>>, Failure> {
///         Ok(texts.0.get(uri).map(|text| vec![text_at(uri, text)]))
///     }
/// }
///
/// let server = Server::new("texts", "1.0.0", Texts(BTreeMap::new())).resources::<Text>();
/// # drop(server);
/// ```
pub trait Resources<S: Sync>: 'static {
    /// All that a client gets in its list, as the client that makes this request sees them; the server cuts them into
    /// pages. Where there are too many for that, a [`Page`] of them. If they change, say so with
    /// [`Server::changes`](super::Server::changes).
    fn list(
        state: &S,
        request: &ListRequest,
    ) -> impl Future<Output = Result<Page<types::Resource>, Failure>> + Send;

    /// Reads what is at a URI; `None` if it is not one of these. What the client can be asked stands in its
    /// [`context`](Client::context), and [`asker`](Client::asker) asks it.
    fn read(
        state: &S,
        uri: &str,
        client: Client,
    ) -> impl Future<Output = Result<Option<Vec<ResourceContents>>, Failure>> + Send;

    /// The templates of those that are not listed.
    fn templates(
        state: &S,
        context: &Context,
    ) -> impl Future<Output = Result<Vec<ResourceTemplate>, Failure>> + Send {
        let _ = (state, context);
        std::future::ready(Ok(Vec::new()))
    }

    /// A client wants to hear of the changes of a resource: whether it is one of these, and says when it changes.
    /// None does, if the program does not say otherwise.
    fn watch(state: &S, context: &Context, uri: &str) -> impl Future<Output = Result<bool, Failure>> + Send {
        let _ = (state, context, uri);
        std::future::ready(Ok(false))
    }

    /// Suggests values for a variable of this template, of which the user has typed a part; `None` if it is not one
    /// of these, or has no suggestions.
    fn complete(
        state: &S,
        context: &Context,
        template: &str,
        typed: &Typed,
    ) -> impl Future<Output = Result<Option<Suggestions>, Failure>> + Send {
        let _ = (state, context, template, typed);
        std::future::ready(Ok(None))
    }
}

type Listed = Result<Page<types::Resource>, Failure>;
type Templates = Result<Vec<ResourceTemplate>, Failure>;
type Contents = Result<Option<Vec<ResourceContents>>, Failure>;
type Watched = Result<bool, Failure>;

/// Resources that a server has.
pub(crate) struct ResourcesEntry<S> {
    list: fn(Arc<S>, Arc<ListRequest>) -> BoxFuture<'static, Listed>,
    templates: fn(Arc<S>, Context) -> BoxFuture<'static, Templates>,
    read: fn(Arc<S>, String, Client) -> BoxFuture<'static, Contents>,
    watch: fn(Arc<S>, Context, String) -> BoxFuture<'static, Watched>,
    pub(crate) complete: CompleteOf<S>,
}

impl<S: Send + Sync + 'static> ResourcesEntry<S> {
    pub(crate) fn of<R: Resources<S>>() -> ResourcesEntry<S> {
        ResourcesEntry {
            list: |state, request| Box::pin(async move { R::list(&state, &request).await }),
            templates: |state, context| Box::pin(async move { R::templates(&state, &context).await }),
            read: |state, uri, client| Box::pin(async move { R::read(&state, &uri, client).await }),
            watch: |state, context, uri| Box::pin(async move { R::watch(&state, &context, &uri).await }),
            complete: |state, context, template, typed| {
                Box::pin(async move { R::complete(&state, &context, &template, &typed).await })
            },
        }
    }

    pub(crate) async fn list(
        &self,
        state: Arc<S>,
        request: Arc<ListRequest>,
    ) -> Result<Page<types::Resource>, RpcError> {
        (self.list)(state, request).await.map_err(refusal)
    }

    pub(crate) async fn templates(
        &self,
        state: Arc<S>,
        context: Context,
    ) -> Result<Vec<ResourceTemplate>, RpcError> {
        (self.templates)(state, context).await.map_err(refusal)
    }

    /// Reads a resource, if it is one of these.
    pub(crate) async fn read(
        &self,
        state: Arc<S>,
        asker: Asker,
        changes: Changes,
        uri: &str,
    ) -> Result<Option<ReadResourceResult>, Failure> {
        let contents = (self.read)(state, uri.to_owned(), Client::new(asker, changes)).await?;
        Ok(contents.map(|contents| ReadResourceResult::new(contents, 0, CacheScope::Private)))
    }

    /// Whether a resource is one of these, and a client may hear of its changes.
    pub(crate) async fn watch(&self, state: Arc<S>, context: Context, uri: &str) -> Result<bool, Failure> {
        (self.watch)(state, context, uri.to_owned()).await
    }
}
