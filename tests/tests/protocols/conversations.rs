//! What the Agent Client Protocol does not permit, in both directions, and a conversation that is not closed after all.

use acp_protocols::acp_v1::client::{ClosingNext, TurnNext};
use acp_protocols::acp_v1::server::{IdleNext, Incoming};
use acp_protocols::acp_v1::{
    AcpAgent, AcpClient, BeforeNewSessionResponse, Idle, Initialized, Start, client, server,
};
use acp_protocols::types::*;
use mcp_runtime::transport::{Transport, duplex};
use mcp_runtime::{Options, RpcError, StepError};
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::in_time;

const SESSION: &str = "conversation-0";

const INVALID_REQUEST: i64 = RpcError::INVALID_REQUEST;
const METHOD_NOT_FOUND: i64 = RpcError::METHOD_NOT_FOUND;
const INVALID_PARAMS: i64 = RpcError::INVALID_PARAMS;
/// The error that the protocol has for this.
const RESOURCE_NOT_FOUND: i64 = -32_002;

fn request(id: u32, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn reported() -> (Options, UnboundedReceiver<String>) {
    let (told, reports) = unbounded_channel();
    (Options::new().on_report(move |report| _ = told.send(report.to_string())), reports)
}

/// An agent of raw text, and a client that has opened a conversation with it.
async fn opened(options: Options) -> (Raw, AcpClient<Initialized>, client::Conversation<Idle>) {
    let (wire, mut raw) = raw();
    let client = AcpClient::with_options(wire, options);
    let agent = async {
        let id = raw.hear().await.unwrap()["id"].clone();
        raw.say(json!({ "jsonrpc": "2.0", "id": id, "result": { "protocolVersion": 1 } })).await;
        let id = raw.hear().await.unwrap()["id"].clone();
        raw.say(json!({ "jsonrpc": "2.0", "id": id, "result": { "sessionId": SESSION } })).await;
        raw
    };
    let capabilities = ClientCapabilities::new().terminal(true);
    let hello = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities);
    let client = async {
        let (_, client) = client.initialize(hello).await.unwrap();
        let (_, idle) = client.new_session(NewSessionRequest::new("/project")).await.unwrap();
        (client, idle)
    };
    let (raw, (client, idle)) = tokio::join!(agent, client);
    (raw, client, idle)
}

/// A client of raw text, and an agent that has started a conversation with it.
async fn started(options: Options) -> (Raw, AcpAgent<Initialized>, server::Conversation<Idle>) {
    let (wire, mut raw) = raw();
    let agent = AcpAgent::with_options(wire, options);
    let client = async {
        let welcome = raw.ask(request(0, "initialize", json!({ "protocolVersion": 1 }))).await;
        assert_eq!(welcome["result"]["protocolVersion"], 1);
        let new = json!({ "cwd": "/project", "mcpServers": [] });
        assert_eq!(raw.ask(request(1, "session/new", new)).await["result"]["sessionId"], SESSION);
        raw
    };
    let (raw, (agent, idle)) = tokio::join!(client, accepted(agent));
    (raw, agent, idle)
}

async fn accepted(agent: AcpAgent<Start>) -> (AcpAgent<Initialized>, server::Conversation<Idle>) {
    let (_, agent) = agent.recv_initialize().await.unwrap();
    let close = SessionCapabilities::new().close(SessionCloseCapabilities::new());
    let capabilities = AgentCapabilities::new().session_capabilities(close);
    let welcome = InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(capabilities);
    let agent = agent.send_initialize_response(welcome).await.unwrap();
    let Some(Incoming::NewSession(_, conversation)) = agent.incoming().next().await else { panic!() };
    let idle = conversation.send_new_session_response(NewSessionResponse::new(SESSION)).await.unwrap();
    (agent, idle)
}

fn permission(id: u32, session: &str) -> Value {
    let call = json!({ "toolCallId": "a" });
    request(
        id,
        "session/request_permission",
        json!({ "sessionId": session, "toolCall": call, "options": [] }),
    )
}

