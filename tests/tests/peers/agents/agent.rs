//! The typed agent, driven by a client on the SDK, `acp_client.mjs`. The client is a child of the test.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use acp_protocols::acp_v1::server::{Context, Conversation, ConversationHandle, Handler, IdleNext, TurnNext};
use acp_protocols::acp_v1::{AcpAgent, AcpError, BeforeNewSessionResponse, Idle, Loading, Turn};
use acp_protocols::types::*;
use mcp_runtime::call::WithMethod;
use mcp_runtime::{Error, RpcError};
use serde_json::{Value, json};
use test_support::script::guarded;
use tokio::sync::{oneshot, watch};

use super::{Reports, node, says};

/// The agent of all conversations.
struct Agent {
    opened: AtomicUsize,
    /// What the client says at the end that it has seen.
    seen: Mutex<Option<oneshot::Sender<Value>>>,
}

impl Handler for Agent {
    async fn new_session(
        &self,
        context: Context,
        _: NewSessionRequest,
        conversation: Conversation<BeforeNewSessionResponse>,
    ) {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let id = SessionId::new(format!("conversation-{number}"));
        // The client does not know this id before it has the reply.
        context.peer().send_update(SessionNotification::new(id.clone(), says("early"))).await.unwrap();
        let idle = conversation.send_new_session_response(NewSessionResponse::new(id.clone())).await.unwrap();
        test_support::spawn(converse(id, idle));
    }

    async fn load_session(&self, _: Context, params: LoadSessionRequest, mut loading: Conversation<Loading>) {
        let id = params.session_id;
        for text in ["first", "second"] {
            loading.send_update(SessionNotification::new(id.clone(), says(text))).await.unwrap();
        }
        let idle = loading.send_load_session_response(LoadSessionResponse::new()).await.unwrap();
        test_support::spawn(converse(id, idle));
    }

    async fn list_sessions(
        &self,
        _: Context,
        _: ListSessionsRequest,
    ) -> Result<ListSessionsResponse, RpcError> {
        Ok(ListSessionsResponse::new(vec![SessionInfo::new("conversation-0", "/project")]))
    }

    async fn extension(
        &self,
        _: Context,
        request: WithMethod<Option<Value>>,
    ) -> Result<Option<Value>, RpcError> {
        if request.method == "_test/seen" {
            let seen = self.seen.lock().unwrap().take().unwrap();
            seen.send(request.params.unwrap_or_default()).unwrap();
            return Ok(Some(json!({})));
        }
        Ok(request.params)
    }
}

/// A conversation from its start to its end.
async fn converse(id: SessionId, mut idle: Conversation<Idle>) -> Result<(), AcpError> {
    let mut late = 0;
    loop {
        idle = match idle.next().await? {
            IdleNext::Prompt(prompt, turn) => {
                let ContentBlock::Text(text) = &prompt.prompt[0] else { panic!("not a text") };
                match worked(&id, turn, &text.text, late).await? {
                    Some(idle) => idle,
                    None => return Ok(()),
                }
            }
            IdleNext::Cancel(_, idle) => {
                late += 1;
                idle
            }
            IdleNext::CloseSession(_, closed) => {
                closed.send_close_session_response(CloseSessionResponse::new()).await?;
                return Ok(());
            }
            other => panic!("{other:?}"),
        };
    }
}

/// A turn from its prompt to its reply. `None`: the conversation was closed.
async fn worked(
    id: &SessionId,
    mut turn: Conversation<Turn>,
    text: &str,
    late: usize,
) -> Result<Option<Conversation<Idle>>, AcpError> {
    let (stop, stopped) = watch::channel(false);
    let work = work(id.clone(), turn.handle(), text.to_owned(), late, stopped);
    tokio::pin!(work);
    let mut withdrawn = false;
    loop {
        tokio::select! {
            outcome = &mut work => {
                let idle = match outcome? {
                    _ if withdrawn => turn.refuse(RpcError::new(-32800, "cancelled")).await?,
                    Some(reason) => turn.send_prompt_response(PromptResponse::new(reason)).await?,
                    None => turn.refuse(RpcError::internal_error("no model")).await?,
                };
                return Ok(Some(idle));
            }
            () = turn.cancelled(), if !withdrawn => {
                withdrawn = true;
                stop.send_replace(true);
            }
            () = turn.readable() => match turn.next().await? {
                TurnNext::Cancel(_, next) => {
                    stop.send_replace(true);
                    turn = next;
                }
                TurnNext::CloseSession(_, closing) => {
                    stop.send_replace(true);
                    let stopping = closing.send_close_session_response(CloseSessionResponse::new()).await?;
                    let reason = work.await?.unwrap();
                    stopping.send_prompt_response(PromptResponse::new(reason)).await?;
                    return Ok(None);
                }
                other => panic!("{other:?}"),
            },
        }
    }
}

