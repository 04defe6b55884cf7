//! Serves a handler to clients of the revision without a handshake: each request by itself.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use mcp_runtime::RpcError;

use super::changes::{Change, offered};
use super::context::{Ask, Asker, Context};
use super::handler::Handler;
use super::served::Served;
use crate::mcp_2026_07_28::server::{
    self, PromptsGetReply, ResourcesReadReply, Subscription, ToolsCallReply,
};
use crate::mcp_2026_07_28::types::{
    CacheScope, CallToolParams, CompleteParams, CompleteResult, DiscoverResult, GetPromptParams,
    InputRequest, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    NotificationMeta, NotificationParams, PaginatedParams, ReadResourceParams, RequestMeta, RequestParams,
    ResourceUpdatedParams, ResultMeta, ResultType, SubscriptionClosedResult, SubscriptionsAcknowledgedParams,
    SubscriptionsListenParams,
};
use crate::mcp_2026_07_28::{McpError, Subscribing};
use crate::rounds::{self, Answers, AskError, Retry, Round};

/// Answers the requests of one client.
pub(super) struct Requests<H>(pub(super) Served<H>);

impl<P: Retry + Sync> Ask for rounds::RoundAsker<P> {
    fn context(&self) -> Context {
        Context::of_request(rounds::RoundAsker::context(self), self.params().meta().clone())
    }

    fn ask(&self, questions: Vec<(String, InputRequest)>) -> BoxFuture<'_, Result<Answers, AskError>> {
        Box::pin(rounds::RoundAsker::ask(self, questions))
    }
}

/// Every result says what it is, unless the handler has said so.
macro_rules! complete {
    ($result:expr) => {{
        let mut result = $result;
        result.result_type.get_or_insert(ResultType::Complete);
        result
    }};
}

/// The last round of a request, which says what it is.
macro_rules! last_round {
    ($round:expr) => {
        match $round {
            Round::Done(result) => Round::Done(complete!(result)),
            asked => asked,
        }
    };
}

/// The context of a request that the server answers in its revision.
fn begin(context: server::Context, meta: &RequestMeta) -> Context {
    Context::of_request(context, meta.clone())
}

impl<H: Handler> server::Handler for Requests<H> {
    async fn discover(&self, _: server::Context, _: RequestParams) -> Result<DiscoverResult, RpcError> {
        let offer = self.0.handler.offer();
        let supported = self.0.spoken.latest_first();
        let meta = ResultMeta::new().server_info(offer.server_info);
        // What a server offers may change while it runs, so the result is not kept.
        let result = DiscoverResult::new(supported, offer.capabilities, 0, CacheScope::Private).meta(meta);
        Ok(DiscoverResult { instructions: offer.instructions, ..complete!(result) })
    }

