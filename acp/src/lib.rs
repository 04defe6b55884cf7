//! The Agent Client Protocol (ACP), ready to use: the shipped `.session` file as a typed SDK.
//!
//! The module [`acp_v1`] has a typed client, a typed agent and their state machine, for version 1 of the protocol. The
//! compiler generates all of it from the file `acp-v1.session`, and the generated code is part of the crate: a program that
//! uses it compiles no compiler. The payloads ([`types`]) are those of the crate `agent-client-protocol-schema`.
//!
//! A client opens conversations, any number at once. Each of them is a value of its own, which one task drives:
//!
//! ```no_run
//! use acp_protocols::acp_v1::client::TurnNext;
//! use acp_protocols::acp_v1::{AcpClient, AcpError};
//! use acp_protocols::types::*;
//! # async fn example() -> Result<(), AcpError> {
//! let (near, _far) = mcp_runtime::transport::duplex();
//! let (_, client) = AcpClient::new(near).initialize(InitializeRequest::new(ProtocolVersion::V1)).await?;
//! let (new, conversation) = client.new_session(NewSessionRequest::new("/project")).await?;
//!
//! let prompt = PromptRequest::new(new.session_id, vec!["Write a test.".into()]);
//! let mut turn = conversation.send_prompt(prompt).await?;
//! let conversation = loop {
//!     turn = match turn.next().await? {
//!         TurnNext::Update(update, turn) => {
//!             println!("{:?}", update.update);
//!             turn
//!         }
//!         TurnNext::RequestPermission(question, responder, turn) => {
//!             println!("{:?}", question.tool_call);
//!             responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled))?;
//!             turn
//!         }
//!         TurnNext::PromptResponse(response, idle) => {
//!             println!("the turn is over: {:?}", response.stop_reason);
//!             break idle;
//!         }
//!         other => panic!("this client announces no files and no terminals: {other:?}"),
//!     };
//! };
//! # drop(conversation);
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! What the agent asks for during a turn comes through `next`, in the order in which it came. Each question has a
//! responder of its own, so questions can be answered later, in any order, and by other tasks.
//!
//! An agent gets each conversation in its handler. A conversation goes on next to its handler, in a task:
//!
//! ```no_run
//! use acp_protocols::acp_v1::server::{Context, Conversation, Handler, IdleNext, TurnNext};
//! use acp_protocols::acp_v1::{AcpError, BeforeNewSessionResponse, Idle, Turn};
//! use acp_protocols::types::*;
//!
//! struct Agent;
//!
//! impl Handler for Agent {
//!     async fn new_session(
//!         &self,
//!         _: Context,
//!         _: NewSessionRequest,
//!         conversation: Conversation<BeforeNewSessionResponse>,
//!     ) {
//!         // Each conversation has an id of its own.
//!         let id = SessionId::new("conversation-1");
//!         let opened = conversation.send_new_session_response(NewSessionResponse::new(id.clone())).await;
//!         if let Ok(idle) = opened {
//!             tokio::spawn(converse(id, idle));
//!         }
//!     }
//! }
//!
//! async fn converse(id: SessionId, mut idle: Conversation<Idle>) -> Result<(), AcpError> {
//!     loop {
//!         idle = match idle.next().await? {
//!             IdleNext::Prompt(_, turn) => match answer(&id, turn).await? {
//!                 Some(idle) => idle,
//!                 None => return Ok(()),
//!             },
//!             IdleNext::CloseSession(_, closed) => {
//!                 closed.send_close_session_response(CloseSessionResponse::new()).await?;
//!                 return Ok(());
//!             }
//!             // A cancel that has crossed the end of its turn.
//!             IdleNext::Cancel(_, idle) => idle,
//!             // This agent has no modes and no options. A responder that is dropped answers with an error.
//!             IdleNext::SetMode(_, _, idle) | IdleNext::SetConfigOption(_, _, idle) => idle,
//!         };
//!     }
//! }
//!
//! /// A turn, from its prompt to its reply. `None`: the client has closed the conversation.
//! async fn answer(id: &SessionId, mut turn: Conversation<Turn>) -> Result<Option<Conversation<Idle>>, AcpError> {
//!     let client = turn.handle();
//!     let working = async {
//!         // The handle asks as well: `client.request_permission(..)`, `client.read_text_file(..)`.
//!         let text = SessionUpdate::AgentMessageChunk(ContentChunk::new("I have no model.".into()));
//!         client.send_update(SessionNotification::new(id.clone(), text)).await
//!     };
//!     tokio::pin!(working);
//!     loop {
//!         tokio::select! {
//!             done = &mut working => {
//!                 done?;
//!                 return Ok(Some(turn.send_prompt_response(PromptResponse::new(StopReason::EndTurn)).await?));
//!             }
//!             // Waits for a message and takes none, so that the value is still there when the work is done first.
//!             () = turn.readable() => turn = match turn.next().await? {
//!                 TurnNext::Cancel(_, turn) => {
//!                     let cancelled = PromptResponse::new(StopReason::Cancelled);
//!                     return Ok(Some(turn.send_prompt_response(cancelled).await?));
//!                 }
//!                 TurnNext::CloseSession(_, closing) => {
//!                     let cancelled = PromptResponse::new(StopReason::Cancelled);
//!                     let closed = closing.send_prompt_response(cancelled).await?;
//!                     closed.send_close_session_response(CloseSessionResponse::new()).await?;
//!                     return Ok(None);
//!                 }
//!                 TurnNext::SetMode(_, _, turn) | TurnNext::SetConfigOption(_, _, turn) => turn,
//!             },
//!         }
//!     }
//! }
//! ```
//!
//! In a turn, the handle of the conversation sends updates and asks questions from any task, while the value waits for a
//! cancel. Dropping the work withdraws what it has asked.
//!
//! The agent answers `initialize`, and serves the handler on its standard streams until the client has left:
//!
//! ```no_run
//! use acp_protocols::acp_v1::{AcpAgent, AcpError, server};
//! use acp_protocols::types::*;
//! use mcp_runtime::transport::stdio;
//!
//! async fn serve(handler: impl server::Handler) -> Result<(), AcpError> {
//!     let (_hello, agent) = AcpAgent::new(stdio()).recv_initialize().await?;
//!     let agent = agent.send_initialize_response(InitializeResponse::new(ProtocolVersion::V1)).await?;
//!     agent.incoming().serve(handler).await;
//!     Ok(())
//! }
//! ```
//!
//! An editor starts the agent as a child process: `AcpClient::new(Child::spawn(command)?)`, with
//! [`Child`](mcp_runtime::transport::Child). [`mcp_runtime`] has the transports, the settings
//! ([`Options`](mcp_runtime::Options)), and the errors with which requests are refused
//! ([`RpcError`](mcp_runtime::RpcError)), so a program depends on it, too:
//!
//! ```toml
//! [dependencies]
//! acp-protocols = "0.1"
//! mcp-runtime = "0.1"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```
//!
//! # What to know
//!
//! - The params name the conversation and the terminal. A value sends nothing that names another one.
//! - An agent asks for permissions, files and terminals during a turn. What it asks at another time is refused and
//!   reported. A question that is open at the end of its turn is still answered, and a terminal exists until it is
//!   released.
//! - A cancel, `send_cancel`, may be sent at any time of a conversation, because it may cross the end of its turn. The turn
//!   ends with the reply to its prompt. The client answers open questions with the outcome `cancelled`.
//! - A conversation that is dropped during a turn does not stop the agent: send the cancel, and wait for the reply, first.
//!   What the agent sends for it later is dropped, and what it asks is answered with an error.
//! - Any request can be withdrawn with `$/cancel_request`: drop the call, or use its `canceller()`. It still gets its
//!   reply. The peer's handler learns of it from `cancelled()`.
//! - An update may name a conversation that the client does not know yet: agents send updates before they reply to
//!   `session/new`. Such an update comes to the handler of the session, [`update`](acp_v1::client::Handler::update). An agent
//!   sends it from its handler: `context.peer().send_update(..)`.
//! - A conversation may be closed during a turn. Then the replies to `session/prompt` and to `session/close` come in
//!   either order.
//! - Methods that begin with `_` are extensions: `extension` and `send_extension_notification`, on both sides. They take
//!   the method with the params, as a [`WithMethod`](mcp_runtime::call::WithMethod).
//! - The crate has the stable methods of version 1. The features of `agent-client-protocol-schema` for unstable methods add
//!   fields to payloads, and no methods here.

// The `.session` file names its payload types by their public path.
extern crate self as acp_protocols;

pub mod types;

/// Version 1 of the protocol, from `acp-v1.session`.
pub mod acp_v1;
