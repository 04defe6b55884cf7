//! The agent. It has no model: whatever the prompt says, it counts the words of the user's notes and asks for the
//! version of the compiler.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use acp_protocols::acp_v1::server::{Context, Conversation, ConversationHandle, Handler, IdleNext, TurnNext};
use acp_protocols::acp_v1::{AcpAgent, AcpError, BeforeNewSessionResponse, Idle, Turn};
use acp_protocols::types::*;
use mcp_runtime::{Error, Options, RpcError, Transport};

/// Serves one client to the end of the session.
pub(crate) async fn serve(transport: impl Transport, options: Options) -> Result<(), AcpError> {
    let agent = AcpAgent::with_options(transport, options);
    let (hello, agent) = agent.recv_initialize().await?;
    let capabilities = AgentCapabilities::new()
        .session_capabilities(SessionCapabilities::new().close(SessionCloseCapabilities::new()));
    let welcome = InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(capabilities);
    let agent = agent.send_initialize_response(welcome).await?;
    let handler = Agent { client: hello.client_capabilities, opened: AtomicUsize::new(0) };
    agent.incoming().serve(handler).await;
    Ok(())
}

struct Agent {
    client: ClientCapabilities,
    opened: AtomicUsize,
}

impl Handler for Agent {
    async fn new_session(
        &self,
        _: Context,
        params: NewSessionRequest,
        conversation: Conversation<BeforeNewSessionResponse>,
    ) {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let work = Work {
            session: SessionId::new(format!("conversation-{number}")),
            folder: params.cwd,
            has_terminals: self.client.terminal,
        };
        let started = NewSessionResponse::new(work.session.clone());
        let Ok(idle) = conversation.send_new_session_response(started).await else { return };
        // The conversation goes on by itself. It ends when it is closed, or with the session.
        tokio::spawn(async move { work.converse(idle).await });
    }
}

/// A conversation: what the agent needs to know in it.
#[derive(Clone)]
struct Work {
    session: SessionId,
    folder: PathBuf,
    has_terminals: bool,
}

impl Work {
    async fn converse(self, mut idle: Conversation<Idle>) -> Result<(), AcpError> {
        loop {
            idle = match idle.next().await? {
                IdleNext::Prompt(_, turn) => match self.answer(turn).await? {
                    Some(idle) => idle,
                    None => return Ok(()),
                },
                // The turn was over before its cancel was here.
                IdleNext::Cancel(_, idle) => idle,
                IdleNext::CloseSession(_, closed) => {
                    closed.send_close_session_response(CloseSessionResponse::new()).await?;
                    return Ok(());
                }
                // The agent has no modes and no options. What is dropped is answered with an error.
                IdleNext::SetMode(_, _, idle) | IdleNext::SetConfigOption(_, _, idle) => idle,
            };
        }
    }

    /// A turn, from its prompt to its reply. `None`: the client has closed the conversation.
    async fn answer(&self, mut turn: Conversation<Turn>) -> Result<Option<Conversation<Idle>>, AcpError> {
        let work = self.work(turn.handle());
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => {
                    let idle = match done {
                        Ok(()) => turn.send_prompt_response(PromptResponse::new(StopReason::EndTurn)).await?,
                        Err(error) => turn.refuse(RpcError::internal_error(error.to_string())).await?,
                    };
                    return Ok(Some(idle));
                }
                () = turn.readable() => turn = match turn.next().await? {
                    // Dropping the work withdraws what it has asked.
                    TurnNext::Cancel(_, turn) => {
                        let cancelled = PromptResponse::new(StopReason::Cancelled);
                        return Ok(Some(turn.send_prompt_response(cancelled).await?));
                    }
                    TurnNext::CloseSession(_, closing) => {
                        let cancelled = PromptResponse::new(StopReason::Cancelled);
                        let closed = closing.send_prompt_response(cancelled).await?;
                        closed.send_close_session_response(CloseSessionResponse::new()).await?;
                        return Ok(None);
                    }
                    TurnNext::SetMode(_, _, turn) | TurnNext::SetConfigOption(_, _, turn) => turn,
                },
            }
        }
    }

    /// Asks for both permissions at once, and does what is allowed side by side.
    async fn work(&self, client: ConversationHandle) -> Result<(), AcpError> {
        self.say(&client, "I count the words of your notes, and look for your compiler.").await?;
        let notes = async {
            let allowed = self.ask(&client, "read", "Read notes.txt").await?;
            if allowed { self.count(&client).await } else { Ok("I may not read your notes.".to_owned()) }
        };
        let compiler = async {
            if !self.has_terminals {
                return Ok("You have no terminal.".to_owned());
            }
            let allowed = self.ask(&client, "run", "Run rustc --version").await?;
            if allowed { self.run(&client).await } else { Ok("I may not run a command.".to_owned()) }
        };
        let (notes, compiler) = tokio::try_join!(notes, compiler)?;
        self.say(&client, &format!("{notes} {compiler}")).await
    }

    async fn say(&self, client: &ConversationHandle, text: &str) -> Result<(), AcpError> {
        let update = SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()));
        client.send_update(SessionNotification::new(self.session.clone(), update)).await
    }

    async fn ask(&self, client: &ConversationHandle, tool: &str, title: &str) -> Result<bool, AcpError> {
        let options = vec![
            PermissionOption::new("yes", "Yes", PermissionOptionKind::AllowOnce),
            PermissionOption::new("no", "No", PermissionOptionKind::RejectOnce),
        ];
        let call = ToolCallUpdate::new(tool.to_owned(), ToolCallUpdateFields::new().title(title.to_owned()));
        let question = RequestPermissionRequest::new(self.session.clone(), call, options);
        let answer = client.request_permission(question).await?.outcome;
        Ok(matches!(answer, RequestPermissionOutcome::Selected(option) if &*option.option_id.0 == "yes"))
    }

    /// Counts the words of the notes, as the editor has them.
    async fn count(&self, client: &ConversationHandle) -> Result<String, AcpError> {
        let file = ReadTextFileRequest::new(self.session.clone(), self.folder.join("notes.txt"));
        match client.read_text_file(file).await {
            Ok(notes) => Ok(format!("Your notes have {} words.", notes.content.split_whitespace().count())),
            Err(Error::Refused(error)) => Ok(format!("I cannot read your notes: {}.", error.message)),
            Err(error) => Err(error),
        }
    }

    /// Runs a command in a terminal of the client.
    async fn run(&self, client: &ConversationHandle) -> Result<String, AcpError> {
        let session = &self.session;
        let command = CreateTerminalRequest::new(session.clone(), "rustc").args(vec!["--version".to_owned()]);
        let (created, terminal) = client.create_terminal(command).await?;
        let id = created.terminal_id;
        terminal.wait_for_exit(WaitForTerminalExitRequest::new(session.clone(), id.clone())).await?;
        let written = terminal.output(TerminalOutputRequest::new(session.clone(), id.clone())).await?.output;
        terminal.release(ReleaseTerminalRequest::new(session.clone(), id)).await?;
        Ok(format!("Your compiler is {}.", written.trim()))
    }
}
