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
use serde_json::Value;
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
    let version = negotiate_version(&VERSIONS, &params.protocol_version);
    let offered = ServerCapabilities::new()
        .tools(ToolsCapability::new())
        .resources(ResourcesCapability::new().subscribe(true))
        .logging(Object::new());
    let welcome = InitializeResult::new(version, offered, Implementation::new("notes", "1.0.0"));
    session.send_initialize_result(welcome).await?.recv_initialized().await
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
        _: Option<PaginatedParams>,
    ) -> Result<ListToolsResult, RpcError> {
        let note = ObjectSchema::new().required_property("text", [("type", "string")]);
        Ok(ListToolsResult::new([
            Tool::new("add", note).description("Adds a note"),
            Tool::new("import", ObjectSchema::new()).description("Imports many notes"),
        ]))
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        match &*params.name {
            "add" => match params.read_arguments() {
                Ok(Add { text }) if text.is_empty() => Ok(CallToolResult::error("an empty note is not kept")),
                Ok(Add { text }) => {
                    self.list.send_modify(|list| list.push(text));
                    Ok(CallToolResult::text("added"))
                }
                Err(error) => Ok(CallToolResult::error(error.to_string())),
            },
            "import" => self.import(context).await,
            other => Err(RpcError::invalid_params(format!("there is no tool `{other}`"))),
        }
    }

    async fn read_resource(
        &self,
        _: server::Context,
        params: ResourceParams,
    ) -> Result<ReadResourceResult, RpcError> {
        let text = self.list.borrow().join("\n");
        Ok(ReadResourceResult::new([TextResourceContents::new(params.uri, text).into()]))
    }

    async fn subscribe(
        &self,
        _: server::Context,
        params: ResourceParams,
        subscription: server::Subscription<Subscribing>,
    ) {
        // It fails only if the session ends.
        let _ = self.watch(params, subscription).await;
    }

    async fn set_level(&self, _: server::Context, _: SetLevelParams) -> Result<(), RpcError> {
        Ok(())
    }
}

impl Notes {
    async fn import(&self, context: server::Context) -> Result<CallToolResult, RpcError> {
        for step in 1..=3_u32 {
            if context.is_cancelled() {
                return Err(RpcError::internal_error("cancelled")); // is not sent
            }
            self.list.send_modify(|list| list.push(format!("imported {step}")));
            let progress = ProgressParams::new(0, step).total(3);
            context.send_progress(progress).await?;
        }
        let line = LoggingMessageParams::new(LoggingLevel::Info, "imported three notes");
        context.peer().send_log_message(line).await?;
        Ok(CallToolResult::text("imported"))
    }

    async fn watch(
        &self,
        params: ResourceParams,
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
                Ok(()) = changes.changed() => {
                    let changed = ResourceUpdatedParams::new(&params.uri);
                    subscription.send_resource_updated(changed).await?;
                }
            }
        }
    }
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
    let program = Implementation::new("test", "1");
    let hello = InitializeParams::new("2025-11-25", ClientCapabilities::new(), program);
    let (_, client) = client.initialize(hello).await?;
    Ok((client.send_initialized().await?, log))
}

#[tokio::test]
async fn a_tool_reads_its_arguments_and_a_subscription_tells_of_the_change() -> Result<(), Box<dyn Error>> {
    let notes = Notes::default();
    let (client, _) = connected(&notes).await?;
    assert_eq!(client.list_tools(None).await?.tools.len(), 2);
    let all = ResourceParams::new("notes:all");
    let mut subscription = client.subscribe(all.clone()).await?;
    let add = |name, text| client.call_tool(CallToolParams::new("add").with_argument(name, text));
    assert_eq!(add("text", "buy milk").await?.first_text(), Some("added"));
    assert_eq!(subscription.recv_resource_updated().await?, ResourceUpdatedParams::new("notes:all"));
    assert_eq!(add("text", "").await?, CallToolResult::error("an empty note is not kept"));
    assert_eq!(add("txt", "").await?, CallToolResult::error("missing field `text`"));
    let unknown = client.call_tool(CallToolParams::new("remove")).await.unwrap_err().to_string();
    assert!(unknown.contains("there is no tool `remove`"), "{unknown}");
    let contents = client.read_resource(all.clone()).await?.contents;
    assert_eq!(contents[0].as_text(), Some("buy milk"));
    subscription.unsubscribe(all).await?;
    client.close().await?;
    Ok(())
}

#[tokio::test]
async fn progress_and_the_log_arrive_before_the_result() -> Result<(), Box<dyn Error>> {
    let (client, log) = connected(&Notes::default()).await?;
    client.set_level(SetLevelParams::new(LoggingLevel::Info)).await?;
    let mut steps = Vec::new();
    let mut call = client.call_tool(CallToolParams::new("import")).with_progress().send().await?;
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
    assert_eq!(examples, 5);
}
