//! The session that our client plays with the servers of other SDKs: the one that their clients play with ours.

use std::sync::{Arc, Mutex};

use mcp_protocols::REVISIONS;
use mcp_protocols::types::*;
use mcp_runtime::{Error, Options, Outcome, RpcError, Transport};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Reports;
use mcp_protocols::mcp_2025_11_25::{Active, McpClient, client};

/// The text that a tool returns.
pub(crate) fn text_of(result: Result<CallToolResult, Error>) -> String {
    result.unwrap().first_text().unwrap().to_owned()
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
        let asked = params.messages[0].content.first_text().unwrap();
        assert!(asked.contains("two and two"), "{asked}");
        let text = TextContent::new("four");
        Ok(CreateMessageResult::new(Role::Assistant, text, "calculator"))
    }

    async fn elicit(&self, _: client::Context, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let ElicitParams::Form(form) = params else { panic!("{params:?}") };
        assert_eq!(form.message, "who are you");
        Ok(ElicitResult::new(ElicitAction::Accept).content([("name".to_owned(), "Ada".into())]))
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
    test_support::spawn(client.incoming().serve(Human { logs }));
    let can = ClientCapabilities::new()
        .sampling(SamplingCapability::new())
        .elicitation(ElicitationCapability::new());
    let params = InitializeParams::new(revision, can, Implementation::new("ours", "1.0.0"));
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
    let Value::Object(arguments) = arguments else { panic!("{arguments}") };
    client.call_tool(CallToolParams::new(name).arguments(arguments))
}

/// Plays a whole session. Gives the server's name, and what the session came to.
pub(crate) async fn play(transport: impl Transport, revision: &str, reports: &Reports) -> (String, Outcome) {
    let (server, client, mut logged) = begin(transport, revision, reports).await;
    assert_eq!(names(&client).await, TOOLS);
    let call = |name: &str, arguments: Value| call(&client, name, arguments);
    let text = async |name: &str, arguments: Value| text_of(call(name, arguments).await);

    let (one, other) = tokio::join!(
        text("echo", json!({ "message": "grüße" })),
        text("echo", json!({ "message": "twice" }))
    );
    assert_eq!((one.as_str(), other.as_str()), ("grüße", "twice"));

    client.set_level(SetLevelParams::new(LoggingLevel::Debug)).await.unwrap();
    let progress = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&progress);
    let counted = call("count", json!({ "to": 3 })).on_progress(move |report: ProgressParams| {
        noted.lock().unwrap().push((report.progress, report.total))
    });
    assert_eq!(text_of(counted.await), "counted to 3");
    assert_eq!(*progress.lock().unwrap(), [1, 2, 3].map(|step| (Number::from(step), Some(3.into()))));
    assert_eq!(logged.recv().await.unwrap(), "counted 3");

    assert_eq!(text("ask_model", json!({ "question": "two and two" })).await, "calculator: four");
    // These servers ask whatever the revision; one that has no such request is answered so.
    let asked = call("ask_user", json!({ "message": "who are you" })).await;
    match revision {
        "2024-11-05" | "2025-03-26" => assert_refused(asked),
        _ => assert_eq!(text_of(asked), "accept: Ada"),
    }

    let mut held = call("hold", json!({}));
    let canceller = held.canceller();
    let held = held.on_progress(move |_: ProgressParams| canceller.cancel().unwrap()).await;
    assert!(matches!(held, Err(Error::Cancelled)), "{held:?}");
    assert_eq!(text("wait_for_cancel", json!({})).await, "cancelled");
    assert_eq!(text("release_connection", json!({})).await, "still here");

    let note = ResourceParams::new("desk://note");
    let contents = client.read_resource(note.clone()).await.unwrap().contents;
    assert_eq!(contents[0].as_text(), Some("buy milk"));
    let mut subscription = client.subscribe(note.clone()).await.unwrap();
    let touch = text("touch", json!({ "uri": note.uri }));
    let (touched, updated) = tokio::join!(touch, subscription.recv_resource_updated());
    assert_eq!((touched.as_str(), updated.unwrap()), ("touched", ResourceUpdatedParams::new(&note.uri)));
    subscription.unsubscribe(note).await.unwrap();

    let refused = call("nothing", json!({})).await;
    assert!(matches!(&refused, Err(Error::Refused(RpcError { code: -32602, .. }))), "{refused:?}");
    (server, client.close().await.unwrap())
}

fn assert_refused(asked: Result<CallToolResult, Error>) {
    match asked {
        Ok(result) => assert_eq!(result.is_error, Some(true), "{result:?}"),
        Err(Error::Refused(_)) => {}
        Err(other) => panic!("{other:?}"),
    }
}
