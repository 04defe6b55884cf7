//! The client: its user answers, and it hears of changes, whatever the server speaks.

use std::error::Error;
use std::sync::mpsc;

use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Change, Client, Connector};
use mcp_protocols::rounds::User;
use mcp_runtime::RpcError;

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

pub(crate) fn connector() -> Connector<Ada> {
    let can = ClientCapabilities::new().elicitation(ElicitationCapability::new());
    Connector::new(Implementation::new("eras", "1.0.0"), can, Ada)
}

/// Uses what a server offers, and returns what it said.
pub(crate) async fn talk(client: Client<Ada>) -> Result<Vec<String>, Box<dyn Error>> {
    let mut said = vec![format!("{} in {}", client.offer().server_info.name, client.version())];
    let wanted = SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(["desk://note"]);
    let mut listening = client.listen(wanted).await?;
    for tool in ["greet", "learn", "count", "climb"] {
        let (climbed, progress) = mpsc::channel();
        let result = client
            .call_tool(CallToolParams::new(tool, client.meta()))
            .on_progress(move |report| _ = climbed.send(report.progress))
            .await?;
        let steps: Vec<String> = progress.try_iter().map(|step| format!("{step}, ")).collect();
        said.push(format!("{tool}: {}{}", steps.concat(), result.first_text().unwrap_or("nothing")));
    }
    if listening.next().await == Some(Change::Tools) {
        let tools = client.list_tools(PaginatedParams::new(client.meta())).await?.tools;
        said.push(format!("tools: {}", tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>().join(", ")));
    }
    client.call_tool(CallToolParams::new("write", client.meta()).with_argument("text", "buy bread")).await?;
    if let Some(Change::Resource(uri)) = listening.next().await {
        let note = client.read_resource(ReadResourceParams::new(uri, client.meta())).await?;
        said.push(format!(
            "note: {}",
            note.contents.iter().filter_map(|part| part.as_text()).collect::<String>()
        ));
    }
    drop(listening);
    client.close().await?;
    Ok(said)
}
