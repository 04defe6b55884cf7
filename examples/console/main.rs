//! A console for any MCP server: `cargo run --example console`, or `cargo run --example console -- COMMAND…` to talk to
//! a server of your own.
//!
//! The user types what is sent next, so a type cannot know it. The session is in a field of a struct, without a type
//! for its state, and every message is judged when it is sent, by the same rules. Without a command the peer is a small
//! typed server in this program.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::HashMap;
use std::io::BufRead;
use std::process::Command;

use mcp_protocols::REVISIONS;
use mcp_protocols::mcp_2025_11_25::{Active, McpClient, McpError, McpServer, PROTOCOL, messages, server};
use mcp_protocols::types::*;
use mcp_runtime::protocol::Side;
use mcp_runtime::transport::{Child, duplex};
use mcp_runtime::{CheckedSession, Error, Event, Options, RequestId, RpcError, Transport};
use serde_json::{Value, json};

const HELP: &str = "\
hello                    shakes hands
ask METHOD [PARAMS]      sends a request, shows what comes until its reply
tell METHOD [PARAMS]     sends a notification
why METHOD               whether the message may be sent now, and why not
permitted                what may be sent now
answer METHOD RESULT     what to answer when the server asks this
quit                     parts from the server";

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut arguments = std::env::args_os().skip(1);
    let mut console = match arguments.next() {
        Some(program) => {
            let mut command = Command::new(program);
            command.args(arguments);
            match Child::spawn(command) {
                Ok(child) => Console::new(child),
                Err(error) => {
                    println!("{error}");
                    return Ok(());
                }
            }
        }
        None => {
            let (near, far) = duplex();
            tokio::spawn(serve(McpServer::new(far)));
            Console::new(near)
        }
    };
    println!("{HELP}");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let (shown, go_on) = console.line(&line).await;
        println!("{shown}");
        if !go_on {
            break;
        }
    }
    println!("{}", console.part().await?);
    Ok(())
}

/// A user at a keyboard, and the session that the user drives.
pub(crate) struct Console {
    session: CheckedSession,
    /// The answers to the server's requests, by method.
    answers: HashMap<String, Value>,
    /// The output that has not been shown yet.
    shown: Vec<String>,
}

impl Console {
    pub(crate) fn new(transport: impl Transport) -> Console {
        let options = Options::new().revisions(REVISIONS);
        let session = CheckedSession::start(transport, &PROTOCOL, Side::Client, options);
        Console { session, answers: HashMap::new(), shown: Vec::new() }
    }

    /// Executes a line. Returns the output, and whether to continue.
    pub(crate) async fn line(&mut self, line: &str) -> (String, bool) {
        let mut words = line.trim().splitn(3, ' ');
        let (verb, what, json) =
            (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or("{}"));
        let outcome = match (verb, serde_json::from_str::<Value>(json)) {
            ("quit", _) => return (String::new(), false),
            (_, Err(error)) => {
                self.show(format!("that is not JSON: {error}"));
                Ok(())
            }
            ("hello", _) => self.hello().await,
            ("ask", Ok(params)) => self.ask(what, &params).await.map(drop),
            ("tell", Ok(params)) => self.session.notify(what, &params).await,
            ("why", _) => {
                match self.session.permits(what) {
                    Ok(()) => self.show(format!("`{what}` may be sent")),
                    Err(violation) => self.show(violation.report().to_string()),
                }
                Ok(())
            }
            ("permitted", _) => {
                let permitted = self.session.permitted().into_iter();
                let names =
                    permitted.filter_map(|message| Some(&self.session.protocol().message(message)?.name));
                let names = names.map(ToString::to_string).collect::<Vec<_>>().join(", ");
                self.show(format!("in {}: {names}", self.session.state_name()));
                Ok(())
            }
            ("answer", Ok(result)) => {
                self.answers.insert(what.to_owned(), result);
                Ok(())
            }
            _ => {
                self.show(HELP.to_owned());
                Ok(())
            }
        };
        if let Err(error) = outcome {
            self.show(format!("not sent: {error}"));
        }
        (std::mem::take(&mut self.shown).join("\n"), true)
    }

