//! Real peers over HTTP: our client and server-everything, the TypeScript SDK's client and our server.
//!
//! The peers come from npm (`npm ci` in `tests/peers`). Where they are not installed the tests say so and pass, unless
//! `CI` is set in the environment.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::expect_used,
    clippy::print_stderr
)]

#[path = "../examples/quickstart/server.rs"]
#[allow(dead_code, reason = "the quickstart serves its standard streams, too")]
mod server;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use mcp_protocols::mcp_2025_03_26::{McpClient, McpServer};
use mcp_runtime::transport::http::{HttpClient, HttpServer, ServerOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;

fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Whether what is needed is installed.
fn installed() -> bool {
    let there = peers().join("node_modules/@modelcontextprotocol/server-everything").exists()
        && std::process::Command::new("node").arg("--version").output().is_ok();
    if !there {
        assert!(std::env::var_os("CI").is_none(), "`npm ci` in `tests/peers`, and `node`, are needed");
        eprintln!("passed over: `npm ci` in `tests/peers` installs the peers");
    }
    there
}

/// Nothing here depends on how long anything takes; this only keeps a bug from hanging the tests for ever.
async fn guarded<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), test).await.expect("the test hangs")
}

#[tokio::test]
async fn our_client_and_server_everything() {
    if !installed() {
        return;
    }
    guarded(async {
        // It takes no address but a port, so it is given one that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let program = peers().join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        let mut server = Command::new("node")
            .arg(program)
            .arg("streamableHttp")
            .env("PORT", port.to_string())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
        while !log.next_line().await.unwrap().expect("the server starts").contains("listening") {}
        let draining = tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });

        let transport = HttpClient::new(&format!("http://127.0.0.1:{port}/mcp")).unwrap();
        let client = McpClient::new(transport);
        let params = serde_json::from_value(json!({
            "protocolVersion": "2025-03-26",
            "capabilities": {},
            "clientInfo": { "name": "interop", "version": "1.0.0" },
        }));
        let (result, client) = client.initialize(params.unwrap()).await.unwrap();
        assert_eq!(result.server_info.name, "mcp-servers/everything");
        let client = client.send_initialized().await.unwrap();
        assert!(client.list_tools(None).await.unwrap().tools.iter().any(|tool| tool.name == "echo"));
        let call = |name: &str, arguments: Value| {
            client.call_tool(serde_json::from_value(json!({ "name": name, "arguments": arguments })).unwrap())
        };
        let (echo, sum) = tokio::join!(
            call("echo", json!({ "message": "grüße" })),
            call("get-sum", json!({ "a": 2, "b": 3 }))
        );
        assert_eq!(echo.unwrap().first_text(), Some("Echo: grüße"));
        assert!(sum.unwrap().first_text().unwrap().contains('5'));
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let long = call("trigger-long-running-operation", json!({ "duration": 0.2, "steps": 2 }));
        let long = long.on_progress(move |progress: tower_mcp_types::protocol::ProgressParams| {
            told.send(progress.progress).unwrap();
        });
        assert!(long.await.unwrap().first_text().unwrap().contains("completed"));
        assert_eq!(heard.recv().await, Some(1.0));
        client.close().await.unwrap();
        draining.abort();
    })
    .await;
}

#[tokio::test]
async fn the_typescript_client_and_our_server() {
    if !installed() {
        return;
    }
    guarded(async {
        let handle = HttpServer::new(ServerOptions::default(), |transport| async move {
            server::serve_session(McpServer::new(transport)).await.unwrap();
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = axum::Router::new().route("/mcp", handle.method_router());
        let serving = handle.clone();
        let serving =
            tokio::spawn(async move { serving.serve(listener, router, std::future::pending()).await });
        let client =
            Command::new("node").arg(peers().join("client.mjs")).arg(&url).kill_on_drop(true).output();
        let output = client.await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(seen["session"].as_str().unwrap().len(), 32);
        assert_eq!(seen["tools"], json!(["echo", "shout", "ask_model"]));
        assert_eq!(seen["echo"], "grüße");
        assert_eq!(seen["asked"], "the model `calculator` says: four");
        assert_eq!(handle.sessions(), 0, "the client has deleted its session");
        serving.abort();
    })
    .await;
}
