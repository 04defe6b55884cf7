//! Serves a handler to clients of the revisions with a handshake: one session for each.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_core::future::BoxFuture;
use mcp_runtime::{Error, RpcError, Transport, negotiate_version};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::changes::{Change, offered};
use super::context::{Ask, Asker, Context, LogLevel};
use super::handler::{Handler, Offer};
use super::newer::WithMeta;
use super::older::{self, recast};
use super::served::Served;
use crate::mcp_2025_11_25::server::{self, Subscription, WatchedNext};
use crate::mcp_2025_11_25::types::{
    CallToolParams, CallToolResult, CompleteParams, CompleteResult, GetPromptParams, GetPromptResult,
    InitializeParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedParams, ReadResourceResult, ResourceParams, ResourceUpdatedParams,
    SetLevelParams,
};
use crate::mcp_2025_11_25::{Active, McpError, McpServer, Subscribing};
use crate::mcp_2026_07_28::types as newer;
use crate::rounds::{Answers, AskError, Retry, Round, unless_cancelled};
use crate::together::try_all;

/// How many times a handler may answer a request with what it asks for: one that asks for more never stops asking.
const MOST_ROUNDS: usize = 16;

/// How long a question waits for the client to be ready: a message that overtook `initialized` came just before it.
const INITIALIZED_WITHIN: Duration = Duration::from_secs(10);

/// Serves one session to its end.
pub(super) async fn serve<H: Handler>(transport: impl Transport, served: Served<H>) -> Result<(), McpError> {
    let spoken = &served.spoken;
    let options = served.options.clone().revisions(spoken.tables());
    // Also where the revision that the tables of this program are of is not spoken.
    let options = options.accept_versions(spoken.sessions().iter().copied());
    let session = McpServer::with_options(transport, options);
    let (opening, initialized) = watch::channel(());
    let handler = SessionAnswers {
        served: served.clone(),
        initialized,
        client: Arc::default(),
        level: Arc::default(),
        urls: Arc::default(),
    };
    let client = Arc::clone(&handler.client);
    let incoming = session.incoming();
    let (running, mut over) = watch::channel(());
    let handlers = async {
        incoming.serve(handler).await;
        drop(running);
    };
    let steps = async {
        let (params, session) = session.recv_initialize().await?;
        let version = negotiate_version(served.spoken.sessions(), &params.protocol_version);
        let offer = served.handler.offer();
        let wanted = newer::SubscriptionFilter::new()
            .tools_list_changed(true)
            .prompts_list_changed(true)
            .resources_list_changed(true);
        let mut changes = served.changes.subscribe(offered(wanted, &offer.capabilities));
        // It is set once, here.
        let _ = client.set(session_meta(version, &params));
        let session = session.send_initialize_result(welcome(version, offer)).await?;
        let session = session.recv_initialized().await?;
        drop(opening);
        loop {
            tokio::select! {
                // The client is gone, and all that it asked for is answered.
                _ = over.changed() => break,
                Some(changed) = changes.next() => tell(&session, changed).await?,
            }
        }
        session.close().await?;
        Ok(())
    };
    let ((), ended) = tokio::join!(handlers, steps);
    match ended {
        // The client has left, which it may do at any time: before it has initialized the session, for instance.
        Err(McpError::Disconnected { reason }) if reason.peer_left() => Ok(()),
        ended => ended,
    }
}

fn welcome(version: &str, offer: Offer) -> InitializeResult {
    // What a server offers can be said in both eras, but for extensions, which the older one ignores.
    let capabilities = older::server_capabilities(&offer.capabilities).unwrap_or_default();
    let welcome = InitializeResult::new(version, capabilities, offer.server_info);
    InitializeResult { instructions: offer.instructions, ..welcome }
}

/// What each request of a session says in the revision without a handshake.
fn session_meta(version: &str, params: &InitializeParams) -> newer::RequestMeta {
    let can = recast::<newer::ClientCapabilities>(&params.capabilities).unwrap_or_default();
    newer::RequestMeta::new(version, can).client_info(params.client_info.clone())
}

async fn tell(session: &McpServer<Active>, changed: Vec<Change>) -> Result<(), McpError> {
    for change in changed {
        match change {
            Change::Tools => session.send_tools_list_changed().await?,
            Change::Prompts => session.send_prompts_list_changed().await?,
            Change::Resources => session.send_resources_list_changed().await?,
            // Resources have subscriptions.
            Change::Resource(_) => {}
        }
    }
    Ok(())
}

/// Answers the requests of one session.
struct SessionAnswers<H> {
    served: Served<H>,
    /// Closed once the client has said that it is ready to be asked, or will not.
    initialized: watch::Receiver<()>,
    /// Set by the handshake, before any request.
    client: Arc<OnceLock<newer::RequestMeta>>,
    level: Arc<LogLevel>,
    /// How many elicitations by URL there were.
    urls: Arc<AtomicU64>,
}

