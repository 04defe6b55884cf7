//! The examples of `docs/mcp.md`, which run here.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_protocols::mcp_2025_11_25::server::{self, WatchedNext};
use mcp_protocols::mcp_2025_11_25::{Active, McpClient, McpError, McpServer, Subscribing, Uninit, client};
use mcp_protocols::types::*;
use mcp_protocols::{REVISIONS, VERSIONS};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Options, RpcError, Transport, negotiate_version};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;

async fn serve(transport: impl Transport, notes: Notes) -> Result<(), McpError> {
    let session = McpServer::with_options(transport, Options::new().revisions(REVISIONS));
    let serving = tokio::spawn(session.incoming().serve(notes)); // calls the handler, from now on
    let session = handshake(session).await;
    let _ = serving.await; // until the client closes the session
    session.map(drop)
}

async fn handshake(session: McpServer<Uninit>) -> Result<McpServer<Active>, McpError> {
    let (params, session) = session.recv_initialize().await?;
    let welcome = read(json!({
        "protocolVersion": negotiate_version(&VERSIONS, &params.protocol_version),
        "serverInfo": { "name": "notes", "version": "1.0.0" },
        "capabilities": { "tools": {}, "resources": { "subscribe": true }, "logging": {} },
    }));
    session.send_initialize_result(welcome).await?.recv_initialized().await
}

/// Reads a payload from JSON that stands in this program.
fn read<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).expect("the JSON fits its type")
}

/// The notes, which all sessions share.
#[derive(Clone, Default)]
struct Notes {
    list: Arc<watch::Sender<Vec<String>>>,
}

#[derive(Deserialize)]
struct Add {
    text: String,
}

impl server::Handler for Notes {
    async fn list_tools(
        &self,
        _: server::Context,
        _: Option<ListToolsParams>,
    ) -> Result<ListToolsResult, RpcError> {
        let schema = json!({
            "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"],
        });
        Ok(read(json!({ "tools": [
            { "name": "add", "description": "Adds a note", "inputSchema": schema },
            { "name": "import", "description": "Imports many notes", "inputSchema": { "type": "object" } },
        ] })))
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        match &*params.name {
            "add" => {
                let Add { text } = arguments(params)?;
                if text.is_empty() {
                    return Ok(CallToolResult::error("an empty note is not kept"));
                }
                self.list.send_modify(|list| list.push(text));
                Ok(CallToolResult::text("added"))
            }
            "import" => self.import(context).await,
            other => Err(RpcError::invalid_params(format!("there is no tool `{other}`"))),
        }
    }

    async fn read_resource(
        &self,
        _: server::Context,
        params: ReadResourceParams,
    ) -> Result<ReadResourceResult, RpcError> {
        let text = self.list.borrow().join("\n");
        Ok(read(json!({ "contents": [{ "uri": params.uri, "text": text }] })))
    }

    async fn subscribe(
        &self,
        _: server::Context,
        params: Value,
        subscription: server::Subscription<Subscribing>,
    ) {
        // It fails only if the session ends.
        let _ = self.watch(params, subscription).await;
    }

    async fn set_level(&self, _: server::Context, _: Value) -> Result<(), RpcError> {
        Ok(())
    }
}

/// Reads the arguments of a tool as the type that the tool has for them.
fn arguments<T: DeserializeOwned>(params: CallToolParams) -> Result<T, RpcError> {
    serde_json::from_value(params.arguments)
        .map_err(|error| RpcError::invalid_params(format!("`{}`: {error}", params.name)))
}

impl Notes {
    async fn import(&self, context: server::Context) -> Result<CallToolResult, RpcError> {
        for step in 1..=3_u32 {
            if context.is_cancelled() {
                return Err(RpcError::internal_error("cancelled")); // is not sent
            }
            self.list.send_modify(|list| list.push(format!("imported {step}")));
            let progress = json!({ "progressToken": 0, "progress": step, "total": 3 });
            context.send_progress(read(progress)).await.map_err(failed)?;
        }
        let line = LoggingMessageParams::new(LogLevel::Info, "imported three notes");
        context.peer().send_log_message(line).await.map_err(failed)?;
        Ok(CallToolResult::text("imported"))
    }