    async fn list_tools(
        &self,
        context: server::Context,
        params: PaginatedParams,
    ) -> Result<ListToolsResult, RpcError> {
        let context = begin(context, &params.meta);
        Ok(complete!(self.0.handler.list_tools(context, params).await?))
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<ToolsCallReply, RpcError> {
        let (rounds, handler) = (self.0.rounds(&context, &params.meta), Arc::clone(&self.0.handler));
        let call = |asker: rounds::RoundAsker<CallToolParams>| async move {
            let params = asker.params();
            Ok(last_round!(handler.call_tool(Asker::new(asker), params).await?))
        };
        rounds.run(context, params, call).await
    }

    async fn list_resources(
        &self,
        context: server::Context,
        params: PaginatedParams,
    ) -> Result<ListResourcesResult, RpcError> {
        let context = begin(context, &params.meta);
        Ok(complete!(self.0.handler.list_resources(context, params).await?))
    }

    async fn list_resource_templates(
        &self,
        context: server::Context,
        params: PaginatedParams,
    ) -> Result<ListResourceTemplatesResult, RpcError> {
        let context = begin(context, &params.meta);
        Ok(complete!(self.0.handler.list_resource_templates(context, params).await?))
    }

    async fn read_resource(
        &self,
        context: server::Context,
        params: ReadResourceParams,
    ) -> Result<ResourcesReadReply, RpcError> {
        let (rounds, handler) = (self.0.rounds(&context, &params.meta), Arc::clone(&self.0.handler));
        let read = |asker: rounds::RoundAsker<ReadResourceParams>| async move {
            let params = asker.params();
            Ok(last_round!(handler.read_resource(Asker::new(asker), params).await?))
        };
        rounds.run(context, params, read).await
    }

    async fn list_prompts(
        &self,
        context: server::Context,
        params: PaginatedParams,
    ) -> Result<ListPromptsResult, RpcError> {
        let context = begin(context, &params.meta);
        Ok(complete!(self.0.handler.list_prompts(context, params).await?))
    }

    async fn get_prompt(
        &self,
        context: server::Context,
        params: GetPromptParams,
    ) -> Result<PromptsGetReply, RpcError> {
        let (rounds, handler) = (self.0.rounds(&context, &params.meta), Arc::clone(&self.0.handler));
        let get = |asker: rounds::RoundAsker<GetPromptParams>| async move {
            let params = asker.params();
            Ok(last_round!(handler.get_prompt(Asker::new(asker), params).await?))
        };
        rounds.run(context, params, get).await
    }

    async fn complete(
        &self,
        context: server::Context,
        params: CompleteParams,
    ) -> Result<CompleteResult, RpcError> {
        let context = begin(context, &params.meta);
        Ok(complete!(self.0.handler.complete(context, params).await?))
    }

    async fn subscriptions_listen(
        &self,
        context: server::Context,
        params: SubscriptionsListenParams,
        subscription: Subscription<Subscribing>,
    ) {
        // It fails if the client is gone, which needs no report.
        let _ = self.listen(&context, params, subscription).await;
    }
}

impl<H: Handler> Requests<H> {
    async fn listen(
        &self,
        context: &server::Context,
        params: SubscriptionsListenParams,
        subscription: Subscription<Subscribing>,
    ) -> Result<(), McpError> {
        let Some(id) = subscription.request_id() else { return Ok(()) };
        let meta = NotificationMeta::new().subscription_id(id.clone());
        let mut heard = offered(params.notifications, &self.0.handler.offer().capabilities);
        // From before the handler begins to watch resources, so that nothing is missed.
        let mut changes = self.0.changes.subscribe(heard.clone());
        for uri in heard.resource_subscriptions.take().into_iter().flatten() {
            let watching = Context::of_request(context.clone(), params.meta.clone());
            if self.0.handler.watch(watching, &uri).await.is_ok() {
                heard.resource_subscriptions.get_or_insert_default().push(uri);
            }
        }
        changes.set_filter(heard.clone());
        let acknowledged = SubscriptionsAcknowledgedParams::new(heard).meta(meta.clone());
        let mut subscription = subscription.send_subscriptions_acknowledged(acknowledged).await?;
        loop {
            let changed = tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                // A client that says nothing more does not wait for changes.
                () = context.peer_closed() => None,
                changed = changes.next() => changed,
            };
            let Some(changed) = changed else {
                subscription.send_subscription_closed(SubscriptionClosedResult::of(id)).await?;
                return Ok(());
            };
            for change in changed {
                let list = NotificationParams::new().meta(meta.clone());
                match change {
                    Change::Tools => subscription.send_tools_list_changed(list).await?,
                    Change::Prompts => subscription.send_prompts_list_changed(list).await?,
                    Change::Resources => subscription.send_resources_list_changed(list).await?,
                    Change::Resource(uri) => {
                        let params = ResourceUpdatedParams::new(uri).meta(meta.clone());
                        subscription.send_resource_updated(params).await?;
                    }
                }
            }
        }
    }
}
