//! `examples/gateway`: a server in front of the adder, the notes and one that does not answer.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use integration_tests::example::program;
use mcp_kit::transport::Child;
use mcp_kit::types::ResourceContents;
use mcp_kit::{Answer, Client, ConnectOptions, Context, Failure, ListRequest, Page, Resources, Server};
use mcp_runtime::Options;
use mcp_runtime::transport::http::ServerOptions;
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

/// Resources in any number, one page after another.
struct Rows;

impl Resources<Arc<AtomicUsize>> for Rows {
    async fn list(
        pages: &Arc<AtomicUsize>,
        request: &ListRequest,
    ) -> Result<Page<mcp_kit::types::Resource>, Failure> {
        pages.fetch_add(1, Ordering::Relaxed);
        let first = request.cursor::<usize>()?.unwrap_or(0);
        let end = first + request.size();
        let resource = |row| mcp_kit::types::Resource::new(format!("row://{row}"), "row");
        Ok((first..end).map(resource).collect::<Page<_>>().next_cursor(Some(end)))
    }

    async fn read(
        _: &Arc<AtomicUsize>,
        _: &str,
        _: Client,
    ) -> Result<Option<Vec<ResourceContents>>, Failure> {
        Ok(None)
    }
}

#[tokio::test]
async fn a_page_has_one_of_each_server_that_has_another() {
    let pages = Arc::new(AtomicUsize::new(0));
    let rows = Server::new("rows", "1", Arc::clone(&pages)).page_size(10).resources::<Rows>();
    let http = rows.http(ServerOptions::new()).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/mcp", http.method_router());
    test_support::spawn(async move { http.serve(listener, router, std::future::pending()).await.unwrap() });

    let servers = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gateway-pages.json");
    let list = json!({ "mcpServers": { "notes": { "command": program("notes") }, "rows": { "url": url } } });
    std::fs::write(&servers, list.to_string()).unwrap();
    let mut command = Command::new(program("gateway"));
    command.arg(&servers);
    let gateway = ConnectOptions::new("test", "1").connect(Child::spawn(command).unwrap()).await.unwrap();
    let note = json!({ "text": "buy milk", "tag": "shop" });
    let added: Value = gateway.call("notes_add_note", note).await.unwrap();
    let first = gateway.resources_page(None).await.unwrap();
    let uris: Vec<_> = first.entries.iter().map(|resource| &*resource.uri).collect();
    assert!(uris.contains(&added["uri"].as_str().unwrap()) && uris.contains(&"row://9"), "{uris:?}");
    let second = gateway.resources_page(first.next_cursor).await.unwrap();
    let uris: Vec<_> = second.entries.iter().map(|resource| &*resource.uri).collect();
    assert_eq!(uris, (10..20).map(|row| format!("row://{row}")).collect::<Vec<_>>());
    assert_eq!(pages.load(Ordering::Relaxed), 2);
    let refused = gateway.resources_page(Some("next".to_owned())).await.unwrap_err();
    assert!(refused.to_string().contains("is not a cursor of this server"), "{refused}");
    gateway.close().await.unwrap();
}

#[tokio::test]
async fn the_name_of_a_server_may_begin_with_that_of_another_one() {
    let servers = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gateway-names.json");
    let entry = |name: &str| json!({ "command": program(name) });
    let list = json!({ "mcpServers": { "notes": entry("notes"), "notes_old": entry("adder") } });
    std::fs::write(&servers, list.to_string()).unwrap();
    let mut command = Command::new(program("gateway"));
    command.arg(&servers);
    let gateway = ConnectOptions::new("test", "1").connect(Child::spawn(command).unwrap()).await.unwrap();
    assert_eq!(gateway.call_text("notes_old_add", json!({ "a": 1, "b": 2 })).await.unwrap(), "3");
    let note = json!({ "text": "buy milk", "tag": "shop" });
    let _: Value = gateway.call("notes_add_note", note).await.unwrap();
    gateway.close().await.unwrap();
}

/// Lists nothing, and does not answer anything else.
struct Hanging;

impl Resources<()> for Hanging {
    async fn list(_: &(), _: &ListRequest) -> Result<Page<mcp_kit::types::Resource>, Failure> {
        Ok(Page::default())
    }

    async fn read(_: &(), _: &str, _: Client) -> Result<Option<Vec<ResourceContents>>, Failure> {
        std::future::pending().await
    }

    async fn watch(_: &(), _: &Context, _: &str) -> Result<bool, Failure> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_named_and_does_not_hold_up_what_another_has() {
    let http = Server::new("hanging", "1", ()).resources::<Hanging>().http(ServerOptions::new()).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/mcp", http.method_router());
    test_support::spawn(async move { http.serve(listener, router, std::future::pending()).await.unwrap() });

    let servers = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gateway-hanging.json");
    let list = json!({ "mcpServers": { "a": { "url": url, "timeout": 1 }, "notes": { "command": program("notes") } } });
    std::fs::write(&servers, list.to_string()).unwrap();
    let mut command = Command::new(program("gateway"));
    command.arg(&servers);
    // Its own timeout would come later than any test.
    let options =
        ConnectOptions::new("test", "1").options(Options::default().timeout(Duration::from_secs(3600)));
    let gateway = options.connect(Child::spawn(command).unwrap()).await.unwrap();
    let note = json!({ "text": "buy milk", "tag": "shop" });
    let added: Value = gateway.call("notes_add_note", note).await.unwrap();
    let uri = added["uri"].as_str().unwrap();
    assert_eq!(gateway.read_text(uri).await.unwrap(), "buy milk");
    drop(gateway.subscribe([uri]).await.unwrap());
    let refused = gateway.read_text("notes://me/77").await.unwrap_err();
    assert!(refused.to_string().contains("the server `a` does not answer"), "{refused}");
    gateway.close().await.unwrap();
}
