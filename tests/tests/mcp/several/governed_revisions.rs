//! The announced version governs: what its revision does not have is refused on both sides.

use mcp_protocols::mcp_2025_11_25::{Active, McpClient, McpServer, PROTOCOL};
use mcp_protocols::types::*;
use mcp_protocols::{REVISIONS, VERSIONS};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, Resumed, RpcError, StepError, ViolationKind, batch, negotiate_version};
use serde_json::{Value, json};

use super::{Reports, active_in, call, call_as_task, everything, form, guarded, hello, welcome};
use mcp_protocols::mcp_2025_11_25::{client, server};
use test_support::raw::raw;

/// Answers whatever is asked.
struct Any;

impl server::Handler for Any {
    async fn call_tool(
        &self,
        _: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        Ok(CallToolResult::text(params.name))
    }

    async fn complete(&self, _: server::Context, _: CompleteParams) -> Result<CompleteResult, RpcError> {
        Ok(CompleteResult::new(Completion::new(["one".to_owned()])))
    }
}

impl client::Handler for Any {
    async fn elicit(&self, _: client::Context, _: ElicitParams) -> Result<ElicitResult, RpcError> {
        Ok(ElicitResult::new(ElicitAction::Decline))
    }
}

fn completion() -> CompleteParams {
    CompleteParams::new(PromptReference::new("p"), CompletionArgument::new("a", ""))
}

/// Why the protocol does not permit something.
#[track_caller]
fn why<T: std::fmt::Debug>(result: Result<T, Error>) -> (ViolationKind, String) {
    let Err(Error::NotPermitted(violation)) = result else { panic!("{result:?}") };
    (violation.kind.clone(), violation.to_string())
}

