//! The server: tools that ask, and a subscription to the list of tools.

use std::sync::Arc;

use mcp_protocols::mcp_2026_07_28::server::{self, ToolsCallReply};
use mcp_protocols::mcp_2026_07_28::types::*;
use mcp_protocols::mcp_2026_07_28::{McpServer, Subscribing};
use mcp_protocols::rounds::{Round, RoundAsker, Rounds, Seal, SealError, SealingKey};
use mcp_runtime::{RpcError, Transport};
use tokio::sync::watch;

/// Serves one client to its end.
pub(crate) async fn serve(transport: impl Transport) -> Result<(), SealError> {
    let server = McpServer::new(transport);
    server.incoming().serve(Desk::new()?).await;
    Ok(())
}

/// What all clients share.
#[derive(Clone)]
pub(crate) struct Desk {
    rounds: Rounds,
    seal: Seal,
    tools: Arc<watch::Sender<Vec<&'static str>>>,
}

impl Desk {
    pub(crate) fn new() -> Result<Desk, SealError> {
        // A server of several processes reads the key from where it keeps its secrets.
        let seal = Seal::new(SealingKey::random()?);
        let tools = Arc::new(watch::Sender::new(vec!["greet", "learn", "count"]));
        Ok(Desk { rounds: Rounds::new(), seal, tools })
    }

    /// Counts to three. Between the rounds nothing is kept: the client carries how far it has come.
    fn count(&self, params: &CallToolParams) -> Result<Round<CallToolResult>, RpcError> {
        let count = self.seal.open::<_, u32>(params)?.unwrap_or(0) + 1;
        if count == 3 {
            return Ok(Round::Done(result("one, two, three")));
        }
        let state = self.seal.seal(params, &count)?;
        Ok(Round::InputRequired(InputRequiredResult::new().request_state(state)))
    }
}

fn result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::new([TextContent::new(text).into()]).result_type(ResultType::Complete)
}

/// A form with the field `name`.
fn form(message: &str) -> ElicitFormParams {
    let name: FieldSchema = StringSchema::new().into();
    ElicitFormParams::new(message, FormSchema::new([("name".to_owned(), name)]))
}

fn name_in(answer: &ElicitResult) -> &str {
    match answer.content.as_ref().and_then(|content| content.get("name")) {
        Some(FieldValue::Text(name)) => name,
        _ => "stranger",
    }
}

impl server::Handler for Desk {
    async fn discover(&self, _: server::Context, _: RequestParams) -> Result<DiscoverResult, RpcError> {
        let offered = ServerCapabilities::new().tools(ToolsCapability::new().list_changed(true));
        let found = DiscoverResult::new(["2026-07-28"], offered, 60_000, CacheScope::Public);
        Ok(found.result_type(ResultType::Complete))
    }

    async fn list_tools(&self, _: server::Context, _: PaginatedParams) -> Result<ListToolsResult, RpcError> {
        let tools = self.tools.borrow().clone();
        let tools = tools.into_iter().map(|name| Tool::new(name, ObjectSchema::new()));
        Ok(ListToolsResult::new(tools, 0, CacheScope::Public).result_type(ResultType::Complete))
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<ToolsCallReply, RpcError> {
        match &*params.name {
            "greet" => {
                let greet = |asker: RoundAsker<CallToolParams>| async move {
                    let answer = asker.elicit(form("Who is there?")).await?;
                    Ok(result(format!("Hello, {}!", name_in(&answer))))
                };
                self.rounds.run(context, params, greet).await
            }
            "learn" => {
                self.tools.send_modify(|tools| tools.push("dance"));
                Ok(ToolsCallReply::ToolsResult(result("I can dance now.")))
            }
            "count" => self.count(&params).map(Into::into),
            other => Err(RpcError::invalid_params(format!("there is no tool `{other}`"))),
        }
    }

    async fn subscriptions_listen(
        &self,
        context: server::Context,
        params: SubscriptionsListenParams,
        subscription: server::Subscription<Subscribing>,
    ) {
        let mut tools = self.tools.subscribe();
        let Some(id) = subscription.request_id() else { return };
        let meta = NotificationMeta::new().subscription_id(id);
        let wanted = params.notifications.tools_list_changed == Some(true);
        let heard = SubscriptionFilter::new().tools_list_changed(wanted);
        let acknowledged = SubscriptionsAcknowledgedParams::new(heard).meta(meta.clone());
        let Ok(mut subscription) = subscription.send_subscriptions_acknowledged(acknowledged).await else {
            return;
        };
        loop {
            tokio::select! {
                () = subscription.cancelled() => return,
                // A client that says nothing more does not wait for changes.
                () = context.peer_closed() => return,
                _ = tools.changed(), if wanted => {
                    let changed = NotificationParams::new().meta(meta.clone());
                    if subscription.send_tools_list_changed(changed).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}
