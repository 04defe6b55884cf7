//! The typed client drives the example agent of the SDK, and an agent on the SDK, `acp_agent.mjs`.

use std::sync::{Arc, Mutex};

use acp_protocols::acp_v1::client::{
    self, ClosingNext, Context, Conversation, IdleNext, LoadingNext, RunningNext, StoppingNext, Terminal,
    TurnNext,
};
use acp_protocols::acp_v1::{AcpClient, AcpError, BeforeCreateTerminalResponse, Idle, Initialized, Turn};
use acp_protocols::types::*;
use mcp_runtime::call::{Responder, WithMethod};
use serde_json::json;
use test_support::script::guarded;
use tokio::task::JoinHandle;

use super::{EXAMPLES, Reports, node, text};

/// The updates of conversations that the client does not know yet.
#[derive(Clone, Default)]
struct Early(Arc<Mutex<Vec<SessionId>>>);

impl client::Handler for Early {
    async fn update(&self, _: Context, update: SessionNotification) {
        self.0.lock().unwrap().push(update.session_id);
    }
}

/// A client after the handshake, with everything that an agent may ask of it.
async fn started(script: &str, reports: &Reports) -> (AcpClient<Initialized>, Early) {
    let client = AcpClient::with_options(node(script), reports.options());
    let fs = FileSystemCapabilities::new().read_text_file(true).write_text_file(true);
    let capabilities = ClientCapabilities::new().fs(fs).terminal(true);
    let hello = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities);
    let (welcome, client) = client.initialize(hello).await.unwrap();
    assert_eq!(welcome.protocol_version, ProtocolVersion::V1);
    let early = Early::default();
    test_support::spawn(client.incoming().serve(early.clone()));
    (client, early)
}

async fn conversation(client: &AcpClient<Initialized>) -> (SessionId, Conversation<Idle>) {
    let (new, conversation) = client.new_session(NewSessionRequest::new("/project")).await.unwrap();
    (new.session_id, conversation)
}

const OURS: &str = "acp_agent.mjs";

fn prompt(id: &SessionId, text: &str) -> PromptRequest {
    PromptRequest::new(id.clone(), vec![text.into()])
}

fn chosen(option: &str) -> RequestPermissionResponse {
    let selected = SelectedPermissionOutcome::new(option.to_owned());
    RequestPermissionResponse::new(RequestPermissionOutcome::Selected(selected))
}

/// What has come in a turn.
#[derive(Debug, Default)]
struct Seen {
    updates: Vec<SessionUpdate>,
    stopped: Option<StopReason>,
    terminals: Vec<JoinHandle<Result<(), AcpError>>>,
}

impl Seen {
    fn texts(&self) -> Vec<&str> {
        self.updates.iter().filter_map(text).collect()
    }
}

/// Takes what comes in a turn to its end. Each permission is answered with the option of this name, or the first one.
async fn finished(mut turn: Conversation<Turn>, option: &str) -> (Seen, Conversation<Idle>) {
    let mut seen = Seen::default();
    loop {
        turn = match turn.next().await.unwrap() {
            TurnNext::Update(update, turn) => {
                seen.updates.push(update.update);
                turn
            }
            TurnNext::RequestPermission(question, responder, turn) => {
                let known = question.options.iter().any(|known| *known.option_id.0 == *option);
                responder
                    .respond(chosen(if known { option } else { &question.options[0].option_id.0 }))
                    .unwrap();
                turn
            }
            TurnNext::ReadTextFile(_, responder, turn) => {
                responder.respond(ReadTextFileResponse::new("notes")).unwrap();
                turn
            }
            TurnNext::WriteTextFile(file, responder, turn) => {
                assert_eq!(file.content, "notes!");
                responder.respond(WriteTextFileResponse::new()).unwrap();
                turn
            }
            TurnNext::CreateTerminal(command, terminal, turn) => {
                let id = format!("terminal-{}", seen.terminals.len());
                seen.terminals.push(test_support::spawn(run(id, command, terminal)));
                turn
            }
            TurnNext::PromptResponse(response, idle) => {
                seen.stopped = Some(response.stop_reason);
                return (seen, idle);
            }
            other => panic!("{other:?}"),
        };
    }
}