impl<H: Handler> SessionAnswers<H> {
    /// Params as the handler sees them.
    fn newer<P: WithMeta>(&self, params: P) -> P::Newer {
        params.with_meta(&self.meta())
    }

    /// What the client has said in the handshake. A request that comes before it is refused before it reaches a handler.
    fn meta(&self) -> newer::RequestMeta {
        let unknown = || newer::RequestMeta::new("", newer::ClientCapabilities::new());
        self.client.get().cloned().unwrap_or_else(unknown)
    }

    fn context(&self, context: server::Context, meta: &newer::RequestMeta) -> Context {
        Context::of_session(context, meta.clone(), Arc::clone(&self.level))
    }

    /// Answers a request that may take several rounds. The client is asked in requests of the session. If it cancels the
    /// request, the handler is dropped, as in the other era: what it has asked for is cancelled.
    async fn rounds<P, F, T>(
        &self,
        context: server::Context,
        mut params: P,
        handle: impl Fn(Asker, P) -> F,
    ) -> Result<T, RpcError>
    where
        P: Retry + Sync,
        F: Future<Output = Result<Round<P::Result>, RpcError>>,
        T: From<P::Result>,
    {
        let meta = params.meta().clone();
        let session = SessionAsker {
            context: self.context(context.clone(), &meta),
            session: context.clone(),
            initialized: self.initialized.clone(),
            timeout: self.served.options.timeout,
            can: meta.client_capabilities,
            urls: Arc::clone(&self.urls),
        };
        let rounds = async {
            for _ in 0..MOST_ROUNDS {
                let asked = match handle(Asker::new(session.clone()), params.clone()).await? {
                    Round::Done(result) => return Ok(result.into()),
                    Round::InputRequired(asked) => asked,
                };
                let answers = match asked.input_requests {
                    Some(questions) => Some(session.ask(questions.into_iter().collect()).await?),
                    None => None,
                };
                params = params.again(answers, asked.request_state);
            }
            Err(RpcError::internal_error(format!("the handler still asks after {MOST_ROUNDS} rounds")))
        };
        let answered = unless_cancelled(context.cancelled(), rounds).await;
        answered.unwrap_or_else(|| Err(context.cancelled_error()))
    }
}

impl<H: Handler> server::Handler for SessionAnswers<H> {
    async fn list_tools(
        &self,
        context: server::Context,
        params: Option<PaginatedParams>,
    ) -> Result<ListToolsResult, RpcError> {
        let params = self.newer(params.unwrap_or_default());
        Ok(self.served.handler.list_tools(self.context(context, &params.meta), params).await?.into())
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        let handler = &self.served.handler;
        self.rounds(context, self.newer(params), |asker, params| handler.call_tool(asker, params)).await
    }

    async fn list_resources(
        &self,
        context: server::Context,
        params: Option<PaginatedParams>,
    ) -> Result<ListResourcesResult, RpcError> {
        let params = self.newer(params.unwrap_or_default());
        Ok(self.served.handler.list_resources(self.context(context, &params.meta), params).await?.into())
    }

    async fn list_resource_templates(
        &self,
        context: server::Context,
        params: Option<PaginatedParams>,
    ) -> Result<ListResourceTemplatesResult, RpcError> {
        let params = self.newer(params.unwrap_or_default());
        let context = self.context(context, &params.meta);
        Ok(self.served.handler.list_resource_templates(context, params).await?.into())
    }

    async fn read_resource(
        &self,
        context: server::Context,
        params: ResourceParams,
    ) -> Result<ReadResourceResult, RpcError> {
        let handler = &self.served.handler;
        self.rounds(context, self.newer(params), |asker, params| handler.read_resource(asker, params)).await
    }

    async fn list_prompts(
        &self,
        context: server::Context,
        params: Option<PaginatedParams>,
    ) -> Result<ListPromptsResult, RpcError> {
        let params = self.newer(params.unwrap_or_default());
        Ok(self.served.handler.list_prompts(self.context(context, &params.meta), params).await?.into())
    }

    async fn get_prompt(
        &self,
        context: server::Context,
        params: GetPromptParams,
    ) -> Result<GetPromptResult, RpcError> {
        let handler = &self.served.handler;
        self.rounds(context, self.newer(params), |asker, params| handler.get_prompt(asker, params)).await
    }

    async fn complete(
        &self,
        context: server::Context,
        params: CompleteParams,
    ) -> Result<CompleteResult, RpcError> {
        let params = self.newer(params);
        Ok(self.served.handler.complete(self.context(context, &params.meta), params).await?.into())
    }

    async fn set_level(&self, _: server::Context, params: SetLevelParams) -> Result<(), RpcError> {
        self.level.set(params.level);
        Ok(())
    }

    async fn subscribe(
        &self,
        context: server::Context,
        params: ResourceParams,
        subscription: Subscription<Subscribing>,
    ) {
        // It fails if the session ends, which the session reports.
        let _ = self.watch(context, params.uri, subscription).await;
    }

