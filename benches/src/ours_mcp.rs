//! This library as its users have it: the shipped protocol, with all of its messages and payloads.

use std::sync::Arc;

use mcp_protocols::mcp_2025_03_26::{Active, McpClient, McpServer, Uninit, server};
use mcp_protocols::types::*;
use mcp_runtime::transport::http::{HttpClient, HttpServer, ServerOptions};
use mcp_runtime::{RpcError, transport};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::contest::{Contestant, Done, InProcess, Plan, drive, itself};
use crate::http::OverHttp;
use crate::payload::{Tool, said};

/// A typed session of the shipped protocol.
pub struct OursMcp;

struct McpHandler;

impl server::Handler for McpHandler {
    async fn call_tool(&self, _: server::Context, call: CallToolParams) -> Result<CallToolResult, RpcError> {
        // Like those of the other contestants it takes the text, and does not copy it.
        let text = match call.arguments.and_then(|mut arguments| arguments.remove("text")) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        Ok(CallToolResult::text(said(&call.name, text)))
    }
}

async fn serve(session: McpServer<Uninit>) {
    let serving = tokio::spawn(session.incoming().serve(McpHandler));
    let offered = ServerCapabilities::new().tools(ToolsCapability::new());
    let welcome = InitializeResult::new("2025-03-26", offered, Implementation::new("desk", "1"));
    let (_, session) = session.recv_initialize().await.expect("the client greets");
    let session = session.send_initialize_result(welcome).await.expect("it can be greeted");
    let session = session.recv_initialized().await.expect("it is ready");
    serving.await.expect("serving does not panic");
    drop(session);
}

async fn greet(session: McpClient<Uninit>) -> McpClient<Active> {
    let program = Implementation::new("bench", "1");
    let hello = InitializeParams::new("2025-03-26", ClientCapabilities::new(), program);
    let (_, session) = session.initialize(hello).await.expect("the server answers");
    session.send_initialized().await.expect("it can be told")
}

fn call_of(tool: Tool) -> CallToolParams {
    CallToolParams::new(tool.name()).with_argument("text", "hello")
}

async fn call(session: McpClient<Active>, plan: Plan) -> Done {
    let handle = Arc::new(session.handle());
    let params = call_of(plan.tool);
    let done = drive(plan, move || {
        let (handle, params) = (handle.clone(), params.clone());
        async move {
            let result = handle.call_tool(params).await.expect("a call succeeds");
            result.first_text().unwrap_or_default().len()
        }
    })
    .await;
    session.close().await.expect("it can be closed");
    done
}

impl Contestant for OursMcp {
    async fn child(plan: Plan) -> Done {
        let child = transport::Child::spawn(itself("ours-mcp")).expect("a child starts");
        call(greet(McpClient::new(child)).await, plan).await
    }

    async fn serve_stdio() {
        serve(McpServer::new(transport::stdio())).await;
    }
}

impl InProcess for OursMcp {
    async fn duplex(plan: Plan) -> Done {
        let (near, far) = transport::duplex();
        tokio::spawn(serve(McpServer::new(far)));
        call(greet(McpClient::new(near)).await, plan).await
    }

    async fn idle(connections: usize) -> Vec<Box<dyn Send>> {
        let mut kept: Vec<Box<dyn Send>> = Vec::new();
        for _ in 0..connections {
            let (near, far) = transport::duplex();
            tokio::spawn(serve(McpServer::new(far)));
            let session = greet(McpClient::new(near)).await;
            session.call_tool(call_of(Tool::Echo)).await.expect("a call succeeds");
            kept.push(Box::new(session));
        }
        kept
    }
}

fn over_http(url: &str) -> McpClient<Uninit> {
    McpClient::new(HttpClient::new(url).expect("the address is one"))
}

impl OverHttp for OursMcp {
    async fn serve_http(listener: TcpListener) {
        let server = HttpServer::new(ServerOptions::default(), |transport| serve(McpServer::new(transport)));
        let router = axum::Router::new().route("/mcp", server.method_router());
        server.serve(listener, router, std::future::pending()).await.expect("the listener lasts");
    }

    async fn call_http(url: String, plan: Plan) -> Done {
        call(greet(over_http(&url)).await, plan).await
    }

    async fn rest_http(url: String) -> Box<dyn Send> {
        let session = greet(over_http(&url)).await;
        session.call_tool(call_of(Tool::Echo)).await.expect("a call succeeds");
        Box::new(session)
    }
}