/// Waits for the next question of a turn, past updates; returns its first option.
async fn question(
    mut turn: Conversation<Turn>,
) -> (PermissionOptionId, Responder<RequestPermissionResponse>, Conversation<Turn>) {
    loop {
        turn = match turn.next().await.unwrap() {
            TurnNext::Update(_, turn) => turn,
            TurnNext::RequestPermission(question, responder, turn) => {
                return (question.options[0].option_id.clone(), responder, turn);
            }
            other => panic!("{other:?}"),
        };
    }
}

/// A terminal whose command ends at once, or when it is killed if it is `endless`.
async fn run(
    id: String,
    command: CreateTerminalRequest,
    terminal: Terminal<BeforeCreateTerminalResponse>,
) -> Result<(), AcpError> {
    let endless = command.command == "endless";
    let mut terminal = terminal.send_create_terminal_response(CreateTerminalResponse::new(id)).await?;
    let killed = TerminalExitStatus::new().signal("SIGKILL".to_owned());
    let mut status = (!endless).then(|| TerminalExitStatus::new().exit_code(0));
    let mut waiting = Vec::new();
    loop {
        terminal = match terminal.next().await? {
            RunningNext::WaitForExit(_, responder, terminal) => {
                waiting.push(responder);
                terminal
            }
            RunningNext::TerminalOutput(_, responder, terminal) => {
                responder.respond(TerminalOutputResponse::new("done", false))?;
                terminal
            }
            RunningNext::KillTerminal(_, responder, terminal) => {
                status = Some(killed.clone());
                responder.respond(KillTerminalResponse::new())?;
                terminal
            }
            // What still waits for the end of the command is dropped, and so answered with an error.
            RunningNext::ReleaseTerminal(_, terminal) => {
                drop(waiting);
                return Ok(terminal.send_release_terminal_response(ReleaseTerminalResponse::new()).await?);
            }
        };
        if let Some(status) = &status {
            let exited = WaitForTerminalExitResponse::new(status.clone());
            waiting.drain(..).try_for_each(|responder| responder.respond(exited.clone()))?;
        }
    }
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn the_example_agent_holds_two_conversations_at_once() {
    guarded(async {
        let reports = Reports::default();
        let (client, _) = started(&format!("{EXAMPLES}/agent.js"), &reports).await;
        let ((one, first), (two, second)) = tokio::join!(conversation(&client), conversation(&client));
        assert_ne!(one, two);
        let first = first.send_prompt(prompt(&one, "Hello")).await.unwrap();
        let second = second.send_prompt(prompt(&two, "Hello")).await.unwrap();
        let ((allowed, _), (rejected, _)) =
            tokio::join!(finished(first, "allow"), finished(second, "reject"));
        assert_eq!((allowed.updates.len(), allowed.stopped), (7, Some(StopReason::EndTurn)));
        assert_eq!((rejected.updates.len(), rejected.stopped), (6, Some(StopReason::EndTurn)));
        client.close().await.unwrap();
        reports.none();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn the_example_agent_is_cancelled_in_a_turn_and_at_its_end() {
    guarded(async {
        let reports = Reports::default();
        let (client, _) = started(&format!("{EXAMPLES}/agent.js"), &reports).await;
        let (id, idle) = conversation(&client).await;
        let turn = idle.send_prompt(prompt(&id, "Hello")).await.unwrap();
        turn.send_cancel(CancelNotification::new(id.clone())).await.unwrap();
        let (seen, idle) = finished(turn, "allow").await;
        assert_eq!(seen.stopped, Some(StopReason::Cancelled));
        // The agent has stopped: this cancel is for a turn that is over.
        idle.send_cancel(CancelNotification::new(id.clone())).await.unwrap();
        let turn = idle.send_prompt(prompt(&id, "Hello")).await.unwrap();
        let (seen, _) = finished(turn, "allow").await;
        assert_eq!(seen.stopped, Some(StopReason::EndTurn));
        client.close().await.unwrap();
        reports.none();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn an_agent_asks_for_permissions_at_once_and_runs_terminals() {
    guarded(async {
        let reports = Reports::default();
        let (client, early) = started(OURS, &reports).await;
        let ((one, first), (two, second)) = tokio::join!(conversation(&client), conversation(&client));
        // Each of the conversations had an update before the reply to `session/new`.
        assert_eq!(*early.0.lock().unwrap(), [one.clone(), two.clone()]);

        // Three questions at once in one conversation, answered in the opposite order; terminals in the other one.
        let asking = async {
            let mut turn = first.send_prompt(prompt(&one, "permissions")).await.unwrap();
            let mut questions = Vec::new();
            while questions.len() < 3 {
                let (option, responder, next) = question(turn).await;
                questions.push((option, responder));
                turn = next;
            }
            for (option, responder) in questions.into_iter().rev() {
                responder.respond(chosen(&option.0)).unwrap();
            }
            finished(turn, "").await
        };
        let running = async {
            let turn = second.send_prompt(prompt(&two, "tools")).await.unwrap();
            finished(turn, "").await
        };
        let ((asked, _), (ran, second)) = tokio::join!(asking, running);
        assert_eq!(asked.texts(), ["a-yes b-yes c-yes"]);
        assert_eq!(ran.texts(), ["0 SIGKILL done"]);
        for terminal in ran.terminals {
            terminal.await.unwrap().unwrap();
        }

        // A terminal outlives its turn, and is released while its end is waited for.
        let (started, second) =
            finished(second.send_prompt(prompt(&two, "background")).await.unwrap(), "").await;
        let (released, _) = finished(second.send_prompt(prompt(&two, "release")).await.unwrap(), "").await;
        assert_eq!(released.texts(), ["error -32603"]);
        for terminal in started.terminals {
            terminal.await.unwrap().unwrap();
        }
        client.close().await.unwrap();
        reports.none();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn a_cancel_crosses_the_end_of_its_turn_and_of_what_the_agent_asks() {
    guarded(async {
        let reports = Reports::default();
        let (client, _) = started(OURS, &reports).await;
        let (id, idle) = conversation(&client).await;
        let cancel = || CancelNotification::new(id.clone());

        // The agent has ended the turn, and this side does not know it yet.
        let turn = idle.send_prompt(prompt(&id, "nothing")).await.unwrap();
        turn.readable().await;
        turn.send_cancel(cancel()).await.unwrap();
        let (seen, idle) = finished(turn, "").await;
        assert_eq!(seen.stopped, Some(StopReason::EndTurn));
        let (seen, idle) = finished(idle.send_prompt(prompt(&id, "count")).await.unwrap(), "").await;
        assert_eq!(seen.texts(), ["1"]);

        // The agent withdraws its question, and the client answers that it is cancelled.
        let turn = idle.send_prompt(prompt(&id, "wait")).await.unwrap();
        let (_, responder, turn) = question(turn).await;
        turn.send_cancel(cancel()).await.unwrap();
        let context = responder.context();
        context.cancelled().await;
        responder.refuse(context.cancelled_error()).unwrap();
        let (seen, idle) = finished(turn, "").await;
        assert_eq!(seen.texts(), [r#"{"refused":-32800}"#]);
        assert_eq!(seen.stopped, Some(StopReason::Cancelled));

        // The answer crosses the withdrawal of its question.
        let turn = idle.send_prompt(prompt(&id, "wait")).await.unwrap();
        let (_, responder, turn) = question(turn).await;
        turn.send_cancel(cancel()).await.unwrap();
        responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled)).unwrap();
        let (seen, _) = finished(turn, "").await;
        assert_eq!(seen.texts(), [r#"{"outcome":{"outcome":"cancelled"}}"#]);
        client.close().await.unwrap();
        reports.none();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn conversations_are_listed_loaded_resumed_and_closed_also_during_a_turn() {
    guarded(async {
        let reports = Reports::default();
        let (client, _) = started(OURS, &reports).await;
        let pages = client.list_sessions_pages(ListSessionsRequest::new()).all().await.unwrap();
        let listed: Vec<_> =
            pages.iter().flat_map(|page| &page.sessions).map(|info| info.session_id.clone()).collect();
        assert_eq!(listed, [SessionId::new("first"), SessionId::new("last")]);

        let id = listed[0].clone();
        let mut replayed = Vec::new();
        let load = LoadSessionRequest::new(id.clone(), "/project");
        let mut loading = client.send_load_session(load.clone()).await.unwrap();
        let idle = loop {
            loading = match loading.next().await.unwrap() {
                LoadingNext::Update(update, loading) => {
                    replayed.extend(text(&update.update).map(str::to_owned));
                    loading
                }
                LoadingNext::LoadSessionResponse(_, idle) => break idle,
            };
        };
        assert_eq!(replayed, ["first", "second"]);
        idle.close_session(CloseSessionRequest::new(id.clone())).await.unwrap();

        let resume = ResumeSessionRequest::new(id.clone(), "/project");
        let (_, mut idle) = client.resume_session(resume).await.unwrap();
        let IdleNext::Update(update) = idle.next().await.unwrap() else { panic!("not an update") };
        assert_eq!(text(&update.update), Some("resumed"));
        idle.close_session(CloseSessionRequest::new(id.clone())).await.unwrap();

        // The id is free again. This time the conversation is closed while the agent waits for an answer.
        let (_, idle) = client.load_session(load).await.unwrap();
        let turn = idle.send_prompt(prompt(&id, "wait")).await.unwrap();
        let (_, responder, turn) = question(turn).await;
        let mut closing = turn.send_close_session(CloseSessionRequest::new(id.clone())).await.unwrap();
        let mut stopping = loop {
            closing = match closing.next().await.unwrap() {
                ClosingNext::Update(update, closing) => {
                    assert_eq!(text(&update.update), Some("closing"));
                    closing
                }
                ClosingNext::CloseSessionResponse(_, stopping) => break stopping,
                other => panic!("{other:?}"),
            };
        };
        drop(responder);
        let stopped = loop {
            stopping = match stopping.next().await.unwrap() {
                StoppingNext::Update(update, stopping) => {
                    assert_eq!(text(&update.update), Some(r#"{"refused":-32800}"#));
                    stopping
                }
                StoppingNext::PromptResponse(response) => break response.stop_reason,
                other => panic!("{other:?}"),
            };
        };
        assert_eq!(stopped, StopReason::Cancelled);
        client.close().await.unwrap();
        reports.none();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn a_turn_fails_and_extensions_are_called() {
    guarded(async {
        let reports = Reports::default();
        let (client, _) = started(OURS, &reports).await;
        let echoed = client.extension(WithMethod::new("_test/echo", Some(json!({ "a": 1 })))).await.unwrap();
        assert_eq!(echoed, Some(json!({ "a": 1 })));
        let (id, idle) = conversation(&client).await;
        let turn = idle.send_prompt(prompt(&id, "fail")).await.unwrap();
        let TurnNext::PromptError(error, idle) = turn.next().await.unwrap() else { panic!("not an error") };
        assert!(error.message.contains("no model"), "{error}");
        let (seen, _) = finished(idle.send_prompt(prompt(&id, "nothing")).await.unwrap(), "").await;
        assert_eq!(seen.stopped, Some(StopReason::EndTurn));
        client.close().await.unwrap();
        reports.none();
    })
    .await;
}
