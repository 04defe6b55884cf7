//! One server for every revision: it is written against the latest, and governed by the agreed one.

use mcp_protocols::mcp_2025_11_25::server::{self, WatchedNext};
use mcp_protocols::mcp_2025_11_25::{Active, McpError, McpServer, Subscribing, Uninit};
use mcp_protocols::types::*;
use mcp_protocols::{REVISIONS, VERSIONS};
use mcp_runtime::{Options, RpcError, Transport, negotiate_version};
use serde_json::Value;
use tokio::sync::watch;

/// Serves one session to its end.
pub(crate) async fn serve(transport: impl Transport, options: Options) -> Result<(), McpError> {
    let session = McpServer::with_options(transport, options.revisions(REVISIONS));
    let serving = tokio::spawn(session.incoming().serve(Desk::default()));
    let session = handshake(session).await;
    // From here on the handlers do everything. The session lives until the client closes it.
    let _ = serving.await;
    session.map(drop)
}

/// Runs the handshake, from the first message to `initialized`. The client gets the revision that it requests, or the
/// latest.
async fn handshake(session: McpServer<Uninit>) -> Result<McpServer<Active>, McpError> {
    let (params, session) = session.recv_initialize().await?;
    let version = negotiate_version(&VERSIONS, &params.protocol_version);
    let offered = ServerCapabilities::new()
        .tools(ToolsCapability::new())
        .resources(ResourcesCapability::new().subscribe(true))
        .logging(Object::new());
    let hello = InitializeResult::new(version, offered, Implementation::new("desk", "1.0.0"));
    session.send_initialize_result(hello).await?.recv_initialized().await
}

/// The state of one session.
#[derive(Default)]
struct Desk {
    /// The number of calls of `hold` that the client has cancelled.
    cancelled_calls: watch::Sender<usize>,
    /// The resource that was touched last; each touch is a change.
    touched: watch::Sender<String>,
}

const TOOLS: [(&str, &str); 8] = [
    ("echo", "Says it again"),
    ("count", "Counts to a number, and reports on it"),
    ("ask_model", "Asks the client's model"),
    ("ask_user", "Asks the client's user for a name"),
    ("hold", "Waits until the call is cancelled"),
    ("wait_for_cancel", "Waits until a call has been cancelled"),
    (
        "release_connection",
        "Ends the connection before it has answered, over which the client comes back for the answer",
    ),
    ("touch", "Tells those who watch a resource that it has changed"),
];

impl server::Handler for Desk {
    async fn list_tools(
        &self,
        _: server::Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListToolsResult, RpcError> {
        let tool = |(name, description)| Tool::new(name, ObjectSchema::new()).description(description);
        Ok(ListToolsResult::new(TOOLS.map(tool)))
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        let text = |key: &str| params.argument(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |key: &str| params.argument(key).and_then(Value::as_u64).unwrap_or_default();
        let result = match params.name.as_str() {
            "echo" => Ok(text("message")),
            "count" => count(&context, number("to")).await,
            "ask_model" => ask_model(&context, &text("question")).await,
            "ask_user" => ask_user(&context, &text("message")).await,
            "hold" => self.hold(&context).await,
            "wait_for_cancel" => {
                // This handler owns the sender, so the channel cannot close.
                let _ = self.cancelled_calls.subscribe().wait_for(|times| *times > 0).await;
                Ok("cancelled".to_owned())
            }
            "release_connection" => {
                context.release_connection();
                Ok("still here".to_owned())
            }
            "touch" => {
                self.touched.send_replace(text("uri"));
                Ok("touched".to_owned())
            }
            other => return Err(RpcError::invalid_params(format!("no tool is called `{other}`"))),
        };
        // A refusal of the client, or a missing capability, becomes a result that the client's model can read.
        Ok(result.map_or_else(|error| CallToolResult::error(error.to_string()), CallToolResult::text))
    }

    async fn list_resources(
        &self,
        _: server::Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListResourcesResult, RpcError> {
        Ok(ListResourcesResult::new([Resource::new("desk://note", "A note")]))
    }

    async fn read_resource(
        &self,
        _: server::Context,
        params: ResourceParams,
    ) -> Result<ReadResourceResult, RpcError> {
        match params.uri.as_str() {
            "desk://note" => {
                let note = TextResourceContents::new(params.uri, "buy milk");
                Ok(ReadResourceResult::new([note.into()]))
            }
            other => Err(RpcError::new(-32002, format!("no resource is at `{other}`"))),
        }
    }

    /// A subscription is a sub-session: it lasts until the client unsubscribes.
    async fn subscribe(
        &self,
        _: server::Context,
        params: ResourceParams,
        subscription: server::Subscription<Subscribing>,
    ) {
        // It fails only if the session ends, which the session reports.
        let _ = self.watch(params, subscription).await;
    }

    async fn set_level(&self, _: server::Context, _: SetLevelParams) -> Result<(), RpcError> {
        Ok(())
    }
}

impl Desk {
    async fn hold(&self, context: &server::Context) -> Result<String, McpError> {
        // The token of the call is filled in.
        context.send_progress(ProgressParams::new(0, 1)).await?;
        context.cancelled().await;
        self.cancelled_calls.send_modify(|times| *times += 1);
        Ok("the call was cancelled".to_owned())
    }

    async fn watch(
        &self,
        params: ResourceParams,
        subscription: server::Subscription<Subscribing>,
    ) -> Result<(), McpError> {
        let mut touched = self.touched.subscribe();
        let mut subscription = subscription.send_subscribed().await?;
        loop {
            tokio::select! {
                () = subscription.readable() => {}
                Ok(()) = touched.changed() => {
                    if params.uri == *touched.borrow_and_update() {
                        subscription.send_resource_updated(ResourceUpdatedParams::new(&params.uri)).await?;
                    }
                    continue;
                }
            }
            match subscription.next().await? {
                WatchedNext::ResourcesSubscribe(_, again) => subscription = again.send_subscribed().await?,
                WatchedNext::ResourcesUnsubscribe(_, leaving) => {
                    return Ok(leaving.send_unsubscribed().await?);
                }
            }
        }
    }
}

async fn count(context: &server::Context, to: u64) -> Result<String, McpError> {
    for progress in 1..=to {
        context.send_progress(ProgressParams::new(0, progress).total(to)).await?;
    }
    let log = LoggingMessageParams::new(LoggingLevel::Info, format!("counted {to}"));
    context.peer().send_log_message(log).await?;
    // Some clients lose the progress of a call when they read it together with the result. A client that has answered
    // this ping has handled the progress.
    context.peer().ping().await?;
    Ok(format!("counted to {to}"))
}

async fn ask_model(context: &server::Context, question: &str) -> Result<String, McpError> {
    let question = SamplingMessage::new(Role::User, TextContent::new(question));
    let answer = context.peer().create_message(CreateMessageParams::new([question], 100)).await?;
    Ok(format!("{}: {}", answer.model, answer.content.first_text().unwrap_or("nothing")))
}

async fn ask_user(context: &server::Context, message: &str) -> Result<String, McpError> {
    let form = FormSchema::new([]).required_field("name", StringSchema::new());
    let answer = context.peer().elicit(ElicitFormParams::new(message, form).into()).await?;
    let content = answer.content.unwrap_or_default();
    let name = content.get("name").and_then(FieldValue::as_text).unwrap_or_default();
    Ok(format!("{}: {name}", answer.action))
}
