//! One program for several revisions: typed against the latest, governed by the one that was agreed on.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod batching;
mod elicitation;
mod everything_server;
mod governed_revisions;
mod guide;
mod http;
mod http_lists;
mod tables;
mod tasks;
mod tasks_http;
mod traffic;
mod unhandled;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocols::mcp_2025_11_25::{Active, McpClient, McpServer};
use mcp_protocols::types::*;
use mcp_protocols::{REVISIONS, VERSIONS};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Options, Report, negotiate_version};
use serde::Deserialize;
use serde_json::{Value, json};

fn call(name: &str) -> CallToolParams {
    CallToolParams::new(name)
}

/// A call that is to run as a task.
fn call_as_task(name: &str) -> CallToolParams {
    call(name).task(TaskMetadata::new().ttl(60_000))
}

fn task(id: &str, status: TaskStatus) -> Task {
    let at = "2025-11-25T10:30:00Z";
    Task::new(id, status, at, at, None)
}

/// A form without fields.
fn form() -> ElicitFormParams {
    ElicitFormParams::new("?", FormSchema::new([]))
}

/// The tests do not depend on timing; this only keeps a bug from hanging them.
async fn guarded(test: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(60), test).await.unwrap();
}

/// What the sessions of a test have reported.
#[derive(Clone, Default)]
struct Reports(Arc<Mutex<Vec<String>>>);

impl Reports {
    /// Settings that speak every revision and note what is reported.
    fn options(&self) -> Options {
        let noted = Arc::clone(&self.0);
        Options::new().revisions(REVISIONS).on_report(move |report: &Report| match report {
            // The handlers of these tests leave out what a test does not ask.
            Report::Unhandled { .. } => {}
            report => noted.lock().unwrap().push(report.to_string()),
        })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn hello(version: &str, capabilities: &Value) -> InitializeParams {
    let can = ClientCapabilities::deserialize(capabilities).unwrap();
    InitializeParams::new(version, can, Implementation::new("this side", "1"))
}

fn welcome(version: &str, capabilities: &Value) -> InitializeResult {
    let can = ServerCapabilities::deserialize(capabilities).unwrap();
    InitializeResult::new(version, can, Implementation::new("that side", "1"))
}

/// All that a client can announce, and all that a server can, in whatever revision.
fn everything() -> (Value, Value) {
    let client = json!({
        "sampling": { "tools": {} },
        "roots": { "listChanged": true },
        "elicitation": { "form": {}, "url": {} },
        "tasks": {
            "list": {}, "cancel": {},
            "requests": { "sampling": { "createMessage": {} }, "elicitation": { "create": {} } },
        },
    });
    let server = json!({
        "tools": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "prompts": { "listChanged": true },
        "completions": {},
        "logging": {},
        "tasks": { "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } },
    });
    (client, server)
}

/// A client that asks for a version, and a server that answers with it, after the handshake.
async fn active_in(version: &str, can: (Value, Value)) -> (McpClient<Active>, McpServer<Active>, Reports) {
    let (near, far) = duplex();
    let reports = Reports::default();
    let here = McpClient::with_options(near, reports.options());
    let there = McpServer::with_options(far, reports.options());
    let here = async {
        let (result, here) = here.initialize(hello(version, &can.0)).await.unwrap();
        assert_eq!(result.protocol_version, version);
        here.send_initialized().await.unwrap()
    };
    let there = async {
        let (params, there) = there.recv_initialize().await.unwrap();
        let version = negotiate_version(&VERSIONS, &params.protocol_version).to_owned();
        let there = there.send_initialize_result(welcome(&version, &can.1)).await.unwrap();
        there.recv_initialized().await.unwrap()
    };
    let (here, there) = tokio::join!(here, there);
    (here, there, reports)
}
