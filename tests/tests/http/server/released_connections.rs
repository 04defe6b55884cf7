//! Handlers that release the client's connection; the client resumes the answer.

use mcp_protocols::mcp_2025_03_26::McpClient;
use mcp_protocols::types::{CallToolParams, ClientCapabilities, Implementation, InitializeParams};
use mcp_runtime::transport::http::{HttpClient, ListenOptions, ServerOptions};
use serde_json::{Value, json};

use super::test_server::{TestServer, call, guarded};
use super::wire::Ask;

/// The call of the tool that hangs up, with what it is to do before.
fn leave(id: i64, before: &str) -> Value {
    let mut call = call(id, "leave");
    call["params"]["arguments"]["message"] = json!(before);
    call
}

#[tokio::test(start_paused = true)]
async fn the_answer_waits_for_a_client_that_can_come_back() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let ask = Ask::post(leave(1, "")).session(&id).with("mcp-protocol-version", "2025-11-25");
        let mut stream = host.wire().await.stream(&ask).await;
        let primed = stream.next().await.unwrap();
        assert_eq!((&*primed.retry, primed.data.as_deref()), ("1000", Some("")));
        assert_eq!(stream.next().await, None, "the connection ends before the answer");
        for _ in 0..2 {
            let back = Ask::get().session(&id).with("last-event-id", &primed.id);
            let mut resumed = host.wire().await.stream(&back).await;
            let answer = resumed.message().await.unwrap();
            assert_eq!(answer.json()["result"]["content"][0]["text"], "left");
            assert_eq!(resumed.next().await, None);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_was_sent_an_event_can_come_back_too() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let mut stream = host.wire().await.stream(&Ask::post(leave(1, "told")).session(&id)).await;
        let report = stream.message().await.unwrap();
        assert_eq!(report.json()["params"]["progress"], 1.0);
        assert_eq!(stream.next().await, None);
        let back = Ask::get().session(&id).with("last-event-id", &report.id);
        let mut resumed = host.wire().await.stream(&back).await;
        assert_eq!(resumed.message().await.unwrap().json()["id"], 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_could_not_come_back_is_answered_at_once() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let answer = host.ask(&Ask::post(leave(1, "")).session(&id)).await;
        assert_eq!(answer.head.get("content-type"), Some("application/json"));
        assert_eq!(answer.json()["result"]["content"][0]["text"], "left");
    })
    .await;
}

#[tokio::test]
async fn our_client_comes_back_without_the_programs_doing() {
    guarded(async {
        let options = ServerOptions::default().retry(std::time::Duration::from_millis(5));
        let host = TestServer::listening_with(options, ListenOptions::default()).await;
        let client = McpClient::new(HttpClient::new(host.url()).unwrap());
        let capabilities = ClientCapabilities::new();
        let hello = InitializeParams::new("2025-03-26", capabilities, Implementation::new("wire", "1"));
        let (_, client) = client.initialize(hello).await.unwrap();
        let client = client.send_initialized().await.unwrap();
        let params = CallToolParams::new("leave").with_argument("message", "told");
        let answer = client.call_tool(params).with_progress().send().await.unwrap();
        assert_eq!(answer.await.unwrap().first_text(), Some("left"));
        client.close().await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn with_no_time_to_wait_every_answer_can_be_taken_up_again() {
    guarded(async {
        let options = ServerOptions::default().stream_after(std::time::Duration::ZERO);
        let host = TestServer::with(options);
        let id = host.ready().await;
        for number in 1..20 {
            let mut stream = host.wire().await.stream(&Ask::post(call(number, "echo")).session(&id)).await;
            let primed = stream.next().await.unwrap();
            drop(stream);
            let back = Ask::get().session(&id).with("last-event-id", &primed.id);
            let mut resumed = host.wire().await.stream(&back).await;
            assert_eq!(resumed.message().await.unwrap().json()["id"], number);
        }
        // A refused message is not a call, and does not need a stream.
        let unknown = json!({ "jsonrpc": "2.0", "id": 99, "method": "no" });
        let refused = host.ask(&Ask::post(unknown).session(&id)).await;
        assert_eq!(refused.json()["error"]["code"], -32601);
    })
    .await;
}
