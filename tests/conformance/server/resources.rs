//! Resources: what can be read, and one that changes while the client looks on.

use mcp_protocols::mcp_2025_11_25::server::WatchedNext;
use mcp_protocols::mcp_2025_11_25::{McpError, Subscribing, server};
use mcp_protocols::types::{ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult};
use mcp_runtime::RpcError;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::content::{PIXEL, read};

/// What a request for a resource is refused with that is not there.
const NOT_FOUND: i64 = -32002;

const WATCHED: &str = "test://watched-resource";

pub(crate) fn list() -> ListResourcesResult {
    read(json!({ "resources": [
        { "uri": "test://static-text", "name": "A text", "mimeType": "text/plain" },
        { "uri": "test://static-binary", "name": "A picture", "mimeType": "image/png" },
        { "uri": WATCHED, "name": "A counter, which can be watched", "mimeType": "text/plain" },
    ] }))
}

pub(crate) fn templates() -> ListResourceTemplatesResult {
    read(json!({ "resourceTemplates": [
        { "uriTemplate": "test://template/{id}/data", "name": "A record", "mimeType": "application/json" },
    ] }))
}

pub(crate) fn read_at(watched: &Watched, uri: &str) -> Result<ReadResourceResult, RpcError> {
    let content = match uri {
        "test://static-text" => json!({ "uri": uri, "mimeType": "text/plain", "text": "It never changes." }),
        "test://static-binary" => json!({ "uri": uri, "mimeType": "image/png", "blob": PIXEL }),
        WATCHED => {
            json!({ "uri": uri, "mimeType": "text/plain", "text": watched.count().to_string() })
        }
        other => {
            let id = other.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
            let id = id.ok_or_else(|| RpcError::new(NOT_FOUND, format!("no resource is at `{other}`")))?;
            json!({ "uri": uri, "mimeType": "application/json", "text": json!({ "id": id }).to_string() })
        }
    };
    Ok(read(json!({ "contents": [content] })))
}

/// A counter, and its subscribers.
#[derive(Default)]
pub(crate) struct Watched {
    counter: watch::Sender<u32>,
}

impl Watched {
    fn count(&self) -> u32 {
        *self.counter.borrow()
    }

    pub(crate) fn change(&self) {
        self.counter.send_modify(|count| *count = count.saturating_add(1));
    }

    /// One subscription, from its beginning to its end.
    pub(crate) async fn tell(&self, params: Value, subscription: server::Subscription<Subscribing>) {
        let ended = match params.get("uri").and_then(Value::as_str) {
            Some(WATCHED) => self.follow(params, subscription).await,
            _ => {
                let refused = subscription.refuse(RpcError::new(NOT_FOUND, "this does not change"));
                refused.await.map_err(McpError::from)
            }
        };
        // The client may disconnect without unsubscribing; then the update cannot be sent.
        drop(ended);
    }

    async fn follow(
        &self,
        params: Value,
        subscription: server::Subscription<Subscribing>,
    ) -> Result<(), McpError> {
        let mut counter = self.counter.subscribe();
        let mut subscription = subscription.send_subscribed().await?;
        loop {
            tokio::select! {
                () = subscription.readable() => {}
                _ = counter.changed() => {
                    subscription.send_resource_updated(params.clone()).await?;
                    continue;
                }
            }
            subscription = match subscription.next().await? {
                WatchedNext::ResourcesSubscribe(_, renewing) => renewing.send_subscribed().await?,
                WatchedNext::ResourcesUnsubscribe(_, leaving) => {
                    leaving.send_unsubscribed().await?;
                    return Ok(());
                }
            };
        }
    }
}
