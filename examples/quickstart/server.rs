//! A small MCP server, typed: three tools, a resource and a prompt.

use mcp_protocols::mcp_2025_11_25::{Active, McpError, McpServer, Uninit, server};
use mcp_protocols::types::*;
use mcp_protocols::{REVISIONS, VERSIONS};
use mcp_runtime::{Options, RpcError, Transport, negotiate_version, transport};
use serde_json::Value;

/// Serves one session over this process's standard streams.
pub(crate) async fn serve() -> Result<(), McpError> {
    serve_session(transport::stdio(), Options::new()).await
}

/// Serves one session to its end. The types are those of the latest revision; older clients are served as well.
pub(crate) async fn serve_session(transport: impl Transport, options: Options) -> Result<(), McpError> {
    let session = McpServer::with_options(transport, options.revisions(REVISIONS));
    let serving = tokio::spawn(session.incoming().serve(Desk));
    let session = handshake(session).await;
    // From here on the handlers do everything. The session lives until the client closes it. A client that leaves
    // during the handshake still gets the answers to its requests.
    let _ = serving.await;
    session.map(drop)
}

/// Runs the handshake, from the first message to `initialized`.
async fn handshake(session: McpServer<Uninit>) -> Result<McpServer<Active>, McpError> {
    // The server answers with the requested revision, or with the latest. A client that does not speak it closes.
    let (params, session) = session.recv_initialize().await?;
    let version = negotiate_version(&VERSIONS, &params.protocol_version);
    session.send_initialize_result(hello(version)).await?.recv_initialized().await
}

pub(crate) fn hello(version: &str) -> InitializeResult {
    let offered = ServerCapabilities::new()
        .tools(ToolsCapability::new().list_changed(true))
        .resources(ResourcesCapability::new())
        .prompts(PromptsCapability::new())
        .logging(Object::new());
    InitializeResult::new(version, offered, Implementation::new("quickstart-desk", "1.0.0"))
        .instructions("A desk with a calculator, a notebook and a telephone to the model.")
}

/// Answers the client's requests.
struct Desk;

impl server::Handler for Desk {
    async fn list_tools(
        &self,
        _: server::Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListToolsResult, RpcError> {
        let text = |name: &str| ObjectSchema::new().property(name, [("type", "string")]);
        Ok(ListToolsResult::new([
            Tool::new("echo", text("message")).description("Says it again"),
            Tool::new("shout", text("message")).description("Says it louder"),
            Tool::new("ask_model", text("question")).description("Asks the client's model"),
        ]))
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        let text = |key: &str| params.argument(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match params.name.as_str() {
            "echo" => Ok(CallToolResult::text(text("message"))),
            "shout" => Ok(CallToolResult::text(text("message").to_uppercase())),
            "ask_model" => {
                // A request of the server during the client's request. The answer may be a refusal.
                let question = SamplingMessage::new(Role::User, TextContent::new(text("question")));
                let answer = context.peer().create_message(CreateMessageParams::new([question], 100)).await;
                // The tool list may have changed: the server has learned something.
                let _ = context.peer().send_tools_list_changed().await;
                match answer {
                    Ok(answer) => Ok(CallToolResult::text(format!(
                        "the model `{}` says: {}",
                        answer.model,
                        answer.content.first_text().unwrap_or("nothing")
                    ))),
                    Err(error) => Ok(CallToolResult::error(format!("no answer: {error}"))),
                }
            }
            other => Err(RpcError::invalid_params(format!("no tool is called `{other}`"))),
        }
    }

    async fn list_resources(
        &self,
        _: server::Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListResourcesResult, RpcError> {
        Ok(ListResourcesResult::new([Resource::new("desk://notebook", "The notebook")]))
    }

    async fn read_resource(
        &self,
        _: server::Context,
        params: ResourceParams,
    ) -> Result<ReadResourceResult, RpcError> {
        match params.uri.as_str() {
            "desk://notebook" => {
                let notes = TextResourceContents::new(params.uri, "Buy milk.\nProve the diamond.");
                Ok(ReadResourceResult::new([notes.mime_type("text/plain").into()]))
            }
            other => Err(RpcError::new(-32002, format!("no resource is at `{other}`"))),
        }
    }

    async fn list_prompts(
        &self,
        _: server::Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListPromptsResult, RpcError> {
        Ok(ListPromptsResult::new([Prompt::new("summary").description("Sum the notebook up")]))
    }

    async fn get_prompt(
        &self,
        _: server::Context,
        params: GetPromptParams,
    ) -> Result<GetPromptResult, RpcError> {
        match params.name.as_str() {
            "summary" => {
                let text = TextContent::new("Sum up desk://notebook in a line.");
                Ok(GetPromptResult::new([PromptMessage::new(Role::User, text)]))
            }
            other => Err(RpcError::invalid_params(format!("no prompt is called `{other}`"))),
        }
    }
}
