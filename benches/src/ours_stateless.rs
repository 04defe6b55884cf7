//! This library with the revision of the shipped protocol that has no sessions: over HTTP each call is served by itself.

use std::sync::Arc;

use mcp_protocols::mcp_2026_07_28::client::ToolsCallReply as Called;
use mcp_protocols::mcp_2026_07_28::server::ToolsCallReply;
use mcp_protocols::mcp_2026_07_28::types::*;
use mcp_protocols::mcp_2026_07_28::{McpClient, McpServer, Start, server};
use mcp_runtime::RpcError;
use mcp_runtime::transport::http::{HttpClient, HttpServer, ServerOptions};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::contest::{Done, Plan, drive};
use crate::http::OverHttp;
use crate::payload::{Tool, said};

/// A session for each call.
pub struct OursStateless;

struct StatelessHandler;

impl server::Handler for StatelessHandler {
    async fn call_tool(&self, _: server::Context, call: CallToolParams) -> Result<ToolsCallReply, RpcError> {
        let text = call.arguments.as_ref().and_then(|arguments| arguments.get("text"));
        let text = text.and_then(Value::as_str).unwrap_or_default().to_owned();
        let text = TextContent::new(said(&call.name, text));
        Ok(ToolsCallReply::ToolsResult(CallToolResult::new([text.into()]).result_type(ResultType::Complete)))
    }
}

fn call_of(tool: Tool) -> CallToolParams {
    let meta = RequestMeta::new("2026-07-28", ClientCapabilities::new());
    let text = [("text".to_owned(), Value::from("hello"))];
    CallToolParams::new(tool.name(), meta).arguments(serde_json::Map::from_iter(text))
}

fn client(url: &str) -> McpClient<Start> {
    McpClient::new(HttpClient::new(url).expect("the address is one"))
}

fn length(reply: Called) -> usize {
    let Called::ToolsResult(result) = reply else { panic!("nothing more is needed") };
    match result.content.first() {
        Some(ContentBlock::Text(text)) => text.text.len(),
        _ => 0,
    }
}

impl OverHttp for OursStateless {
    async fn serve_http(listener: TcpListener) {
        let server = HttpServer::new(ServerOptions::default(), |transport| async move {
            let server = McpServer::new(transport);
            server.incoming().serve(StatelessHandler).await;
        });
        let router = axum::Router::new().route("/mcp", server.method_router());
        server.serve(listener, router, std::future::pending()).await.expect("the listener lasts");
    }

    async fn call_http(url: String, plan: Plan) -> Done {
        let session = client(&url);
        let handle = Arc::new(session.handle());
        let params = call_of(plan.tool);
        let done = drive(plan, move || {
            let (handle, params) = (handle.clone(), params.clone());
            async move { length(handle.call_tool(params).await.expect("a call succeeds")) }
        })
        .await;
        session.close().await.expect("it can be closed");
        done
    }

    async fn rest_http(url: String) -> Box<dyn Send> {
        let session = client(&url);
        length(session.call_tool(call_of(Tool::Echo)).await.expect("a call succeeds"));
        Box::new(session)
    }
}
