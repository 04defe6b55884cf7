//! [`Prompts`]: prompts that are known only while the program runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use mcp_protocols::eras::types::{GetPromptParams, GetPromptResult};
use mcp_protocols::eras::{Asker, Changes, Context, types};
use mcp_runtime::RpcError;

use super::super::failure::{Failure, refusal};
use super::client::Client;
use super::page::{ListRequest, Page};
use super::suggestions::Suggestions;
use super::typed::Typed;

/// Prompts of a server with the state `S` that are known only while it runs, such as those of other servers or of a
/// directory. [`Server::prompts`](super::Server::prompts) adds them.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use mcp_kit::types::{self, GetPromptResult, Role};
/// use mcp_kit::{Client, Failure, ListRequest, Page, Prompts, Server, said};
///
/// /// Each is a text, by the name of the prompt.
/// struct Texts(BTreeMap<String, String>);
///
/// struct Text;
///
/// impl Prompts<Texts> for Text {
///     async fn list(texts: &Texts, _: &ListRequest) -> Result<Page<types::Prompt>, Failure> {
///         Ok(texts.0.keys().map(types::Prompt::new).collect())
///     }
///
///     async fn get(
///         texts: &Texts,
///         name: &str,
///         _: BTreeMap<String, String>,
///         _: Client,
///     ) -> Result<Option<GetPromptResult>, Failure> {
///         Ok(texts.0.get(name).map(|text| GetPromptResult::new([said(Role::User, text)])))
///     }
/// }
///
/// let server = Server::new("texts", "1.0.0", Texts(BTreeMap::new())).prompts::<Text>();
/// # drop(server);
/// ```
pub trait Prompts<S: Sync>: 'static {
    /// All of them, as the client that makes this request sees them; the server cuts them into pages. Where there are
    /// too many for that, a [`Page`] of them. If they change, say so with [`Server::changes`](super::Server::changes).
    fn list(
        state: &S,
        request: &ListRequest,
    ) -> impl Future<Output = Result<Page<types::Prompt>, Failure>> + Send;

    /// Fills in the one of this name; `None` if there is none. What the client can be asked stands in its
    /// [`context`](Client::context), and [`asker`](Client::asker) asks it.
    fn get(
        state: &S,
        name: &str,
        arguments: BTreeMap<String, String>,
        client: Client,
    ) -> impl Future<Output = Result<Option<GetPromptResult>, Failure>> + Send;

    /// Suggests values for an argument of the one of this name, of which the user has typed a part; `None` if it is
    /// not one of these, or has no suggestions.
    fn complete(
        state: &S,
        context: &Context,
        name: &str,
        typed: &Typed,
    ) -> impl Future<Output = Result<Option<Suggestions>, Failure>> + Send {
        let _ = (state, context, name, typed);
        std::future::ready(Ok(None))
    }
}

type Listed = Result<Page<types::Prompt>, Failure>;
type Got = Result<Option<GetPromptResult>, Failure>;

/// Suggests values for an argument of what has a name, or a URI.
pub(crate) type CompleteOf<S> = fn(Arc<S>, Context, String, Typed) -> BoxFuture<'static, Suggested>;

type Suggested = Result<Option<Suggestions>, Failure>;

/// Prompts that a server has.
pub(crate) struct PromptsEntry<S> {
    list: fn(Arc<S>, Arc<ListRequest>) -> BoxFuture<'static, Listed>,
    #[expect(clippy::type_complexity, reason = "it is called in one place")]
    get: fn(Arc<S>, String, BTreeMap<String, String>, Client) -> BoxFuture<'static, Got>,
    pub(crate) complete: CompleteOf<S>,
}

impl<S: Send + Sync + 'static> PromptsEntry<S> {
    pub(crate) fn of<P: Prompts<S>>() -> PromptsEntry<S> {
        PromptsEntry {
            list: |state, request| Box::pin(async move { P::list(&state, &request).await }),
            get: |state, name, arguments, client| {
                Box::pin(async move { P::get(&state, &name, arguments, client).await })
            },
            complete: |state, context, name, typed| {
                Box::pin(async move { P::complete(&state, &context, &name, &typed).await })
            },
        }
    }

    pub(crate) async fn list(
        &self,
        state: Arc<S>,
        request: Arc<ListRequest>,
    ) -> Result<Page<types::Prompt>, RpcError> {
        (self.list)(state, request).await.map_err(refusal)
    }

    /// Fills a prompt in, if it is one of these.
    pub(crate) async fn get(
        &self,
        state: Arc<S>,
        asker: Asker,
        changes: Changes,
        params: &GetPromptParams,
    ) -> Result<Option<GetPromptResult>, RpcError> {
        let arguments = params.arguments.clone().unwrap_or_default();
        let got = (self.get)(state, params.name.clone(), arguments, Client::new(asker, changes)).await;
        got.map_err(refusal)
    }
}