    async fn unsubscribe(&self, _: server::Context, _: ResourceParams) -> Result<(), RpcError> {
        // There is nothing to end: a subscription that runs gets this request itself.
        Ok(())
    }
}

impl<H: Handler> SessionAnswers<H> {
    /// Tells of the changes of a resource until the client unsubscribes.
    async fn watch(
        &self,
        context: server::Context,
        uri: String,
        subscription: Subscription<Subscribing>,
    ) -> Result<(), McpError> {
        let context = self.context(context, &self.meta());
        // From before the handler begins to watch it, so that nothing is missed.
        let filter = newer::SubscriptionFilter::new().resource_subscriptions([uri.clone()]);
        let mut changes = self.served.changes.subscribe(filter);
        if let Err(error) = self.served.handler.watch(context, &uri).await {
            return Ok(subscription.refuse(error).await?);
        }
        let mut subscription = subscription.send_subscribed().await?;
        loop {
            tokio::select! {
                () = subscription.readable() => match subscription.next().await? {
                    WatchedNext::ResourcesSubscribe(_, again) => subscription = again.send_subscribed().await?,
                    WatchedNext::ResourcesUnsubscribe(_, leaving) => {
                        return Ok(leaving.send_unsubscribed().await?);
                    }
                },
                Some(_) = changes.next() => {
                    subscription.send_resource_updated(ResourceUpdatedParams::new(&uri)).await?;
                }
            }
        }
    }
}

/// Asks the client of a session.
#[derive(Clone)]
struct SessionAsker {
    context: Context,
    session: server::Context,
    initialized: watch::Receiver<()>,
    /// How long a question may take.
    timeout: Option<Duration>,
    can: newer::ClientCapabilities,
    urls: Arc<AtomicU64>,
}

impl Ask for SessionAsker {
    fn context(&self) -> Context {
        self.context.clone()
    }

    fn ask(&self, questions: Vec<(String, newer::InputRequest)>) -> BoxFuture<'_, Result<Answers, AskError>> {
        Box::pin(async move {
            AskError::undeclared(&self.can, questions.iter().map(|(name, question)| (name, question)))?;
            if let Some((name, _)) = questions.first()
                && !self.is_initialized().await
            {
                return Err(AskError::NotInitialized { name: name.clone() });
            }
            let answer = |(name, question): (String, newer::InputRequest)| async move {
                let answer = self.answer(&name, question).await?;
                Ok((name, answer))
            };
            let answers = try_all(questions.into_iter().map(answer)).await?;
            Ok(answers.into_iter().collect::<BTreeMap<_, _>>())
        })
    }
}

impl SessionAsker {
    /// Waits for `initialized`: a request may come before it, and a server asks only after it. Returns whether it came,
    /// or the session ended.
    async fn is_initialized(&self) -> bool {
        let mut initialized = self.initialized.clone();
        let closed = async { while initialized.changed().await.is_ok() {} };
        let within = self.timeout.map_or(INITIALIZED_WITHIN, |timeout| timeout.min(INITIALIZED_WITHIN));
        tokio::time::timeout(within, closed).await.is_ok()
    }

    async fn answer(
        &self,
        name: &str,
        question: newer::InputRequest,
    ) -> Result<newer::InputResponse, AskError> {
        // It is declared, but the revision of the session does not have it, or not all that it has in the latest one.
        let unknown = || AskError::unknown(name, &question);
        let refused = |error| match error {
            Error::Refused(error) => AskError::Refused { name: name.to_owned(), error: Box::new(error) },
            Error::NotPermitted(_) => unknown(),
            // Its answer is one that the protocol does not have.
            error @ (Error::Payload { .. } | Error::InvalidReply(_)) => AskError::wrong(name, error),
            error if error.is_timeout() => AskError::TimedOut { name: name.to_owned() },
            _ => AskError::Over,
        };
        let peer = self.session.peer();
        match &question {
            newer::InputRequest::ElicitationCreate(asked) => {
                let id = || self.urls.fetch_add(1, Ordering::Relaxed).to_string();
                let params = older::elicit(&asked.params, id).map_err(|_| unknown())?;
                let answer = peer.elicit(params).await.map_err(refused)?;
                again::<newer::ElicitResult>(name, &answer).map(Into::into)
            }
            newer::InputRequest::SamplingCreateMessage(asked) => {
                let params = recast(&asked.params).map_err(|_| unknown())?;
                let answer = peer.create_message(params).await.map_err(refused)?;
                again::<newer::CreateMessageResult>(name, &answer).map(Into::into)
            }
            newer::InputRequest::RootsList(_) => {
                let answer = peer.list_roots(None).await.map_err(refused)?;
                again::<newer::ListRootsResult>(name, &answer).map(Into::into)
            }
        }
    }
}

/// An answer as the handler sees it.
fn again<T: DeserializeOwned>(name: &str, answer: &impl Serialize) -> Result<T, AskError> {
    recast(answer).map_err(|error| AskError::wrong(name, error))
}