fn prompt(id: u32, session: &str) -> Value {
    let text = json!([{ "type": "text", "text": "Hello" }]);
    request(id, "session/prompt", json!({ "sessionId": session, "prompt": text }))
}

/// Checks that the answer is an error with this code, and that there is a report.
async fn refused(raw: &mut Raw, reports: &mut UnboundedReceiver<String>, code: i64, message: Value) {
    let answer = raw.ask(&message).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&message["id"], &json!(code)), "{answer}");
    let report = reports.recv().await.unwrap();
    assert!(report.contains(message["method"].as_str().unwrap()), "{report}");
}

#[tokio::test]
async fn an_agent_asks_only_during_a_turn_and_in_conversations_that_exist() {
    let (options, mut reports) = reported();
    let (mut raw, _client, idle) = opened(options).await;
    refused(&mut raw, &mut reports, INVALID_REQUEST, permission(0, SESSION)).await;
    let prompt = PromptRequest::new(SESSION, vec!["Hello".into()]);
    let turn = idle.send_prompt(prompt).await.unwrap();
    let asked = raw.hear().await.unwrap();
    refused(&mut raw, &mut reports, INVALID_REQUEST, permission(1, "conversation-1")).await;
    let terminal = json!({ "sessionId": SESSION, "terminalId": "terminal-0" });
    refused(&mut raw, &mut reports, INVALID_REQUEST, request(2, "terminal/output", terminal)).await;
    // The client has not announced this.
    let file = json!({ "sessionId": SESSION, "path": "/project/notes" });
    refused(&mut raw, &mut reports, METHOD_NOT_FOUND, request(3, "fs/read_text_file", file)).await;

    let form = json!({ "sessionId": SESSION, "mode": "form", "message": "Who?", "requestedSchema": {} });
    refused(&mut raw, &mut reports, INVALID_PARAMS, request(6, "elicitation/create", form)).await;

    raw.say(permission(4, SESSION)).await;
    let TurnNext::RequestPermission(_, responder, turn) = turn.next().await.unwrap() else { panic!() };
    raw.say(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "stopReason": "end_turn" } })).await;
    let TurnNext::PromptResponse(_, idle) = turn.next().await.unwrap() else { panic!() };
    // A question outlives its turn; none follows it.
    responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled)).unwrap();
    assert_eq!(raw.hear().await.unwrap()["id"], 4);
    refused(&mut raw, &mut reports, INVALID_REQUEST, permission(5, SESSION)).await;
    drop(idle);
}

#[tokio::test]
async fn a_client_sends_one_prompt_at_a_time_and_in_conversations_that_exist() {
    let (options, mut reports) = reported();
    let (mut raw, _agent, idle) = started(options).await;
    refused(&mut raw, &mut reports, INVALID_REQUEST, prompt(2, "conversation-1")).await;
    // The agent has not announced this.
    let load = json!({ "sessionId": "conversation-1", "cwd": "/project", "mcpServers": [] });
    refused(&mut raw, &mut reports, METHOD_NOT_FOUND, request(3, "session/load", load)).await;
    let close = json!({ "sessionId": "conversation-1" });
    refused(&mut raw, &mut reports, RESOURCE_NOT_FOUND, request(7, "session/close", close)).await;
    raw.say(prompt(4, SESSION)).await;
    let IdleNext::Prompt(_, turn) = idle.next().await.unwrap() else { panic!() };
    refused(&mut raw, &mut reports, INVALID_REQUEST, prompt(5, SESSION)).await;
    let idle = turn.send_prompt_response(PromptResponse::new(StopReason::EndTurn)).await.unwrap();
    assert_eq!(raw.hear().await.unwrap()["id"], 4);
    raw.say(prompt(6, SESSION)).await;
    assert!(matches!(idle.next().await.unwrap(), IdleNext::Prompt(..)));
}

