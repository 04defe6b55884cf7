//! The editor. It allows whatever the agent asks for, has one file, and runs commands.

use std::process::Stdio;

use acp_protocols::acp_v1::client::{Conversation, RunningNext, Terminal, TurnNext};
use acp_protocols::acp_v1::{AcpClient, AcpError, BeforeCreateTerminalResponse, Turn};
use acp_protocols::types::*;
use mcp_runtime::{Options, RpcError, Transport};
use tokio::process::Command;
use tokio::task::JoinSet;

/// What the user has written and not saved yet.
const NOTES: &str = "milk, bread and a birthday present";

/// Holds a conversation of one turn.
pub(crate) async fn run(transport: impl Transport, options: Options) -> Result<(), AcpError> {
    let client = AcpClient::with_options(transport, options);
    let capabilities =
        ClientCapabilities::new().fs(FileSystemCapabilities::new().read_text_file(true)).terminal(true);
    let hello = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities);
    let (_, client) = client.initialize(hello).await?;
    let folder = std::env::current_dir().unwrap_or_default();
    let (new, conversation) = client.new_session(NewSessionRequest::new(folder)).await?;
    println!("the conversation is {}", new.session_id);
    let prompt = PromptRequest::new(new.session_id, vec!["How long are my notes?".into()]);
    let stopped = follow(conversation.send_prompt(prompt).await?).await?;
    println!("the turn is over: {stopped:?}");
    client.close().await?;
    Ok(())
}

/// Takes what the agent sends in a turn, to its end.
async fn follow(mut turn: Conversation<Turn>) -> Result<StopReason, AcpError> {
    let mut terminals = JoinSet::new();
    loop {
        turn = match turn.next().await? {
            TurnNext::Update(update, turn) => {
                if let SessionUpdate::AgentMessageChunk(chunk) = update.update
                    && let ContentBlock::Text(text) = chunk.content
                {
                    println!("the agent says: {}", text.text);
                }
                turn
            }
            TurnNext::RequestPermission(question, responder, turn) => {
                let title = question.tool_call.fields.title.unwrap_or_default();
                println!("the agent may: {title}");
                let outcome = match question.options.first() {
                    Some(option) => {
                        let option = SelectedPermissionOutcome::new(option.option_id.clone());
                        RequestPermissionOutcome::Selected(option)
                    }
                    None => RequestPermissionOutcome::Cancelled,
                };
                responder.respond(RequestPermissionResponse::new(outcome))?;
                turn
            }
            TurnNext::ReadTextFile(file, responder, turn) => {
                responder.answer(match file.path.ends_with("notes.txt") {
                    true => Ok(ReadTextFileResponse::new(NOTES)),
                    false => Err(RpcError::invalid_params("the editor has another file open")),
                })?;
                turn
            }
            TurnNext::CreateTerminal(command, terminal, turn) => {
                let id = TerminalId::new(format!("terminal-{}", terminals.len()));
                terminals.spawn(serve(id, command, terminal));
                turn
            }
            // The editor has not announced that it can do this. What is dropped is answered with an error.
            TurnNext::WriteTextFile(_, _, turn) | TurnNext::Elicit(_, _, turn) => turn,
            TurnNext::PromptResponse(response, _) => return Ok(response.stop_reason),
            TurnNext::PromptError(error, _) => return Err(AcpError::Refused(error)),
        };
    }
}

/// A terminal, until the agent releases it. This one waits for the end of its command before it answers.
async fn serve(
    id: TerminalId,
    command: CreateTerminalRequest,
    terminal: Terminal<BeforeCreateTerminalResponse>,
) -> Result<(), AcpError> {
    let output = Command::new(&command.command).args(&command.args).stdin(Stdio::null()).output();
    let mut terminal = terminal.send_create_terminal_response(CreateTerminalResponse::new(id)).await?;
    let (text, status) = match output.await {
        Ok(output) => {
            let code = output.status.code().and_then(|code| u32::try_from(code).ok());
            (String::from_utf8_lossy(&output.stdout).into_owned(), TerminalExitStatus::new().exit_code(code))
        }
        Err(error) => (error.to_string(), TerminalExitStatus::new().exit_code(127)),
    };
    loop {
        terminal = match terminal.next().await? {
            RunningNext::TerminalOutput(_, responder, terminal) => {
                let written = TerminalOutputResponse::new(text.clone(), false).exit_status(status.clone());
                responder.respond(written)?;
                terminal
            }
            RunningNext::WaitForExit(_, responder, terminal) => {
                responder.respond(WaitForTerminalExitResponse::new(status.clone()))?;
                terminal
            }
            RunningNext::KillTerminal(_, responder, terminal) => {
                responder.respond(KillTerminalResponse::new())?;
                terminal
            }
            RunningNext::ReleaseTerminal(_, terminal) => {
                terminal.send_release_terminal_response(ReleaseTerminalResponse::new()).await?;
                return Ok(());
            }
        };
    }
}
