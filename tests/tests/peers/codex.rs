//! The app server of codex, which writes messages without the member `jsonrpc`, against a model of this test on loopback.
//! Nothing stands between the two.
//!
//! The program comes from npm: `npm pack @openai/codex@0.169.0-linux-x64`. It is 400 MB, so CI does not install it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stderr)]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use mcp_runtime::transport::Child;
use mcp_runtime::{Options, Report};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;

mod protocol {
    mcp_runtime::protocol!("protocols/codex.session");
}

use protocol::client::{LeavingNext, RunningNext, Turn};
use protocol::{CodexClient, Running};

/// What the model says: first it wants to run a command, then it has an answer.
async fn model(request: String) -> ([(&'static str, &'static str); 1], String) {
    let request: Value = serde_json::from_str(&request).unwrap();
    let input = request["input"].as_array().unwrap();
    let last = &input.last().unwrap();
    let item = match last["type"].as_str() {
        Some("function_call_output") => {
            let text =
                if last["output"].to_string().contains("rejected by user") { "As you wish" } else { "Done" };
            json!({ "type": "message", "role": "assistant", "id": "m", "content": [{ "type": "output_text", "text": text }] })
        }
        _ => {
            let arguments = json!({
                "cmd": "touch made", "sandbox_permissions": "require_escalated", "justification": "a test",
            });
            json!({
                "type": "function_call", "id": "f", "call_id": "c", "name": "exec_command",
                "arguments": arguments.to_string(),
            })
        }
    };
    let usage = json!({ "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 });
    let events = [
        json!({ "type": "response.created", "response": { "id": "r" } }),
        json!({ "type": "response.output_item.done", "item": item }),
        json!({ "type": "response.completed", "response": { "id": "r", "usage": usage } }),
    ];
    let events = events.map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    ([("content-type", "text/event-stream")], events.concat())
}

/// Follows a turn to its end, declines what it asks, and returns what was asked and the last message of the model.
async fn declined(mut turn: Turn<Running>) -> (Vec<String>, String) {
    let (mut asked, mut said) = (Vec::new(), String::new());
    loop {
        turn = match turn.next().await.unwrap() {
            RunningNext::CommandApproval(params, answer, turn) => {
                asked.push(params["command"].as_str().unwrap().to_owned());
                answer.respond(json!({ "decision": "decline" })).unwrap();
                turn
            }
            RunningNext::ItemNotice(notice, turn) => {
                let item = &notice.params["item"];
                if notice.method == "item/completed" && item["type"] == "agentMessage" {
                    said = item["text"].as_str().unwrap().to_owned();
                }
                turn
            }
            RunningNext::TurnStarted(_, turn) | RunningNext::TurnNotice(_, turn) => turn,
            RunningNext::TurnCompleted(params) => {
                assert_eq!(params["turn"]["status"], "completed");
                return (asked, said);
            }
        };
    }
}

#[tokio::test]
#[ignore = "needs codex, 400 MB from npm: CODEX names the program"]
async fn two_threads_with_two_turns_each() {
    let Some(program) = std::env::var_os("CODEX") else {
        eprintln!("CODEX does not name a program, so nothing is tested");
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().route("/v1/responses", post(model));
    let serving = test_support::spawn(async move { axum::serve(listener, router).await.unwrap() });

    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("codex");
    std::fs::create_dir_all(&home).unwrap();
    let config = format!(
        "model = \"mock\"\nmodel_provider = \"mock\"\napproval_policy = \"on-request\"\nsandbox_mode = \"read-only\"\n\
         [model_providers.mock]\nname = \"mock\"\nwire_api = \"responses\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n"
    );
    std::fs::write(home.join("config.toml"), config).unwrap();
    let mut command = Command::new(program);
    command.arg("app-server").env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", &home).env("CODEX_HOME", &home).current_dir(&home);
    let child = Child::builder(command).spawn().unwrap();

    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let options =
        Options::default().on_report(move |report: &Report| seen.lock().unwrap().push(report.to_string()));
    let session = async {
        let client = CodexClient::with_options(child, options);
        let info =
            json!({ "clientInfo": { "name": "test", "title": null, "version": "1" }, "capabilities": null });
        let (_, client) = client.initialize(info).await.unwrap();
        let client = client.send_initialized().await.unwrap();
        let incoming = client.incoming();
        test_support::spawn(async move { while incoming.next().await.is_some() {} });
        let conversation = async || {
            let (started, mut thread) = client.thread_start(json!({ "cwd": home })).await.unwrap();
            let id = &started["thread"]["id"];
            for _ in 0..2 {
                let input = json!([{ "type": "text", "text": "make it", "text_elements": [] }]);
                let (_, turn) = thread.turn_start(json!({ "threadId": id, "input": input })).await.unwrap();
                let mut turn = std::pin::pin!(declined(turn));
                // What the thread says meanwhile is read, too.
                let ended = loop {
                    tokio::select! {
                        ended = &mut turn => break ended,
                        next = thread.next() => drop(next.unwrap()),
                    }
                };
                assert_eq!(ended, (vec!["/bin/bash -lc 'touch made'".to_owned()], "As you wish".to_owned()));
            }
            let mut leaving = thread.send_thread_unsubscribe(json!({ "threadId": id })).await.unwrap();
            while let LeavingNext::ThreadNotice(_, next) | LeavingNext::RequestResolved(_, next) =
                leaving.next().await.unwrap()
            {
                leaving = next;
            }
        };
        tokio::join!(conversation(), conversation());
        client.close().await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(120), session).await.unwrap();
    assert!(!home.join("made").exists());
    assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
    serving.abort();
}
