//! The examples of `docs/revisions.md`, which run here.

use mcp_protocols::mcp_2025_11_25::{BeforeToolsTaskCreated, McpClient, McpError, McpServer, client, server};
use mcp_protocols::types::*;
use mcp_protocols::{REVISIONS, VERSIONS, related, related_task};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Options, batch, negotiate_version};
use serde_json::json;

use super::{active_in, everything, guarded, hello, welcome};

#[tokio::test]
async fn a_server_and_a_client_of_several_revisions() {
    guarded(async {
        let (near, far) = duplex();
        let serving = test_support::spawn(async move { serve(far).await.unwrap() });
        let transport = near;
        let client = McpClient::with_options(transport, Options::new().revisions(REVISIONS));
        let (result, _client) = client.initialize(hello("2025-06-18", &json!({}))).await.unwrap();
        assert_eq!(result.protocol_version, "2025-06-18");
        serving.await.unwrap();
    })
    .await;
}

async fn serve(transport: impl mcp_runtime::Transport) -> Result<(), McpError> {
    let server = McpServer::with_options(transport, Options::new().revisions(REVISIONS));
    let (params, server) = server.recv_initialize().await?;
    let version = negotiate_version(&VERSIONS, &params.protocol_version);
    let server = server.send_initialize_result(welcome(version, &json!({}))).await?;
    drop(server);
    Ok(())
}

struct Tools;

impl server::Handler for Tools {
    async fn call_tool_as_task(
        &self,
        _: server::Context,
        params: CallToolParams,
        task: server::ServerTask<BeforeToolsTaskCreated>,
    ) {
        let _ = run(params, task).await;
    }

    async fn call_tool(
        &self,
        _: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, mcp_runtime::RpcError> {
        Ok(CallToolResult::text(params.name))
    }
}

async fn run(
    params: CallToolParams,
    task: server::ServerTask<BeforeToolsTaskCreated>,
) -> Result<(), Box<dyn std::error::Error>> {
    let created = CreateTaskResult::new(super::task("7", TaskStatus::Working));
    let status = super::task("7", TaskStatus::Working).into();
    let result = TaskPayload::from(CallToolResult::text(params.name));
    let mut task = task.send_tools_task_created(created).await?;
    task.send_task_status(status).await?;
    let (_, task) = task.recv_tasks_result().await?;
    task.send_task_payload(related("7", &result)?).await?;
    Ok(())
}

#[tokio::test]
async fn a_task() -> Result<(), McpError> {
    let (client, server, _) = active_in("2025-11-25", everything()).await;
    test_support::spawn(server.incoming().serve(Tools));
    let params = CallToolParams::new("slow").task(TaskMetadata::new());
    let (created, mut task): (_, client::ServerTask<_>) = client.call_tool_as_task(params).await?;
    let status = task.recv_task_status().await?;
    assert_eq!(status.task_id, created.task.task_id);
    let fetch = TaskParams::new(created.task.task_id);
    let payload = task.task_result(fetch).await?;
    assert_eq!(related_task(&payload).as_deref(), Some("7"));
    let TaskPayload::CallTool(result) = payload else { panic!("{payload:?}") };
    assert_eq!(result.first_text(), Some("slow"));
    Ok(())
}

#[tokio::test]
async fn a_task_that_is_reported_on() -> Result<(), McpError> {
    let (client, server, _) = active_in("2025-11-25", everything()).await;
    test_support::spawn(server.incoming().serve(Tools));
    let params = CallToolParams::new("slow").task(TaskMetadata::new());
    let asked = client.call_tool_as_task(params).on_progress(|report| println!("{}", report.progress));
    let (created, _task) = asked.await?;
    assert_eq!(created.task.task_id, "7");
    Ok(())
}

#[tokio::test]
async fn a_batch() -> Result<(), McpError> {
    let (client, server, _) = active_in("2025-03-26", everything()).await;
    test_support::spawn(server.incoming().serve(Tools));
    let [one, other] = ["one", "other"].map(CallToolParams::new);
    let (one, other) = batch((client.call_tool(one), client.call_tool(other))).await?;
    let (one, other) = (one.await?, other.await?);
    assert_eq!((one.first_text(), other.first_text()), (Some("one"), Some("other")));
    Ok(())
}

fn squeezed(code: &str) -> String {
    code.chars().filter(|character| !character.is_whitespace()).collect()
}

#[test]
fn every_example_of_the_page_is_here() {
    let page = include_str!("../../../../docs/revisions.md");
    let here = squeezed(concat!(
        include_str!("guide.rs"),
        include_str!("../rounds.rs"),
        include_str!("../../../../examples/eras/main.rs"),
        include_str!("../../../../examples/eras/client.rs"),
        include_str!("../../../../examples/eras/server.rs"),
    ));
    let mut examples = 0;
    for block in page.split("```rust\n").skip(1) {
        let code = block.split("```").next().unwrap();
        assert!(here.contains(&squeezed(code)), "this is not compiled:\n{code}");
        examples += 1;
    }
    assert!(examples >= 5, "only {examples} examples were found");
}
