//! The typed client against the typed server, in memory: what one side writes is judged by the other.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod calls;
mod capabilities;
mod ends;
mod handlers;
mod handshake;
mod negotiation;
mod restriction;
mod subscriptions;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use integration_tests::tap::{Line, Window, tap};
use mcp_protocols::mcp_2025_03_26::{Active, McpClient, McpServer, Uninit};
use mcp_protocols::types::{
    ClientCapabilities, Implementation, InitializeParams, InitializeResult, ServerCapabilities,
};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Options, Report};
use serde::Deserialize;
use serde_json::{Value, json};

/// The tests do not depend on timing; this only keeps a bug from hanging them.
async fn guarded(test: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(60), test).await.unwrap();
}

fn hello(capabilities: Value) -> InitializeParams {
    let can = ClientCapabilities::deserialize(capabilities).unwrap();
    InitializeParams::new("2025-03-26", can, Implementation::new("this side", "1"))
}

fn welcome(capabilities: Value) -> InitializeResult {
    let can = ServerCapabilities::deserialize(capabilities).unwrap();
    InitializeResult::new("2025-03-26", can, Implementation::new("that side", "1"))
}

/// All that a client can announce, and all that a server can.
fn everything() -> (Value, Value) {
    let client = json!({ "sampling": {}, "roots": { "listChanged": true } });
    let server = json!({
        "tools": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "prompts": { "listChanged": true },
        "completions": {},
        "logging": {},
    });
    (client, server)
}

/// The reports of both sides.
struct Watch {
    /// The wire, as the client sees it.
    window: Window,
    reports: Arc<Mutex<Vec<Report>>>,
}

impl Watch {
    /// The wire in brief, one message a text: `> tools/call 1` is written by the client, `< result 1` by the server.
    fn brief(&self) -> Vec<String> {
        self.window.lines().iter().map(brief).collect()
    }

    /// Neither side had anything to complain of.
    #[track_caller]
    fn assert_quiet(&self) {
        let reports: Vec<String> = self.reports.lock().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(reports, [""; 0]);
    }
}

fn brief(line: &Line) -> String {
    let (arrow, message) = match line {
        Line::Wrote(message) => (">", message),
        Line::Read(message) => ("<", message),
    };
    let what = match message["method"].as_str() {
        Some(method) => method,
        None if message.get("error").is_some() => "error",
        None => "result",
    };
    match message.get("id") {
        Some(id) => format!("{arrow} {what} {id}"),
        None => format!("{arrow} {what}"),
    }
}

/// Both sides before the first message.
fn pair() -> (McpClient<Uninit>, McpServer<Uninit>, Watch) {
    let (near, far) = duplex();
    let (near, window) = tap(near);
    let watch = Watch { window, reports: Arc::default() };
    let options = || {
        let reports = Arc::clone(&watch.reports);
        Options::new().on_report(move |report| {
            // The handlers of these tests leave out what a test does not ask.
            if !matches!(report, Report::Unhandled { .. }) {
                reports.lock().unwrap().push(report.clone());
            }
        })
    };
    (McpClient::with_options(near, options()), McpServer::with_options(far, options()), watch)
}

/// Both sides after the handshake, with these capabilities.
async fn active_with(client: Value, server: Value) -> (McpClient<Active>, McpServer<Active>, Watch) {
    let (here, there, watch) = pair();
    let here = async {
        let (_, here) = here.initialize(hello(client)).await.unwrap();
        here.send_initialized().await.unwrap()
    };
    let there = async {
        let (_, there) = there.recv_initialize().await.unwrap();
        let there = there.send_initialize_result(welcome(server)).await.unwrap();
        there.recv_initialized().await.unwrap()
    };
    let (here, there) = tokio::join!(here, there);
    (here, there, watch)
}

/// Both sides after the handshake, with everything announced.
async fn active() -> (McpClient<Active>, McpServer<Active>, Watch) {
    let (client, server) = everything();
    active_with(client, server).await
}
