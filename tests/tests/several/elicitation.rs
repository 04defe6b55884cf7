//! Asking the user: forms, addresses, and what the client must have announced for either.

use crate::mcp_2025_11_25::client;
use mcp_runtime::{Error, RpcError, ViolationKind};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower_mcp_types::protocol::*;

use super::{active_in, everything, guarded, read};

/// A user who fills in every form with a name, goes to every address but `https://elsewhere`, and hears of what is
/// done there.
struct User(mpsc::UnboundedSender<String>);

impl client::Handler for User {
    async fn elicit(&self, _: client::Context, params: Value) -> Result<ElicitResult, RpcError> {
        match (params["mode"].as_str(), params["message"].as_str(), params["url"].as_str()) {
            (None | Some("form"), Some("leave"), _) => Ok(ElicitResult::cancel()),
            (None | Some("form"), _, _) => {
                Ok(read(json!({ "action": "accept", "content": { "name": "Ada" } })))
            }
            (Some("url"), _, Some("https://elsewhere")) => Ok(ElicitResult::decline()),
            (Some("url"), _, _) => Ok(read(json!({ "action": "accept" }))),
            (Some(other), _, _) => Err(RpcError::invalid_params(format!("no mode is called `{other}`"))),
        }
    }

    async fn elicitation_complete(&self, _: client::Context, params: ElicitationCompleteParams) {
        self.0.send(params.elicitation_id).unwrap();
    }
}

fn form(message: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    json!({ "message": message, "requestedSchema": schema })
}

fn address(url: &str) -> Value {
    json!({ "mode": "url", "elicitationId": "e1", "message": "sign in", "url": url })
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
    tokio::spawn(client.incoming().serve(User(told)));
    (client, server, reports, heard)
}

#[tokio::test]
async fn the_user_accepts_declines_and_leaves() {
    guarded(async {
        let (_client, server, reports, mut heard) = asked(everything().0).await;
        let accepted = server.elicit(form("who")).await.unwrap();
        assert_eq!(accepted.action, ElicitAction::Accept);
        assert_eq!(serde_json::to_value(&accepted).unwrap()["content"]["name"], json!("Ada"));
        assert_eq!(server.elicit(form("leave")).await.unwrap().action, ElicitAction::Cancel);
        assert_eq!(server.elicit(address("https://here")).await.unwrap().action, ElicitAction::Accept);
        server.send_elicitation_complete(read(json!({ "elicitationId": "e1" }))).await.unwrap();
        assert_eq!(heard.recv().await.as_deref(), Some("e1"));
        assert_eq!(server.elicit(address("https://elsewhere")).await.unwrap().action, ElicitAction::Decline);
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn what_the_client_did_not_announce_is_not_asked() {
    guarded(async {
        let missing = |result: Result<ElicitResult, Error>| {
            let Err(Error::NotPermitted(violation)) = result else { panic!("{result:?}") };
            let ViolationKind::NotNegotiated { capability, .. } = violation.kind.clone() else {
                panic!("{violation}")
            };
            capability.to_string()
        };
        // No more than `elicitation` means forms.
        let (_client, server, reports, _heard) = asked(json!({ "elicitation": {} })).await;
        assert_eq!(server.elicit(form("who")).await.unwrap().action, ElicitAction::Accept);
        assert_eq!(missing(server.elicit(address("https://here")).await), "elicitation.url");
        let done = server.send_elicitation_complete(read(json!({ "elicitationId": "e1" }))).await;
        assert!(matches!(done, Err(Error::NotPermitted(_))), "{done:?}");
        let (_client, server, nothing, _heard) = asked(json!({})).await;
        assert_eq!(missing(server.elicit(form("who")).await), "elicitation");
        assert_eq!([reports.take(), nothing.take()], [[""; 0], [""; 0]]);
    })
    .await;
}