/// A client and an agent that have opened a conversation, both typed.
async fn both()
-> ((AcpClient<Initialized>, client::Conversation<Idle>), (AcpAgent<Initialized>, server::Conversation<Idle>))
{
    async fn client(wire: impl Transport) -> (AcpClient<Initialized>, client::Conversation<Idle>) {
        let hello = InitializeRequest::new(ProtocolVersion::V1);
        let (_, client) = AcpClient::new(wire).initialize(hello).await.unwrap();
        let (_, idle) = client.new_session(NewSessionRequest::new("/project")).await.unwrap();
        (client, idle)
    }
    let (near, far) = duplex();
    tokio::join!(client(near), accepted(AcpAgent::new(far)))
}

#[tokio::test]
async fn the_agent_refuses_to_close_a_conversation_and_the_turn_goes_on() {
    let ((_client, idle), (_agent, listening)) = both().await;
    let turn = idle.send_prompt(PromptRequest::new(SESSION, vec!["Hello".into()])).await.unwrap();
    let IdleNext::Prompt(_, working) = listening.next().await.unwrap() else { panic!() };
    let closing = turn.send_close_session(CloseSessionRequest::new(SESSION)).await.unwrap();
    let server::TurnNext::CloseSession(_, asked) = working.next().await.unwrap() else { panic!() };
    let working = asked.refuse_close_session(RpcError::new(-32_001, "busy")).await.unwrap();
    let ClosingNext::CloseSessionError(error, turn) = closing.next().await.unwrap() else { panic!() };
    assert_eq!(error.message, "busy");
    let listening = working.send_prompt_response(PromptResponse::new(StopReason::EndTurn)).await.unwrap();
    let TurnNext::PromptResponse(_, idle) = turn.next().await.unwrap() else { panic!() };

    // The request to close crosses the end of the turn.
    let turn = idle.send_prompt(PromptRequest::new(SESSION, vec!["Hello".into()])).await.unwrap();
    let IdleNext::Prompt(_, working) = listening.next().await.unwrap() else { panic!() };
    let listening = working.send_prompt_response(PromptResponse::new(StopReason::EndTurn)).await.unwrap();
    let closing = turn.send_close_session(CloseSessionRequest::new(SESSION)).await.unwrap();
    let IdleNext::CloseSession(_, closed) = listening.next().await.unwrap() else { panic!() };
    closed.send_close_session_response(CloseSessionResponse::new()).await.unwrap();
    let ClosingNext::PromptResponse(_, closed) = closing.next().await.unwrap() else { panic!() };
    closed.recv_close_session_response().await.unwrap();
}

#[tokio::test]
async fn a_conversation_sends_nothing_for_another_one() {
    let ((_client, idle), _agent) = both().await;
    let other = PromptRequest::new("conversation-1", vec!["Hello".into()]);
    let Err(StepError::NotSent { error, session: idle }) = idle.send_prompt(other).await else { panic!() };
    assert!(error.to_string().contains("conversation-1"), "{error}");
    drop(idle.send_prompt(PromptRequest::new(SESSION, vec!["Hello".into()])).await.unwrap());
}

/// An agent that has taken a request for a second conversation.
async fn second_asked(agent: &AcpAgent<Initialized>) -> server::Conversation<BeforeNewSessionResponse> {
    let Some(Incoming::NewSession(_, conversation)) = agent.incoming().next().await else { panic!() };
    let taken = conversation.send_new_session_response(NewSessionResponse::new(SESSION)).await;
    let Err(StepError::NotSent { error, session }) = taken else { panic!() };
    assert!(error.to_string().contains("something is running already"), "{error}");
    session
}

#[tokio::test]
async fn after_an_id_that_is_taken_the_request_is_still_answered() {
    let ((client, _idle), (agent, _listening)) = in_time(both()).await;
    let opening =
        async { second_asked(&agent).await.send_new_session_response(NewSessionResponse::new("b")).await };
    let (opened, answered) =
        in_time(async { tokio::join!(client.new_session(NewSessionRequest::new("/b")), opening) }).await;
    assert_eq!(&*opened.unwrap().0.session_id.0, "b");
    drop(answered.unwrap());

    let dropping = async { drop(second_asked(&agent).await) };
    let (refused, ()) =
        in_time(async { tokio::join!(client.new_session(NewSessionRequest::new("/c")), dropping) }).await;
    assert!(refused.unwrap_err().is_refused());
}