    async fn watch(
        &self,
        params: Value,
        subscription: server::Subscription<Subscribing>,
    ) -> Result<(), McpError> {
        let mut changes = self.list.subscribe();
        let mut subscription = subscription.send_subscribed().await?;
        loop {
            tokio::select! {
                () = subscription.readable() => match subscription.next().await? {
                    WatchedNext::ResourcesSubscribe(_, again) => subscription = again.send_subscribed().await?,
                    WatchedNext::ResourcesUnsubscribe(_, leaving) => return Ok(leaving.send_unsubscribed().await?),
                },
                Ok(()) = changes.changed() => subscription.send_resource_updated(params.clone()).await?,
            }
        }
    }
}

fn failed(error: McpError) -> RpcError {
    RpcError::internal_error(error.to_string())
}

/// What the server has logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Value>>>);

impl Log {
    fn lines(&self) -> Vec<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl client::Handler for Log {
    async fn log_message(&self, _: client::Context, params: LoggingMessageParams) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(params.data);
    }
}

/// A client of the server of the page, and the server's log.
async fn connected(notes: &Notes) -> Result<(McpClient<Active>, Log), Box<dyn Error>> {
    let (near, far) = duplex();
    tokio::spawn(serve(far, notes.clone()));
    let (client, log) = (McpClient::new(near), Log::default());
    tokio::spawn(client.incoming().serve(log.clone()));
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    let (_, client) = client.initialize(read(hello)).await?;
    Ok((client.send_initialized().await?, log))
}

#[tokio::test]
async fn a_tool_reads_its_arguments_and_a_subscription_tells_of_the_change() -> Result<(), Box<dyn Error>> {
    let notes = Notes::default();
    let (client, _) = connected(&notes).await?;
    assert_eq!(client.list_tools(None).await?.tools.len(), 2);
    let mut subscription = client.subscribe(json!({ "uri": "notes:all" })).await?;
    let add = |arguments: Value| client.call_tool(read(json!({ "name": "add", "arguments": arguments })));
    assert_eq!(add(json!({ "text": "buy milk" })).await?.first_text(), Some("added"));
    assert_eq!(subscription.recv_resource_updated().await?, json!({ "uri": "notes:all" }));
    assert!(add(json!({ "text": "" })).await?.is_error);
    let refused = add(json!({ "txt": "" })).await.unwrap_err().to_string();
    assert!(refused.contains("`add`: missing field `text`"), "{refused}");
    let unknown = client.call_tool(read(json!({ "name": "remove" }))).await.unwrap_err().to_string();
    assert!(unknown.contains("there is no tool `remove`"), "{unknown}");
    let contents = client.read_resource(read(json!({ "uri": "notes:all" }))).await?.contents;
    assert_eq!(contents[0].text.as_deref(), Some("buy milk"));
    subscription.unsubscribe(json!({ "uri": "notes:all" })).await?;
    client.close().await?;
    Ok(())
}

#[tokio::test]
async fn progress_and_the_log_arrive_before_the_result() -> Result<(), Box<dyn Error>> {
    let (client, log) = connected(&Notes::default()).await?;
    client.set_level(json!({ "level": "info" })).await?;
    let mut steps = Vec::new();
    let mut call = client.call_tool(read(json!({ "name": "import" }))).with_progress().send().await?;
    while let Some(progress) = call.progress().await {
        steps.push(progress.progress);
    }
    assert_eq!(call.await?.first_text(), Some("imported"));
    assert_eq!(steps, [1.0, 2.0, 3.0]);
    assert_eq!(log.lines(), ["imported three notes"]);
    client.close().await?;
    Ok(())
}

fn squeezed(code: &str) -> String {
    code.chars().filter(|character| !character.is_whitespace()).collect()
}

#[test]
fn every_example_of_the_page_is_here() {
    let page = include_str!("../../../docs/mcp.md");
    let here = squeezed(include_str!("mcp.rs"));
    let mut examples = 0;
    for block in page.split("```rust\n").skip(1) {
        let code = block.split("```").next().unwrap();
        assert!(here.contains(&squeezed(code)), "this is not compiled:\n{code}");
        examples += 1;
    }
    assert_eq!(examples, 6);
}
