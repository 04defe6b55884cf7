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
//!             responder.respond(&RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled))?;
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
//! An agent gets each conversation in its handler. In a turn, the handle of the conversation sends updates and asks
//! questions from any task, while the value waits for a cancel:
//!
//! ```no_run
//! use acp_protocols::acp_v1::server::{Context, Conversation, Handler, IdleNext};
//! use acp_protocols::acp_v1::BeforeNewSessionResponse;
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
//!         let id = SessionId::new("conversation-1");
//!         let Ok(mut idle) = conversation.send_new_session_response(NewSessionResponse::new(id.clone())).await
//!         else {
//!             return;
//!         };
//!         while let Ok(IdleNext::Prompt(_, turn)) = idle.next().await {
//!             let text = SessionUpdate::AgentMessageChunk(ContentChunk::new("I have no model.".into()));
//!             let _ = turn.send_update(SessionNotification::new(id.clone(), text)).await;
//!             let Ok(next) = turn.send_prompt_response(PromptResponse::new(StopReason::EndTurn)).await else {
//!                 return;
//!             };
//!             idle = next;
//!         }
//!     }
//! }
//! ```
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
//! # What to know
//!
//! - The params name the conversation and the terminal. A value sends nothing that names another one.
//! - An agent asks for permissions, files and terminals during a turn. What it asks at another time is refused and
//!   reported. A question that is open at the end of its turn is still answered, and a terminal exists until it is
//!   released.
//! - A cancel, `send_cancel`, may be sent at any time of a conversation, because it may cross the end of its turn. The turn
//!   ends with the reply to its prompt. The client answers open questions with the outcome `cancelled`.
//! - Any request can be withdrawn with `$/cancel_request`: drop the call, or use its `canceller()`. It still gets its
//!   reply. The peer's handler learns of it from `cancelled()`.
//! - An update may name a conversation that the client does not know yet: agents send updates before they reply to
//!   `session/new`. Such an update comes to the handler of the session, [`update`](acp_v1::client::Handler::update).
//! - A conversation may be closed during a turn. Then the replies to `session/prompt` and to `session/close` come in
//!   either order.
//! - Methods that begin with `_` are extensions: `extension` and `send_extension_notification`, on both sides.
//! - The crate has the stable methods of version 1. The features of `agent-client-protocol-schema` for unstable methods add
//!   fields to payloads, and no methods here.

// The `.session` file names its payload types by their public path.
extern crate self as acp_protocols;

pub mod types;

/// Version 1 of the protocol, from `acp-v1.session`.
pub mod acp_v1;
