//! The client: every step is a method that exists only in its state, so the order cannot be wrong.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocols::REVISIONS;
use mcp_protocols::mcp_2025_11_25::{Active, McpClient, McpError, client};
use mcp_protocols::types::*;
use mcp_runtime::{Options, RpcError, StepError, transport::Child};
use tokio::process::Command;
use tokio::sync::Notify;

use crate::screen;

/// How the client answers when the server asks for the model.
#[derive(Clone, Copy)]
pub(crate) enum Approval {
    /// Asks the user at the terminal.
    Ask,
    /// Always yes, without asking.
    Always,
    /// Always no, without asking.
    Never,
}

/// Why the session failed.
pub(crate) enum Failure {
    /// The command cannot be started.
    Spawn(String),
    /// The command runs, but does not behave like an MCP server.
    NoServer(String),
    /// The session broke off.
    Session(McpError),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Spawn(why) => formatter.write_str(why),
            Failure::NoServer(why) => write!(
                formatter,
                "the command does not behave like an MCP server on its standard streams: {why}"
            ),
            Failure::Session(error) => write!(formatter, "the session broke off: {error}"),
        }
    }
}

impl From<McpError> for Failure {
    fn from(error: McpError) -> Self {
        Failure::Session(error)
    }
}

/// The timeout of the handshake, and of waiting for a notification.
const HANDSHAKE: Duration = Duration::from_secs(30);
const NOTIFICATION: Duration = Duration::from_secs(5);

/// Runs one session from start to end.
pub(crate) async fn run(command: Command, approval: Approval) -> Result<(), Failure> {
    let child = Child::spawn(command).map_err(|error| Failure::Spawn(error.to_string()))?;
    // The types are those of the latest revision. A server may answer with an older one, which then governs.
    let session = McpClient::with_options(child, Options::new().revisions(REVISIONS));
    screen::state("Uninit");

    let told = Arc::new(Notify::new());
    tokio::spawn(session.incoming().serve(Desk { approval, told: told.clone() }));

    let session = session.send_initialize(hello()).await.map_err(|error| no_server(error.into()))?;
    screen::state("AwaitingResult");
    let answer = tokio::time::timeout(HANDSHAKE, session.recv_initialize_result()).await;
    let (result, session) = match answer {
        Ok(Ok(answer)) => answer,
        // The server speaks another revision: close the session properly.
        Ok(Err(StepError::NegotiationFailed { error, session })) => {
            if let Ok(closing) = session.close() {
                let _ = closing.await;
            }
            return Err(no_server(error));
        }
        Ok(Err(error)) => return Err(no_server(error.into())),
        Err(_) => {
            return Err(Failure::NoServer(format!("no answer to `initialize` in {} s", HANDSHAKE.as_secs())));
        }
    };
    screen::state("AwaitingNotif");
    screen::event("server", format!("{} {}", result.server_info.name, result.server_info.version));
    screen::event("revision", &result.protocol_version);

    let session = session.send_initialized().await.map_err(McpError::from)?;
    screen::state("Active");
    tools(&session, &result.capabilities, &told).await?;
    resources(&session, &result.capabilities).await?;
    prompts(&session, &result.capabilities).await?;

    let outcome = session.close().await?;
    screen::state("closed");
    screen::event("server", outcome.to_string());
    Ok(())
}

fn no_server(error: McpError) -> Failure {
    Failure::NoServer(error.to_string())
}

fn hello() -> InitializeParams {
    let offered = ClientCapabilities::new().sampling(SamplingCapability::new());
    InitializeParams::new("2025-11-25", offered, Implementation::new("quickstart", "1.0.0"))
}

/// Lists the tools, calls two at the same time, and calls one that asks the model.
async fn tools(
    session: &McpClient<Active>,
    offered: &ServerCapabilities,
    told: &Notify,
) -> Result<(), Failure> {
    if offered.tools.is_none() {
        screen::skipped("tools", "the server offers none");
        return Ok(());
    }
    let tools = session.list_tools(None).await?.tools;
    screen::event("tools/list", names(tools.iter().map(|tool| tool.name.as_str())));

    let callable: Vec<&Tool> = tools.iter().filter(|tool| takes_a_message(tool)).collect();
    match callable.as_slice() {
        [] => screen::skipped("tools/call", "no tool takes a `message` alone"),
        [first, rest @ ..] => {
            let second = rest.first().unwrap_or(first);
            // Both calls borrow the session and run at once. They may be answered in either order.
            let (one, other) = tokio::join!(
                session.call_tool(call(first, "hello")),
                session.call_tool(call(second, "hello again"))
            );
            screen::event(&format!("tools/call {}", first.name), text(&one?));
            screen::event(&format!("tools/call {}", second.name), text(&other?));
        }
    }

    if tools.iter().any(|tool| tool.name == "ask_model") {
        let question = CallToolParams::new("ask_model").with_argument("question", "What is a session type?");
        let heard = told.notified();
        let answer = session.call_tool(question).await?;
        screen::event("tools/call ask_model", text(&answer));
        if tokio::time::timeout(NOTIFICATION, heard).await.is_err() {
            screen::skipped("notification", "none came");
        }
    }
    Ok(())
}