/// What the agent does in a turn, as the prompt says. `None`: it fails.
async fn work(
    id: SessionId,
    client: ConversationHandle,
    text: String,
    late: usize,
    mut stopped: watch::Receiver<bool>,
) -> Result<Option<StopReason>, AcpError> {
    let say = |text: &str| client.send_update(SessionNotification::new(id.clone(), says(text)));
    let ask = |tool: &str| {
        let option = PermissionOption::new(format!("{tool}-yes"), "Yes", PermissionOptionKind::AllowOnce);
        let call = ToolCallUpdate::new(tool.to_owned(), ToolCallUpdateFields::new());
        client.request_permission(RequestPermissionRequest::new(id.clone(), call, vec![option]))
    };
    match text.as_str() {
        "permissions" => {
            let (a, b, c) = tokio::try_join!(ask("a"), ask("b"), ask("c"))?;
            say(&[a, b, c].map(|answer| chosen(&answer)).join(" ")).await?;
        }
        "tools" => say(&tools(&id, &client).await?).await?,
        "count" => say(&late.to_string()).await?,
        "wait" => {
            let question = ask("anything").send().await?;
            stopped.changed().await.unwrap();
            say(&chosen(&question.await?)).await?;
            return Ok(Some(StopReason::Cancelled));
        }
        "withdraw" => {
            let mut question = ask("anything").send().await?;
            question.canceller().cancel().unwrap();
            let Err(Error::Refused(error)) = question.await else { panic!("an answer") };
            say(&error.code.to_string()).await?;
        }
        "fail" => return Ok(None),
        said => say(said).await?,
    }
    Ok(Some(StopReason::EndTurn))
}

fn chosen(answer: &RequestPermissionResponse) -> String {
    match &answer.outcome {
        RequestPermissionOutcome::Selected(selected) => selected.option_id.to_string(),
        other => format!("{other:?}"),
    }
}

/// Reads and writes a file while two commands run. One of them ends by itself, the other one when it is killed.
async fn tools(id: &SessionId, client: &ConversationHandle) -> Result<String, AcpError> {
    let run = |command: &str| client.create_terminal(CreateTerminalRequest::new(id.clone(), command));
    let ((one, quick), (two, endless)) = tokio::try_join!(run("quick"), run("endless"))?;
    let (one, two) = (one.terminal_id, two.terminal_id);
    let exit = |terminal: &TerminalId| WaitForTerminalExitRequest::new(id.clone(), terminal.clone());
    let first = quick.wait_for_exit(exit(&one)).send().await?;
    let second = endless.wait_for_exit(exit(&two)).send().await?;
    let path = "/project/notes";
    let notes = client.read_text_file(ReadTextFileRequest::new(id.clone(), path)).await?;
    let written = WriteTextFileRequest::new(id.clone(), path, format!("{}!", notes.content));
    client.write_text_file(written).await?;
    endless.kill(KillTerminalRequest::new(id.clone(), two.clone())).await?;
    let output = quick.output(TerminalOutputRequest::new(id.clone(), one.clone())).await?.output;
    let (first, second) = (first.await?.exit_status, second.await?.exit_status);
    quick.release(ReleaseTerminalRequest::new(id.clone(), one)).await?;
    endless.release(ReleaseTerminalRequest::new(id.clone(), two)).await?;
    Ok(format!("{:?} {:?} {output}", first.exit_code, second.signal))
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn a_client_holds_two_conversations_with_the_typed_agent() {
    guarded(async {
        let reports = Reports::default();
        let agent = AcpAgent::with_options(node("acp_client.mjs"), reports.options());
        let (hello, agent) = agent.recv_initialize().await.unwrap();
        assert_eq!(hello.protocol_version, ProtocolVersion::V1);
        let close = SessionCapabilities::new()
            .close(SessionCloseCapabilities::new())
            .list(SessionListCapabilities::new());
        let capabilities = AgentCapabilities::new().load_session(true).session_capabilities(close);
        let welcome = InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(capabilities);
        let agent = agent.send_initialize_response(welcome).await.unwrap();
        let (send, seen) = oneshot::channel();
        let handler = Agent { opened: AtomicUsize::new(0), seen: Mutex::new(Some(send)) };
        let served = agent.incoming().serve(handler);
        let (_, seen) = tokio::join!(served, seen);
        assert_eq!(
            seen.unwrap(),
            json!({
                "stopped": ["end_turn", "end_turn"],
                "quick": "end_turn",
                "cancelled": "cancelled",
                "withdrawn": -32800,
                "closed": ["cancelled", {}],
                "failed": -32603,
                "listed": 1,
                "echoed": { "a": 1 },
                "heard": {
                    "conversation-0": ["early", "a-yes b-yes c-yes", "last words", "1", "first", "second"],
                    "conversation-1": [
                        "early", "notes!", "Some(0) Some(\"SIGKILL\") done", "Cancelled", "Cancelled", "-32800", "Cancelled",
                    ],
                },
            })
        );
        agent.close().await.unwrap();
        reports.none();
    })
    .await;
}
