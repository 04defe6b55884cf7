//! Recorded sessions, played again to the typed client: a peer of raw text says what the server said, when it said it.
//!
//! The client asks through its typed methods what the recording has asked, so that its ids and tokens are its own;
//! those of the recording are translated. What this revision cannot ask is left out, together with its answer.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod client;

use std::collections::HashMap;
use std::time::Duration;

use client::{Player, Running};
use mcp_runtime::{Error, RpcError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use test_support::raw::{Raw, raw_with_room};

/// A payload written as JSON.
fn read<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

/// One message of a recording.
struct Line {
    by_client: bool,
    message: Value,
}

impl Line {
    fn method(&self) -> Option<&str> {
        self.message["method"].as_str()
    }

    /// The id, if there is one, in a form that can be looked up.
    fn id(&self) -> Option<String> {
        self.message.get("id").map(Value::to_string)
    }
}

fn recording(name: &str) -> Vec<Line> {
    let path = format!("{}/traffic/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter_map(|line| match line["dir"].as_str().unwrap() {
            "c2s" => Some(Line { by_client: true, message: line["msg"].clone() }),
            "s2c" => Some(Line { by_client: false, message: line["msg"].clone() }),
            _ => None,
        })
        .collect()
}

/// What the client answered to each request of the server, in the order of the requests.
fn answers(lines: &[Line]) -> Vec<(String, Value)> {
    let asked = lines.iter().filter(|line| !line.by_client && line.id().is_some() && line.method().is_some());
    asked
        .filter_map(|asked| {
            let answer = lines
                .iter()
                .find(|line| line.by_client && line.method().is_none() && line.id() == asked.id());
            Some((asked.method()?.to_owned(), answer?.message["result"].clone()))
        })
        .collect()
}

/// Plays a recording and gives what the client reported.
async fn play(name: &str) -> Vec<String> {
    let lines = recording(name);
    let (wire, mut peer) = raw_with_room(1 << 20);
    let mut player = Player::new(wire, answers(&lines));
    let mut running: HashMap<String, Running> = HashMap::new();
    // What the recording calls an id or a token, and what the client calls it.
    let mut names: HashMap<String, Value> = HashMap::new();
    for line in &lines {
        match (line.by_client, line.method(), line.id()) {
            (true, Some(method), Some(id)) => {
                let Some(call) = player.ask(method, line.message.get("params")).await else { continue };
                running.insert(id.clone(), call);
                let heard = hear(&mut peer, method).await;
                names.insert(id, heard["id"].clone());
                let token = |message: &Value| message["params"]["_meta"]["progressToken"].clone();
                names.insert(format!("token {}", token(&line.message)), token(&heard));
            }
            (true, Some("notifications/cancelled"), None) => {
                running[&line.message["params"]["requestId"].to_string()].cancel();
                hear(&mut peer, "notifications/cancelled").await;
            }
            (true, Some(method), None) => {
                player.tell(method).await;
                hear(&mut peer, method).await;
            }
            (true, None, id) => {
                let answer = peer.hear().await.unwrap();
                assert_eq!(answer["id"].to_string(), id.unwrap(), "{answer}");
                // Answered as it was recorded, unless the method is one that this revision does not have.
                let error = answer.get("error").map(|error| &error["code"]);
                assert!(error.is_none_or(|code| *code == RpcError::METHOD_NOT_FOUND), "{answer}");
            }
            (false, None, id) => {
                let id = id.unwrap();
                let Some(call) = running.remove(&id) else { continue };
                let mut reply = line.message.clone();
                reply["id"] = names[&id].clone();
                peer.say(&reply).await;
                match player.outcome(call).await {
                    Ok(()) => assert!(reply.get("result").is_some(), "{reply}"),
                    Err(Error::Refused(error)) => assert_eq!(json!(error.code), reply["error"]["code"]),
                    // A server may answer all the same; the client does not wait.
                    Err(Error::Cancelled) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            (false, Some("notifications/progress"), None) => {
                let mut message = line.message.clone();
                let token = &mut message["params"]["progressToken"];
                *token = names[&format!("token {token}")].clone();
                peer.say(&message).await;
            }
            (false, Some("notifications/resources/updated"), None) => {
                peer.say(&line.message).await;
                player.updated(&line.message["params"]).await;
            }
            (false, Some(_), _) => peer.say(&line.message).await,
        }
    }
    // Once this is answered, everything before it has been judged.
    let last = player.ask("ping", None).await.unwrap();
    let heard = hear(&mut peer, "ping").await;
    peer.say(&json!({ "jsonrpc": "2.0", "id": heard["id"], "result": {} })).await;
    player.outcome(last).await.unwrap();
    player.reports()
}

/// The client's next message, which is one of this method.
async fn hear(peer: &mut Raw, method: &str) -> Value {
    let heard = peer.hear().await.unwrap();
    assert_eq!(heard["method"], method, "{heard}");
    heard
}

/// The tests do not depend on timing; this only keeps a bug from hanging them.
async fn played(name: &str) -> Vec<String> {
    tokio::time::timeout(Duration::from_secs(60), play(name)).await.unwrap()
}

#[tokio::test]
async fn a_whole_session_of_this_revision() {
    assert_eq!(played("whole-2025-03-26").await, [""; 0]);
}

#[tokio::test]
async fn server_everything_as_it_was_recorded() {
    // The recording is of a later revision, in which a server may ask the user.
    assert_eq!(
        played("everything-full").await,
        ["`elicitation/create` is not a method that the server sends in `Mcp` 2025-03-26"]
    );
}

#[tokio::test]
async fn what_other_clients_were_told() {
    assert_eq!(played("real-py230-se").await, [""; 0]);
    assert_eq!(played("real-ts240-se").await, [""; 0]);
}

#[tokio::test]
async fn a_server_that_answers_cancelled_calls() {
    assert_eq!(played("cancel-py130").await, [""; 0]);
}
