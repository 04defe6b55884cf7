//! The notes: the server and its client, as a user runs them, and two users of one server.

use std::process::{Command, Stdio};

use integration_tests::example::program;
use mcp_kit::transport::http::HttpClient;
use mcp_kit::types::CreateMessageResult;
use mcp_kit::types::{Role, TextContent};
use mcp_kit::{Answer, ConnectOptions, Connection, Era};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

const SAID: &str = "notes in revision 2026-07-28\n\
    tools: add_note, find_notes, delete_note, sum_up, import_notes\n\
    added: buy milk\n\
    listed: buy milk\n\
    import: 1 of 2\n\
    import: 2 of 2\n\
    log: 2 notes for OWNER\n\
    imported: 2 notes\n\
    found: mend the roof\n\
    tags: shop\n\
    prompt: Review these notes about shop: buy milk\n\
    summed up: 3 notes\n\
    asked: Delete `buy milk`?\n\
    note 1: deleted\n\
    changed: notes://OWNER/1\n\
    again: there is no note 1\n";

/// What the client prints, line by line in the order of their texts: the log may overtake the progress.
fn lines(said: &str) -> Vec<String> {
    let mut lines: Vec<String> = said.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn the_client_uses_all_of_the_server() {
    let client = Command::new(program("notes_client")).arg("--yes").arg(program("notes")).output().unwrap();
    let said = String::from_utf8(client.stdout).unwrap();
    assert_eq!(lines(&said), lines(&SAID.replace("OWNER", "me")), "{said}");
    assert!(client.status.success());
}

#[tokio::test]
async fn the_same_over_http_with_a_token() {
    let (_server, url) = serving().await;
    let mut client = tokio::process::Command::new(program("notes_client"));
    let client = client.args(["--yes", &url, "ada-token"]).output().await.unwrap();
    let said = String::from_utf8(client.stdout).unwrap();
    assert_eq!(lines(&said), lines(&SAID.replace("OWNER", "ada")), "{said}");
    // Without a token the server does not know whose notes they are.
    let mut client = tokio::process::Command::new(program("notes_client"));
    let client = client.args(["--yes", &url, "other-token"]).output().await.unwrap();
    let said = String::from_utf8(client.stderr).unwrap();
    assert!(!client.status.success() && said.contains("401"), "{said}");
}

/// The server over HTTP, and its address.
async fn serving() -> (tokio::process::Child, String) {
    let mut server = tokio::process::Command::new(program("notes"));
    server.arg("127.0.0.1:0").env("NOTES_TOKENS", "ada=ada-token,bo=bo-token");
    let mut server = server.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = said.next_line().await.unwrap().unwrap();
    (server, line.strip_prefix("serving ").unwrap().to_owned())
}

#[derive(Serialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

async fn connect(url: &str, token: &str, era: Era) -> Connection {
    let bearer = format!("Bearer {token}");
    ConnectOptions::new("test", "1")
        .on_form(|_| async { Ok(Answer::Accepted(Confirm { sure: true })) })
        .on_sampling(|_| async {
            Ok(CreateMessageResult::new(Role::Assistant, TextContent::new("all"), "model"))
        })
        .era(era)
        .connect_to("notes", || HttpClient::new(url)?.header("authorization", &bearer))
        .await
        .unwrap()
}

#[tokio::test]
async fn two_users_do_not_see_each_others_notes() {
    let (_server, url) = serving().await;
    for era in [Era::Requests, Era::Handshake] {
        let (ada, bo) = (connect(&url, "ada-token", era).await, connect(&url, "bo-token", era).await);
        let added: Value = ada.call("add_note", json!({ "text": "a secret", "tag": "own" })).await.unwrap();
        let uri = added["uri"].as_str().unwrap();
        let mut changes = ada.subscribe([uri]).await.unwrap();
        assert!(ada.resources().await.unwrap().iter().any(|note| note.uri == uri));

        assert_eq!(bo.resources().await.unwrap().len(), 0);
        assert!(bo.read(uri).await.is_err() && bo.subscribe([uri]).await.is_err());
        let found: Value = bo.call("find_notes", json!({ "words": "secret" })).await.unwrap();
        assert_eq!(found, json!({ "notes": [] }));
        assert_eq!(bo.complete_prompt("review", "tag", "o").await.unwrap(), [""; 0]);
        let kept = bo.call_text("delete_note", json!({ "id": added["id"] })).await.unwrap_err();
        assert!(kept.to_string().contains("there is no note"), "{kept}");

        assert_eq!(ada.read_text(uri).await.unwrap(), "a secret");
        assert_eq!(ada.call_text("delete_note", json!({ "id": added["id"] })).await.unwrap(), "deleted");
        assert_eq!(changes.next().await.unwrap().unwrap(), uri);
    }
}

/// One POST, as a client of another user would make it.
async fn post(url: &str, token: &str, session: Option<&str>, body: &Value) -> reqwest::Response {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = client.post(url).header("authorization", format!("Bearer {token}"));
    if let Some(session) = session {
        request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25");
    }
    let request = request
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(body.to_string());
    request.send().await.unwrap()
}

#[tokio::test]
async fn a_session_id_is_of_no_use_to_another_user() {
    let (_server, url) = serving().await;
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
    } });
    let opened = post(&url, "ada-token", None, &hello).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    assert_eq!(post(&url, "bo-token", Some(&session), &ping).await.status(), 404);
    assert_eq!(post(&url, "ada-token", Some(&session), &ping).await.status(), 200);
}

/// The figures that the project promises: with rustfmt's lines, and without a `json!`.
#[test]
fn the_notes_are_as_short_as_promised() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/notes");
    for (side, most) in [("server", 300), ("client", 220)] {
        let files = std::fs::read_dir(folder.join(side)).unwrap().map(|file| file.unwrap().path());
        let texts: Vec<String> = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let lines: usize = texts.iter().map(|text| text.lines().count()).sum();
        assert!(lines <= most, "{side}: {lines} lines");
        assert!(texts.iter().all(|text| !text.contains("json!")), "{side}");
    }
}
