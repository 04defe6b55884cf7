//! Elicitation: forms, URLs, and the capabilities for either.

use mcp_protocols::mcp_2025_11_25::{McpClient, capabilities, client, messages};
use mcp_protocols::types::*;
use mcp_runtime::{Error, RpcError, ViolationKind};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Reports, active_in, everything, guarded, hello, welcome};
use test_support::raw::raw;

/// A user who fills in every form with a name, goes to every address but `https://elsewhere`, and hears of what is
/// done there.
struct User(mpsc::UnboundedSender<String>);

impl client::Handler for User {
    async fn elicit(&self, _: client::Context, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        match params {
            ElicitParams::Form(form) if form.message == "leave" => {
                Ok(ElicitResult::new(ElicitAction::Cancel))
            }
            ElicitParams::Form(_) => {
                Ok(ElicitResult::new(ElicitAction::Accept).content([("name".to_owned(), "Ada".into())]))
            }
            ElicitParams::Url(address) if address.url == "https://elsewhere" => {
                Ok(ElicitResult::new(ElicitAction::Decline))
            }
            ElicitParams::Url(_) => Ok(ElicitResult::new(ElicitAction::Accept)),
            other => Err(RpcError::invalid_params(format!("{other:?} is of no known mode"))),
        }
    }

    async fn elicitation_complete(&self, _: client::Context, params: ElicitationCompleteParams) {
        self.0.send(params.elicitation_id).unwrap();
    }
}

fn form(message: &str) -> ElicitFormParams {
    ElicitFormParams::new(message, FormSchema::new([]).field("name", StringSchema::new()))
}

fn address(url: &str) -> ElicitParams {
    ElicitUrlParams::new("sign in", url, "e1").into()
}

/// Both sides, with this as the client's capabilities.
async fn asked(
    client_can: Value,
) -> (
    super::McpClient<super::Active>,
    super::McpServer<super::Active>,
    super::Reports,
    mpsc::UnboundedReceiver<String>,
) {
    let (client, server, reports) = active_in("2025-11-25", (client_can, everything().1)).await;
    let (told, heard) = mpsc::unbounded_channel();
    test_support::spawn(client.incoming().serve(User(told)));
    (client, server, reports, heard)
}

