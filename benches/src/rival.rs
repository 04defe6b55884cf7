//! The official SDK, `rmcp`, used as its documentation shows.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::{TokioChildProcess, stdio};
use rmcp::{ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt};

use crate::contest::{Contestant, Done, InProcess, Plan, drive, itself};
use crate::payload::{Tool, said};

/// A session of `rmcp`.
pub struct Rival;

/// The server.
pub struct RivalHandler;

impl ServerHandler for RivalHandler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = call.arguments.as_ref().and_then(|arguments| arguments.get("text")?.as_str());
        let text = said(&call.name, text.unwrap_or_default().to_owned());
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// The call that a bench makes.
pub fn call_of(tool: Tool) -> CallToolRequestParams {
    let mut arguments = JsonObject::new();
    arguments.insert("text".to_owned(), "hello".into());
    CallToolRequestParams::new(tool.name()).with_arguments(arguments)
}

fn length(result: &CallToolResult) -> usize {
    result.content.first().and_then(|content| content.as_text()).map_or(0, |text| text.text.len())
}

/// Makes the calls of a plan.
pub async fn call(session: RunningService<RoleClient, ()>, plan: Plan) -> Done {
    let peer = Arc::new(session.peer().clone());
    let params = call_of(plan.tool);
    let done = drive(plan, move || {
        let (peer, params) = (peer.clone(), params.clone());
        async move { length(&peer.call_tool(params).await.expect("a call succeeds")) }
    })
    .await;
    session.cancel().await.expect("it can be closed");
    done
}

impl Contestant for Rival {
    async fn child(plan: Plan) -> Done {
        let child =
            TokioChildProcess::new(tokio::process::Command::from(itself("rmcp"))).expect("a child starts");
        call(().serve(child).await.expect("the server answers"), plan).await
    }

    async fn serve_stdio() {
        let session = RivalHandler.serve(stdio()).await.expect("the client greets");
        session.waiting().await.expect("serving does not panic");
    }
}

impl InProcess for Rival {
    async fn duplex(plan: Plan) -> Done {
        let (near, far) = tokio::io::duplex(64 * 1024);
        tokio::spawn(async move {
            let session = RivalHandler.serve(far).await.expect("the client greets");
            session.waiting().await.expect("serving does not panic");
        });
        call(().serve(near).await.expect("the server answers"), plan).await
    }

    async fn idle(connections: usize) -> Vec<Box<dyn Send>> {
        let mut kept: Vec<Box<dyn Send>> = Vec::new();
        for _ in 0..connections {
            let (near, far) = tokio::io::duplex(64 * 1024);
            tokio::spawn(async move {
                let session = RivalHandler.serve(far).await.expect("the client greets");
                session.waiting().await.expect("serving does not panic");
            });
            let session = ().serve(near).await.expect("the server answers");
            session.call_tool(call_of(Tool::Echo)).await.expect("a call succeeds");
            kept.push(Box::new(session));
        }
        kept
    }
}
