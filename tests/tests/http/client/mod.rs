//! Tests of the HTTP client, against the server of this library and against scripted servers.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::expect_used)]

mod calling;
mod cancelled_replies;
mod cut_answers;
mod dropped_openings;
mod ended_requests;
mod error_texts;
mod failures;
mod listening;
mod lost_replies;
mod lost_sessions;
mod polling;
mod providers;
mod proxy;
mod reconnecting;
mod settings;
mod sub_session_channels;
mod without_streams;

/// A protocol whose opening is followed by a choice.
mod notes {
    mcp_runtime::protocol!("protocols/notebook.session");
}

use integration_tests::http::{fake, test_server, wire};
use std::sync::{Arc, Mutex};

use mcp_protocols::mcp_2025_03_26::{Active, McpClient, McpError, Uninit, client};
use mcp_protocols::types::*;
use mcp_runtime::transport::http::{ClientOptions, HttpClient};
use mcp_runtime::{Options, RpcError};
use serde_json::{Value, json};
use std::time::Duration;

/// What a session has reported.
type Reports = Arc<Mutex<Vec<String>>>;

fn transport(url: &str) -> HttpClient {
    let quick = ClientOptions::default().retry(Duration::from_millis(5));
    HttpClient::new(url).unwrap().options(quick)
}

fn start(transport: HttpClient) -> (McpClient<Uninit>, Reports) {
    let reports = Reports::default();
    let session = McpClient::with_options(transport, watched(&reports));
    (session, reports)
}

/// Settings that keep every report.
fn watched(reports: &Reports) -> Options {
    let kept = Arc::clone(reports);
    Options::default().on_report(move |report| kept.lock().unwrap().push(report.to_string()))
}

fn initialize() -> InitializeParams {
    let capabilities = ClientCapabilities::new().roots(RootsCapability::new().list_changed(true));
    InitializeParams::new("2025-03-26", capabilities, Implementation::new("wire", "1"))
}

/// A session that is ready.
async fn ready(transport: HttpClient) -> Result<(McpClient<Active>, Reports), McpError> {
    let (session, reports) = start(transport);
    let (_, session) = session.initialize(initialize()).await?;
    Ok((session.send_initialized().await?, reports))
}

fn call(tool: &str) -> CallToolParams {
    CallToolParams::new(tool).with_argument("message", "hello")
}

fn said(result: &CallToolResult) -> &str {
    result.first_text().unwrap_or("nothing")
}

/// Answers the server's questions.
struct Roots;

impl client::Handler for Roots {
    async fn list_roots(
        &self,
        _: client::Context,
        _: Option<RequestParams>,
    ) -> Result<ListRootsResult, RpcError> {
        Ok(ListRootsResult::new([Root::new("file:///a"), Root::new("file:///b")]))
    }
}

/// The capabilities of a server with tools.
fn tools() -> Value {
    json!({ "tools": {} })
}