    async fn hello(&mut self) -> Result<(), Error> {
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "sampling": {} },
            "clientInfo": { "name": "console", "version": "1.0.0" },
        });
        if self.ask(messages::INITIALIZE, &hello).await? {
            self.session.notify(messages::INITIALIZED, &()).await?;
        }
        Ok(())
    }

    /// Sends a request, and shows the events until its answer. Returns whether the answer is a result, not a refusal.
    async fn ask<'m>(
        &mut self,
        request: impl Into<mcp_runtime::session::Name<'m>>,
        params: &Value,
    ) -> Result<bool, Error> {
        let asked = self.session.request(request, params).await?;
        loop {
            match self.session.next().await? {
                Event::Reply { id, result, .. } if id == asked => {
                    self.show(format!("< {result}"));
                    return Ok(true);
                }
                Event::Refused { id, error } if id == asked => {
                    self.show(format!("< refused: {error}"));
                    return Ok(false);
                }
                Event::Failed { id, error } if id == asked => return Err(error),
                Event::NegotiationFailed { error, .. } => return Err(error),
                Event::Request { id, method, params, .. } => {
                    self.show(format!("< {method} {params}"));
                    self.answer(&id, &method).await?;
                }
                Event::Notification { method, params, .. } => self.show(format!("< {method} {params}")),
                Event::Closed => return Err(Error::Closed),
                other => self.show(format!("< {other:?}")),
            }
        }
    }

    async fn answer(&mut self, id: &RequestId, method: &str) -> Result<(), Error> {
        match self.answers.get(method).cloned() {
            Some(answer) => {
                self.show(format!("> {answer}"));
                self.session.respond(id, &answer).await
            }
            None => {
                self.show("> refused: this console cannot answer it".to_owned());
                self.session.refuse(id, &RpcError::method_not_found(method))
            }
        }
    }

    fn show(&mut self, line: String) {
        self.shown.push(line);
    }

    /// Ends the session: with the typed `close`, if its state has that method.
    pub(crate) async fn part(self) -> Result<String, Error> {
        match self.session.try_into_typed::<McpClient<Active>>() {
            Ok(client) => client.close().await.map(|outcome| format!("parted: {outcome}")),
            Err(not) => {
                let shown = format!("cut: {not}");
                not.session.abort();
                Ok(shown)
            }
        }
    }
}

/// The typed server in this program.
pub(crate) async fn serve(server: McpServer<mcp_protocols::mcp_2025_11_25::Uninit>) -> Result<(), McpError> {
    let (_, server) = server.recv_initialize().await?;
    let offered = ServerCapabilities::new().tools(ToolsCapability::new()).logging(Object::new());
    let welcome = InitializeResult::new("2025-11-25", offered, Implementation::new("small-talk", "1.0.0"));
    let server = server.send_initialize_result(welcome).await?;
    tokio::spawn(server.incoming().serve(SmallTalk));
    let server = server.recv_initialized().await?;
    server.ended().await;
    Ok(())
}

/// Implements one tool, which asks the client's model.
struct SmallTalk;

impl server::Handler for SmallTalk {
    async fn list_tools(
        &self,
        _: server::Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListToolsResult, RpcError> {
        Ok(ListToolsResult::new([Tool::new("chat", ObjectSchema::new())]))
    }

    async fn call_tool(
        &self,
        context: server::Context,
        call: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        let question = SamplingMessage::new(Role::User, TextContent::new(call.name));
        let text = match context.peer().create_message(CreateMessageParams::new([question], 10)).await {
            Ok(message) => serde_json::to_string(&message.content).unwrap_or_default(),
            Err(error) => format!("no answer: {error}"),
        };
        Ok(CallToolResult::text(text))
    }
}
