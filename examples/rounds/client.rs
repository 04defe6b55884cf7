//! The client: its user is asked while a tool runs, and it hears of new tools in a subscription.

use mcp_protocols::mcp_2026_07_28::McpClient;
use mcp_protocols::mcp_2026_07_28::client::SubscribedNext;
use mcp_protocols::mcp_2026_07_28::types::*;
use mcp_protocols::rounds::{Answering, User};
use mcp_runtime::{RpcError, Transport};

/// A user who has one answer to everything.
pub(crate) struct Ada;

impl User for Ada {
    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let ElicitParams::Form(form) = params else {
            return Ok(ElicitResult::new(ElicitAction::Decline));
        };
        let answer = |field: &String| (field.clone(), FieldValue::from("Ada"));
        let content = form.requested_schema.properties.keys().map(answer);
        Ok(ElicitResult::new(ElicitAction::Accept).content(content))
    }
}

fn meta() -> RequestMeta {
    let can = ClientCapabilities::new().elicitation(ElicitationCapability::new());
    RequestMeta::new("2026-07-28", can).client_info(Implementation::new("rounds", "1.0.0"))
}

/// Calls the tools of a server, and returns what it said.
pub(crate) async fn run(
    transport: impl Transport,
    user: impl User,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let client = McpClient::new(transport);
    let mut said = Vec::new();
    let found = client.discover(RequestParams::new(meta())).await?;
    said.push(format!("revisions: {}", found.supported_versions.join(", ")));

    let wanted = SubscriptionFilter::new().tools_list_changed(true);
    let subscription =
        client.send_subscriptions_listen(SubscriptionsListenParams::new(wanted, meta())).await?;
    let (_, subscription) = subscription.recv_subscriptions_acknowledged().await?;

    let answering = Answering::new(user);
    for tool in ["greet", "learn", "count"] {
        let params = CallToolParams::new(tool, meta());
        let result = answering.call(params, |params| client.call_tool(params)).await?;
        let texts = result.content.iter().filter_map(|content| match content {
            ContentBlock::Text(content) => Some(&*content.text),
            _ => None,
        });
        said.push(format!("{tool}: {}", texts.collect::<String>()));
    }
    match subscription.next().await? {
        SubscribedNext::ToolsListChanged(_, subscription) => {
            let tools = client.list_tools(PaginatedParams::new(meta())).await?.tools;
            let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
            said.push(format!("tools: {}", names.join(", ")));
            // Dropping it cancels the request, and with that the subscription.
            drop(subscription);
        }
        other => said.push(format!("the server ended the subscription: {other:?}")),
    }
    client.close().await?;
    Ok(said)
}