#[tokio::test]
async fn the_user_accepts_declines_and_leaves() {
    guarded(async {
        let (_client, server, reports, mut heard) = asked(everything().0).await;
        let accepted = server.elicit(form("who").into()).await.unwrap();
        assert_eq!(accepted.action, ElicitAction::Accept);
        assert_eq!(accepted.content.unwrap()["name"], FieldValue::from("Ada"));
        assert_eq!(server.elicit(form("leave").into()).await.unwrap().action, ElicitAction::Cancel);
        assert_eq!(server.elicit(address("https://here")).await.unwrap().action, ElicitAction::Accept);
        server.send_elicitation_complete(ElicitationCompleteParams::new("e1")).await.unwrap();
        assert_eq!(heard.recv().await.as_deref(), Some("e1"));
        assert_eq!(server.elicit(address("https://elsewhere")).await.unwrap().action, ElicitAction::Decline);
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}

/// The capability for want of which something was not sent.
fn missing<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let Err(Error::NotPermitted(violation)) = result else { panic!("{result:?}") };
    let ViolationKind::NotNegotiated { capability, .. } = violation.kind.clone() else {
        panic!("{violation}")
    };
    capability
}

#[tokio::test]
async fn the_user_is_asked_in_the_modes_that_the_client_announced() {
    const FORM: &str = "elicitation.form";
    const URL: &str = "elicitation.url";
    // In addition to the announcement: what a form lacks, and what an address lacks.
    for (can, form_lacks, url_lacks) in [
        (json!({}), Some("elicitation"), Some("elicitation")),
        // No more than `elicitation` means forms.
        (json!({ "elicitation": {} }), None, Some(URL)),
        (json!({ "elicitation": { "form": {} } }), None, Some(URL)),
        (json!({ "elicitation": { "url": {} } }), Some(FORM), None),
        (json!({ "elicitation": { "form": {}, "url": {} } }), None, None),
    ] {
        guarded(async {
            let (client, server, reports, mut heard) = asked(can.clone()).await;
            let named = form("who").mode(ElicitFormParamsMode::Form);
            for params in [form("who"), named].map(ElicitParams::from) {
                match form_lacks {
                    None => {
                        assert_eq!(
                            server.elicit(params).await.unwrap().action,
                            ElicitAction::Accept,
                            "{can}"
                        );
                    }
                    Some(lacks) => assert_eq!(missing(server.elicit(params).await), lacks, "{can}"),
                }
            }
            let done = || ElicitationCompleteParams::new("e1");
            match url_lacks {
                None => {
                    let went = server.elicit(address("https://here")).await.unwrap();
                    assert_eq!(went.action, ElicitAction::Accept, "{can}");
                    server.send_elicitation_complete(done()).await.unwrap();
                    assert_eq!(heard.recv().await.as_deref(), Some("e1"));
                }
                Some(lacks) => {
                    assert_eq!(missing(server.elicit(address("https://here")).await), lacks, "{can}");
                    assert_eq!(missing(server.send_elicitation_complete(done()).await), URL, "{can}");
                }
            }
            // A payload without a mode means a form.
            let permits = server.permits(messages::ELICIT).err();
            assert_eq!(
                permits.as_ref().and_then(|refused| refused.missing_capability()),
                form_lacks,
                "{can}"
            );
            assert_eq!(reports.take(), [""; 0]);
            drop(client);
        })
        .await;
    }
}

/// A server that asks in a mode the client does not have: the client's user is not asked.
#[tokio::test]
async fn what_a_server_asks_in_another_mode_is_refused() {
    for (can, params, lacks) in [
        (json!({ "elicitation": { "url": {} } }), form("who").into(), "elicitation.form"),
        (json!({ "elicitation": {} }), address("https://here"), "elicitation.url"),
    ] {
        guarded(async {
            let (wire, mut server) = raw();
            let reports = Reports::default();
            let client = McpClient::with_options(wire, reports.options());
            let opening = async {
                let (_, client) = client.initialize(hello("2025-11-25", &can)).await.unwrap();
                client.send_initialized().await.unwrap()
            };
            let answering = async {
                let asked = server.hear().await.unwrap();
                assert_eq!(asked["params"]["capabilities"], can);
                let result = welcome("2025-11-25", &json!({}));
                server.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).await;
                server.hear().await.unwrap();
            };
            let (client, ()) = tokio::join!(opening, answering);
            let (told, _heard) = mpsc::unbounded_channel();
            let _serving = test_support::spawn(client.incoming().serve(User(told)));
            let ask = json!({ "jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": params });
            server.say(&ask).await;
            let answer = server.hear().await.unwrap();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32601)), "{answer}");
            let needs = format!(
                "`elicitation/create` needs the capability `{lacks}`, which the client has not announced"
            );
            assert!(reports.take().iter().any(|report| report.contains(&needs)), "{needs}");
        })
        .await;
    }
}

/// The revision before this one has forms only, and no parts of the capability.
#[tokio::test]
async fn in_the_revision_before_there_are_no_modes() {
    guarded(async {
        let can = (json!({ "elicitation": { "url": {} } }), everything().1);
        let (client, server, reports) = active_in("2025-06-18", can).await;
        let (told, _heard) = mpsc::unbounded_channel();
        test_support::spawn(client.incoming().serve(User(told)));
        assert_eq!(server.elicit(form("who").into()).await.unwrap().action, ElicitAction::Accept);
        let both = [capabilities::ELICITATION, capabilities::ELICITATION_FORM].into_iter().collect();
        assert_eq!(
            server.handle().restrict(&both).elicit(form("who").into()).await.unwrap().action,
            ElicitAction::Accept
        );
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}

/// The same gates are those of what is asked as a task.
#[tokio::test]
async fn a_task_asks_in_the_modes_that_the_client_announced() {
    guarded(async {
        let tasks = json!({ "requests": { "elicitation": { "create": {} } } });
        let can = json!({ "elicitation": { "url": {} }, "tasks": tasks });
        let (_client, server, reports, _heard) = asked(can).await;
        let params = form("who").task(TaskMetadata::new());
        assert_eq!(missing(server.elicit_as_task(params.into()).await.map(drop)), "elicitation.form");
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}