/// Reads the first resource.
async fn resources(session: &McpClient<Active>, offered: &ServerCapabilities) -> Result<(), Failure> {
    if offered.resources.is_none() {
        screen::skipped("resources", "the server offers none");
        return Ok(());
    }
    let resources = session.list_resources(None).await?.resources;
    screen::event("resources/list", names(resources.iter().map(|resource| resource.uri.as_str())));
    let Some(first) = resources.first() else { return Ok(()) };
    let contents = session.read_resource(ResourceParams::new(&first.uri)).await?.contents;
    let text = contents.iter().find_map(ResourceContents::as_text);
    let none = format!("{} pieces, no text", contents.len());
    screen::event("resources/read", text.unwrap_or(&none));
    Ok(())
}

/// Gets the first prompt without required arguments.
async fn prompts(session: &McpClient<Active>, offered: &ServerCapabilities) -> Result<(), Failure> {
    if offered.prompts.is_none() {
        screen::skipped("prompts", "the server offers none");
        return Ok(());
    }
    let prompts = session.list_prompts(None).await?.prompts;
    screen::event("prompts/list", names(prompts.iter().map(|prompt| prompt.name.as_str())));
    let wants = |argument: &PromptArgument| argument.required == Some(true);
    let free = prompts.iter().find(|prompt| !prompt.arguments.iter().flatten().any(wants));
    let Some(prompt) = free else {
        screen::skipped("prompts/get", "every prompt wants arguments");
        return Ok(());
    };
    let result = session.get_prompt(GetPromptParams::new(&prompt.name)).await?;
    let text = result.messages.first().and_then(|message| message.content.as_text());
    screen::event(&format!("prompts/get {}", prompt.name), text.unwrap_or("no text"));
    Ok(())
}

/// Returns whether any client can call the tool: its only parameter is a `message`.
fn takes_a_message(tool: &Tool) -> bool {
    tool.input_schema.properties.as_ref().is_some_and(|properties| properties.keys().eq(["message"]))
}

fn call(tool: &Tool, message: &str) -> CallToolParams {
    CallToolParams::new(&tool.name).with_argument("message", message)
}

fn text(result: &CallToolResult) -> String {
    result.first_text().unwrap_or("no text").to_owned()
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Handles the server's requests and notifications.
struct Desk {
    approval: Approval,
    told: Arc<Notify>,
}

impl client::Handler for Desk {
    async fn create_message(
        &self,
        _: client::Context,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, RpcError> {
        let question = params.messages.last().and_then(|message| message.content.first_text());
        screen::event("sampling request", question.unwrap_or("something"));
        if !approved(self.approval).await {
            screen::event("approval", "denied");
            // The error code in the revision's own example of a request that the user refused.
            return Err(RpcError::new(-1, "the user denied the request"));
        }
        screen::event("approval", "granted");
        let answer = TextContent::new("A contract for a conversation.");
        Ok(CreateMessageResult::new(Role::Assistant, answer, "no-model-at-all"))
    }

    async fn tools_list_changed(&self, _: client::Context) {
        screen::event("notification", "the server's tools have changed");
        self.told.notify_one();
    }

    async fn log_message(&self, _: client::Context, params: LoggingMessageParams) {
        screen::event("server log", params.data.to_string());
    }
}

/// Asks the user at the terminal, unless a flag has answered. Without a terminal or an answer, the result is no.
async fn approved(approval: Approval) -> bool {
    match approval {
        Approval::Always => true,
        Approval::Never => false,
        Approval::Ask => tokio::task::spawn_blocking(|| {
            eprint!("│   may the server ask the model? [y/N] ");
            let mut answer = String::new();
            let _ = std::io::stdin().read_line(&mut answer);
            matches!(answer.trim(), "y" | "Y" | "yes")
        })
        .await
        .unwrap_or(false),
    }
}