#[tokio::test]
async fn what_a_revision_has_goes_and_what_it_does_not_have_is_refused() {
    guarded(async {
        for version in VERSIONS {
            let (client, server, reports) = active_in(version, everything()).await;
            test_support::spawn(server.incoming().serve(Any));
            test_support::spawn(client.incoming().serve(Any));
            assert_eq!(client.call_tool(call("echo")).await.unwrap().first_text(), Some("echo"));
            let asked = server.elicit(form().into()).await;
            let told = server.send_elicitation_complete(ElicitationCompleteParams::new("e")).await;
            let tasks = client.list_tasks(None).await;
            let absent = |method: &str, sender: &str| {
                format!("`{method}` is not a method that the {sender} sends in `Mcp` {version}")
            };
            if version < "2025-06-18" {
                assert_eq!(
                    why(asked),
                    (ViolationKind::UnknownMethod, absent("elicitation/create", "server"))
                );
            } else {
                assert_eq!(asked.unwrap().action, ElicitAction::Decline);
            }
            if version < "2025-11-25" {
                assert_eq!(why(told).1, absent("notifications/elicitation/complete", "server"));
                assert_eq!(why(tasks).1, absent("tasks/list", "client"));
                // The method is there, as a task it is not.
                assert_eq!(
                    why(client.call_tool_as_task(call_as_task("echo")).await).0,
                    ViolationKind::NotPermitted
                );
            } else {
                told.unwrap();
                assert!(
                    matches!(tasks, Err(Error::Refused(error)) if error.code == RpcError::METHOD_NOT_FOUND)
                );
            }
            assert_eq!(reports.take(), [""; 0], "{version}: nothing that was refused was written");
            client.close().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn the_gates_are_those_of_the_revision() {
    guarded(async {
        for version in VERSIONS {
            let (client, server, reports) = active_in(version, (json!({}), json!({}))).await;
            test_support::spawn(server.incoming().serve(Any));
            let completed = client.complete(completion()).await;
            if version == "2024-11-05" {
                // The first revision has no capability for completions.
                assert_eq!(completed.unwrap().completion.values, ["one"]);
            } else {
                assert!(matches!(why(completed).0, ViolationKind::NotNegotiated { .. }), "{version}");
            }
            assert_eq!(reports.take(), [""; 0]);
        }
    })
    .await;
}

/// A server for every revision, asked in raw text, after the handshake in a version.
async fn asked_in(version: &str, can: &Value) -> (test_support::raw::Raw, Reports) {
    let (wire, mut peer) = raw();
    let reports = Reports::default();
    let server = McpServer::with_options(wire, reports.options());
    let can = can.clone();
    test_support::spawn(async move {
        let serving = test_support::spawn(server.incoming().serve(Any));
        let (params, server) = server.recv_initialize().await.unwrap();
        let version = negotiate_version(&VERSIONS, &params.protocol_version);
        let server = server.send_initialize_result(welcome(version, &can)).await.unwrap();
        let server = server.recv_initialized().await.unwrap();
        serving.await.unwrap();
        drop(server);
    });
    let params = serde_json::to_value(hello(version, &json!({}))).unwrap();
    peer.say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await;
    assert_eq!(peer.hear().await.unwrap()["result"]["protocolVersion"], json!(version));
    peer.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    (peer, reports)
}

#[tokio::test]
async fn batches_are_taken_in_the_one_revision_that_has_them() {
    guarded(async {
        for version in VERSIONS {
            let (mut peer, reports) = asked_in(version, &json!({})).await;
            peer.say(&json!([
                { "jsonrpc": "2.0", "id": 1, "method": "ping" },
                { "jsonrpc": "2.0", "id": 2, "method": "ping" },
            ]))
            .await;
            let answer = peer.hear().await.unwrap();
            if version == "2025-03-26" {
                assert_eq!(answer.as_array().map(Vec::len), Some(2), "{answer}");
                assert_eq!(reports.take(), [""; 0]);
            } else {
                assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)));
                let said = answer["error"]["message"].as_str().unwrap();
                assert!(said.contains("batch") && said.contains("on its own"), "{said}");
                assert_eq!(reports.take().len(), 1);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_batch_before_the_version_is_known_is_refused() {
    guarded(async {
        let (wire, mut peer) = raw();
        let _server = McpServer::with_options(wire, Reports::default().options());
        peer.say(&json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }])).await;
        assert_eq!(peer.hear().await.unwrap()["error"]["code"], json!(-32600));
    })
    .await;
}

#[tokio::test]
async fn a_task_where_there_are_none_is_an_ordinary_call() {
    guarded(async {
        // In an older revision, and in the latest where the server has not announced any.
        for version in VERSIONS {
            let (mut peer, reports) = asked_in(version, &json!({ "tools": {} })).await;
            let params = json!({ "name": "echo", "arguments": {}, "task": { "ttl": 1 } });
            peer.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
            let answer = peer.hear().await.unwrap();
            assert_eq!(answer["result"]["content"][0]["text"], json!("echo"), "{answer}");
            assert_eq!(reports.take(), [""; 0]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_method_of_a_later_revision_is_not_found() {
    guarded(async {
        for version in &VERSIONS[..3] {
            let (mut peer, reports) = asked_in(version, &json!({ "tasks": {} })).await;
            let params = json!({ "taskId": "t" });
            peer.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": params })).await;
            let answer = peer.hear().await.unwrap();
            assert_eq!(answer["error"]["code"], json!(-32601), "{answer}");
            let expected = format!("`tasks/get` is not a method that the client sends in `Mcp` {version}");
            assert_eq!(reports.take(), [expected]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_of_several_revisions_takes_the_one_it_is_given() {
    guarded(async {
        for answered in VERSIONS {
            let (near, far) = duplex();
            let client = McpClient::with_options(near, Options::new().revisions(REVISIONS));
            let server =
                McpServer::with_options(far, Options::new().revisions(REVISIONS).accept_any_version());
            let serving = async {
                let (_, server) = server.recv_initialize().await.unwrap();
                server.send_initialize_result(welcome(answered, &json!({}))).await.unwrap()
            };
            let (said, _server) = tokio::join!(client.initialize(hello("2025-11-25", &json!({}))), serving);
            let (result, _client) = said.unwrap();
            assert_eq!(result.protocol_version, answered);
        }
    })
    .await;
}

#[tokio::test]
async fn an_unlisted_version_is_refused() {
    guarded(async {
        let (near, far) = duplex();
        let client = McpClient::with_options(near, Options::new().revisions(REVISIONS[1..3].iter().copied()));
        let server = McpServer::with_options(far, Options::new().revisions(REVISIONS).accept_any_version());
        let serving = async {
            let (_, server) = server.recv_initialize().await.unwrap();
            server.send_initialize_result(welcome("2024-11-05", &json!({}))).await.unwrap()
        };
        let (said, _server) = tokio::join!(client.initialize(hello("2025-11-25", &json!({}))), serving);
        let Err(StepError::NegotiationFailed { error: Error::Version { offered, accepted, .. }, .. }) = said
        else {
            panic!("{said:?}")
        };
        assert_eq!(offered.as_deref(), Some("2024-11-05"));
        assert_eq!(accepted, ["2025-03-26", "2025-06-18", "2025-11-25"]);
    })
    .await;
}

#[tokio::test]
async fn permits_answers_for_the_revision() {
    guarded(async {
        let (client, server, _) = active_in("2025-06-18", everything()).await;
        let names = |permitted: Vec<_>| -> Vec<String> {
            let name = |message| PROTOCOL.message(message).unwrap().name.to_string();
            permitted.into_iter().map(name).collect()
        };
        let (client_may, server_may) = (names(client.permitted()), names(server.permitted()));
        assert!(client_may.contains(&"ToolsCall".to_owned()) && server_may.contains(&"Elicit".to_owned()));
        assert!(client_may.iter().chain(&server_may).all(|name| !name.contains("Task")), "{client_may:?}");
    })
    .await;
}

#[tokio::test]
async fn a_session_that_was_begun_elsewhere_is_governed_by_what_was_agreed_on_there() {
    guarded(async {
        let said = |version: &str| {
            let (_, can) = everything();
            Resumed::unknown().server_said(&welcome(version, &can)).unwrap()
        };
        for (known, version) in [
            (Resumed::unknown().version("2025-03-26"), "2025-03-26"),
            (said("2025-03-26"), "2025-03-26"),
            (said("2025-11-25").version("2025-03-26"), "2025-03-26"),
            (Resumed::unknown(), "2025-11-25"),
            (said("2025-11-25"), "2025-11-25"),
        ] {
            let ((near, _far), reports) = (duplex(), Reports::default());
            let client = McpClient::<Active>::resume(near, known.options(reports.options()));
            let batched = batch(vec![client.list_tools(None)]).await;
            if version == "2025-03-26" {
                let (kind, text) = why(client.list_tasks(None).await);
                assert_eq!(kind, ViolationKind::UnknownMethod);
                assert!(text.ends_with("in `Mcp` 2025-03-26"), "{text}");
                assert!(batched.is_ok());
            } else {
                assert!(matches!(batched, Err(Error::NoBatches { .. })));
                // The peer does not answer.
                drop(_far);
                assert!(matches!(client.list_tasks(None).await, Err(Error::Disconnected { .. })));
            }
            assert_eq!(reports.take(), [""; 0]);
        }
    })
    .await;
}

#[tokio::test]
async fn an_unlisted_version_of_a_resumed_session_is_reported() {
    guarded(async {
        let ((near, _far), reports) = (duplex(), Reports::default());
        let known = Resumed::unknown().version("1999-01-01").options(reports.options());
        let client = McpClient::<Active>::resume(near, known);
        assert_eq!(
            reports.take(),
            ["the peer speaks version `1999-01-01`, and this side accepts `2024-11-05` or `2025-03-26` or \
              `2025-06-18` or `2025-11-25`: list others with `Options::revisions`"]
        );
        let tasks_list = PROTOCOL.indexed().find(|(_, message)| message.name == "TasksList").unwrap().0;
        assert!(client.permits(tasks_list).is_ok(), "its own governs");
    })
    .await;
}
