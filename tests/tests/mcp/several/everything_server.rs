//! server-everything, which speaks every revision: elicitation and a task of the latest, and the older ones.

use std::collections::BTreeMap;

use mcp_protocols::VERSIONS;
use mcp_protocols::mcp_2025_11_25 as latest;
use mcp_protocols::mcp_2025_11_25::{McpClient, client};
use mcp_protocols::types::*;
use mcp_runtime::{Error, RpcError, ViolationKind};
use tokio::sync::mpsc;

use integration_tests::everything::spawn;

use super::{Reports, call, call_as_task, everything, guarded, hello};

/// A user who takes the first of several meanings, and accepts everything else as it is proposed.
struct User(mpsc::UnboundedSender<String>);

impl client::Handler for User {
    async fn elicit(&self, _: client::Context, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let ElicitParams::Form(form) = params else { panic!("{params:?}") };
        self.0.send(form.message).unwrap();
        let content: BTreeMap<String, FieldValue> =
            match form.requested_schema.properties.get("interpretation") {
                Some(FieldSchema::TitledEnumSchema(choices)) => {
                    let first = choices.one_of[0].r#const.as_str();
                    BTreeMap::from([("interpretation".to_owned(), first.into())])
                }
                _ => BTreeMap::from([("name".to_owned(), "Ada".into()), ("check".to_owned(), true.into())]),
            };
        Ok(ElicitResult::new(ElicitAction::Accept).content(content))
    }

    async fn list_roots(
        &self,
        _: client::Context,
        _: Option<RequestParams>,
    ) -> Result<ListRootsResult, RpcError> {
        Ok(ListRootsResult::new([]))
    }
}

/// A session in a version, with what the user was asked.
async fn session(version: &str) -> (McpClient<latest::Active>, mpsc::UnboundedReceiver<String>, Reports) {
    let child = spawn();
    let reports = Reports::default();
    let client = McpClient::with_options(child, reports.options());
    let (asked, heard) = mpsc::unbounded_channel();
    test_support::spawn(client.incoming().serve(User(asked)));
    let (result, client) = client.initialize(hello(version, &everything().0)).await.unwrap();
    assert_eq!(result.protocol_version, version);
    (client.send_initialized().await.unwrap(), heard, reports)
}

/// A server may offer fewer tools than this test knows of; the reports may only be of notifications that the program
/// did not take.
fn only_untaken(reports: &Reports) {
    let reports = reports.take();
    assert!(reports.iter().all(|report| report.contains("was dropped")), "{reports:?}");
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn a_task_that_asks_the_user_before_it_is_done() {
    guarded(async {
        let (client, mut asked, reports) = session("2025-11-25").await;
        let params = call_as_task("simulate-research-query")
            .with_argument("topic", "python")
            .with_argument("ambiguous", true);
        let (created, task) = client.call_tool_as_task(params).await.unwrap();
        let named = TaskParams::new(created.task.task_id);
        assert_eq!(client.get_task(named.clone()).await.unwrap().status, TaskStatus::Working);
        assert!(
            client.list_tasks(None).await.unwrap().tasks.iter().any(|task| task.task_id == named.task_id)
        );
        // The server asks while the result is waited for.
        let payload = task.task_result(named.clone()).await.unwrap();
        assert!(asked.recv().await.unwrap().contains("python"));
        let TaskPayload::CallTool(result) = &payload else { panic!("{payload:?}") };
        let report = result.first_text().unwrap();
        assert!(report.contains("Research Report: python"), "{report}");
        // It is over, and may be asked for again.
        assert_eq!(client.get_task(named.clone()).await.unwrap().status, TaskStatus::Completed);
        let TaskPayload::CallTool(again) = client.task_result(named).await.unwrap() else { panic!() };
        assert_eq!(again.content, result.content);
        only_untaken(&reports);
        client.abort();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn each_revision_is_spoken_with_the_same_program() {
    guarded(async {
        for version in VERSIONS {
            let (client, mut asked, reports) = session(version).await;
            let structured =
                client.call_tool(call("get-structured-content").with_argument("location", "Chicago"));
            assert!(structured.await.unwrap().structured_content.is_some(), "{version}");
            let tasks = client.list_tasks(None).await;
            if version == "2025-11-25" {
                tasks.unwrap();
                client.call_tool(call("trigger-elicitation-request")).await.unwrap();
                assert!(asked.recv().await.unwrap().contains("inputs"));
                only_untaken(&reports);
            } else {
                let Err(Error::NotPermitted(violation)) = tasks else { panic!("{version}: {tasks:?}") };
                assert_eq!(violation.kind, ViolationKind::UnknownMethod);
            }
            client.abort();
        }
    })
    .await;
}
