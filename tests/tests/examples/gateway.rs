//! `examples/gateway`: a server in front of the adder, the notes and one that does not answer.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use integration_tests::example::program;
use mcp_kit::transport::Child;
use mcp_kit::{Answer, ConnectOptions};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Serialize, JsonSchema)]
struct Confirm {
    /// Really delete it
    sure: bool,
}

#[tokio::test]
async fn two_servers_are_one_also_where_a_third_does_not_answer() {
    // It takes connections, and never says anything.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = json!({ "url": format!("http://{}/mcp", listener.local_addr().unwrap()) });
    let servers = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gateway.json");
    let entry = |name: &str| json!({ "command": program(name) });
    let list = json!({ "mcpServers": { "a": silent, "adder": entry("adder"), "notes": entry("notes") } });
    std::fs::write(&servers, list.to_string()).unwrap();
    let mut command = Command::new(program("gateway"));
    command.arg(&servers);
    let logged = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&logged);
    let options = ConnectOptions::new("test", "1")
        .on_form(|_| async { Ok(Answer::Accepted(Confirm { sure: true })) })
        .on_log(mcp_kit::types::LoggingLevel::Info, move |line| log.lock().unwrap().push(line.data));
    let gateway = options.connect(Child::spawn(command).unwrap()).await.unwrap();

    let tools = gateway.tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names[..2], ["adder_add", "notes_add_note"], "{names:?}");
    assert_eq!(gateway.call_text("adder_add", json!({ "a": 1, "b": 2 })).await.unwrap(), "3");
    let note = json!({ "text": "buy milk", "tag": "shop" });
    let added: Value = gateway.call("notes_add_note", note).await.unwrap();
    let uri = added["uri"].as_str().unwrap();
    assert_eq!(gateway.read_text(uri).await.unwrap(), "buy milk");
    assert_eq!(gateway.complete_prompt("notes_review", "tag", "s").await.unwrap(), ["shop"]);
    let review = gateway.prompt("notes_review", [("tag", "shop")]).await.unwrap();
    assert_eq!(review.messages.len(), 1);

    let mut changes = gateway.subscribe([uri]).await.unwrap();
    let id = &added["id"];
    let deleted = gateway.call_text("notes_delete_note", json!({ "id": id })).await.unwrap();
    assert!(deleted.contains("deleted"), "{deleted}");
    assert_eq!(changes.next().await.unwrap().unwrap(), uri);
    let imported = gateway.call_text("notes_import_notes", json!({ "text": "one\ntwo" })).await.unwrap();
    assert!(imported.contains("2 notes"), "{imported}");
    assert_eq!(*logged.lock().unwrap(), ["2 notes for me"]);
    let refused = gateway.read_text("notes://me/77").await.unwrap_err();
    assert!(refused.to_string().contains("no resource is at `notes://me/77`"), "{refused}");
    drop(changes);
    gateway.close().await.unwrap();
}
