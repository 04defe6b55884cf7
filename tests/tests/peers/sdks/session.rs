//! The session that our client plays with the servers of other SDKs: the one that their clients play with ours.

use std::sync::{Arc, Mutex};

use mcp_protocols::REVISIONS;
use mcp_protocols::types::*;
use mcp_runtime::{Error, Options, Outcome, RpcError, Transport};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Reports;
use mcp_protocols::mcp_2025_11_25::{Active, McpClient, client};

/// A payload written as JSON.
pub(crate) fn read<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

/// The client's handler: answers requests, and records notifications.
pub(crate) struct Human {
    logs: mpsc::UnboundedSender<Value>,
}

impl client::Handler for Human {
    async fn create_message(
        &self,
        _: client::Context,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, RpcError> {
        let asked = json!(params.messages)[0]["content"]["text"].clone();
        assert!(asked.as_str().unwrap().contains("two and two"), "{asked}");
        Ok(read(json!({
            "role": "assistant", "model": "calculator", "content": { "type": "text", "text": "four" },
        })))
    }

    async fn elicit(&self, _: client::Context, params: Value) -> Result<ElicitResult, RpcError> {
        assert_eq!(params["message"], "who are you");
        Ok(read(json!({ "action": "accept", "content": { "name": "Ada" } })))
    }

    async fn log_message(&self, _: client::Context, params: LoggingMessageParams) {
        // The test may have heard enough.
        let _ = self.logs.send(params.data);
    }
}

/// A session, after the handshake, in a revision; and what the server logs.
pub(crate) async fn begin(
    transport: impl Transport,
    revision: &str,
    reports: &Reports,
) -> (String, McpClient<Active>, mpsc::UnboundedReceiver<Value>) {
    let options: Options = reports.options().revisions(REVISIONS);
    let client = McpClient::with_options(transport, options);
    let (logs, logged) = mpsc::unbounded_channel();
    tokio::spawn(client.incoming().serve(Human { logs }));
    let params = read(json!({
        "protocolVersion": revision,
        "capabilities": { "sampling": {}, "elicitation": {} },
        "clientInfo": { "name": "ours", "version": "1.0.0" },
    }));
    let (result, client) = client.initialize(params).await.unwrap();
    assert_eq!(result.protocol_version, revision);
    (result.server_info.name, client.send_initialized().await.unwrap(), logged)
}

/// What every one of the servers can do.
pub(crate) const TOOLS: [&str; 8] =
    ["echo", "count", "ask_model", "ask_user", "hold", "wait_for_cancel", "release_connection", "touch"];

/// The tools that the server lists.
pub(crate) async fn names(client: &McpClient<Active>) -> Vec<String> {
    let tools = client.list_tools(None).await.unwrap().tools;
    tools.into_iter().map(|tool| tool.name).collect()
}

/// A call of a tool.
pub(crate) fn call<'a>(
    client: &'a McpClient<Active>,
    name: &str,
    arguments: Value,
) -> client::CancellableCall<'a, CallToolResult> {
    client.call_tool(read(json!({ "name": name, "arguments": arguments })))
}

/// Plays a whole session. Gives the server's name, and what the session came to.
pub(crate) async fn play(transport: impl Transport, revision: &str, reports: &Reports) -> (String, Outcome) {
    let (server, client, mut logged) = begin(transport, revision, reports).await;
    assert_eq!(names(&client).await, TOOLS);
    let call = |name: &str, arguments: Value| call(&client, name, arguments);
    let text = async |name: &str, arguments: Value| call(name, arguments).await.unwrap().all_text();

    let (one, other) = tokio::join!(
        text("echo", json!({ "message": "grüße" })),
        text("echo", json!({ "message": "twice" }))
    );
    assert_eq!((one.as_str(), other.as_str()), ("grüße", "twice"));

    client.set_level(json!({ "level": "debug" })).await.unwrap();
    let progress = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&progress);
    let counted = call("count", json!({ "to": 3 })).on_progress(move |report: ProgressParams| {
        noted.lock().unwrap().push((report.progress, report.total))
    });
    assert_eq!(counted.await.unwrap().all_text(), "counted to 3");
    assert_eq!(*progress.lock().unwrap(), [1.0, 2.0, 3.0].map(|step| (step, Some(3.0))));
    assert_eq!(logged.recv().await.unwrap(), "counted 3");

    assert_eq!(text("ask_model", json!({ "question": "two and two" })).await, "calculator: four");
    // These servers ask whatever the revision; one that has no such request is answered so.
    let asked = call("ask_user", json!({ "message": "who are you" })).await;
    match revision {
        "2024-11-05" | "2025-03-26" => assert_refused(asked),
        _ => assert_eq!(asked.unwrap().all_text(), "accept: Ada"),
    }

    let mut held = call("hold", json!({}));
    let canceller = held.canceller();
    let held = held.on_progress(move |_: ProgressParams| canceller.cancel().unwrap()).await;
    assert!(matches!(held, Err(Error::Cancelled)), "{held:?}");
    assert_eq!(text("wait_for_cancel", json!({})).await, "cancelled");
    assert_eq!(text("release_connection", json!({})).await, "still here");

    let uri = json!({ "uri": "desk://note" });
    let contents = client.read_resource(read(uri.clone())).await.unwrap().contents;
    assert_eq!(contents[0].text.as_deref(), Some("buy milk"));
    let mut subscription = client.subscribe(uri.clone()).await.unwrap();
    let (touched, updated) = tokio::join!(text("touch", uri.clone()), subscription.recv_resource_updated());
    assert_eq!((touched.as_str(), updated.unwrap()), ("touched", uri.clone()));
    subscription.unsubscribe(uri).await.unwrap();

    let refused = call("nothing", json!({})).await;
    assert!(matches!(&refused, Err(Error::Refused(RpcError { code: -32602, .. }))), "{refused:?}");
    (server, client.close().await.unwrap())
}

fn assert_refused(asked: Result<CallToolResult, Error>) {
    match asked {
        Ok(result) => assert!(result.is_error, "{result:?}"),
        Err(Error::Refused(_)) => {}
        Err(other) => panic!("{other:?}"),
    }
}
