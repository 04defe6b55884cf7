//! Resources: what can be read, and one that changes while the client looks on.

use mcp_protocols::mcp_2025_11_25::server::WatchedNext;
use mcp_protocols::mcp_2025_11_25::{McpError, Subscribing, server};
use mcp_protocols::types::*;
use mcp_runtime::RpcError;
use serde_json::json;
use tokio::sync::watch;

use crate::content::PIXEL;

/// What a request for a resource is refused with that is not there.
const NOT_FOUND: i64 = -32002;

const WATCHED: &str = "test://watched-resource";

pub(crate) fn list() -> ListResourcesResult {
    ListResourcesResult::new([
        Resource::new("test://static-text", "A text").mime_type("text/plain"),
        Resource::new("test://static-binary", "A picture").mime_type("image/png"),
        Resource::new(WATCHED, "A counter, which can be watched").mime_type("text/plain"),
    ])
}

pub(crate) fn templates() -> ListResourceTemplatesResult {
    let record = ResourceTemplate::new("test://template/{id}/data", "A record");
    ListResourceTemplatesResult::new([record.mime_type("application/json")])
}

pub(crate) fn read_at(watched: &Watched, uri: &str) -> Result<ReadResourceResult, RpcError> {
    let text = |text: &str, mime_type| TextResourceContents::new(uri, text).mime_type(mime_type).into();
    let contents = match uri {
        "test://static-text" => text("It never changes.", "text/plain"),
        "test://static-binary" => BlobResourceContents::new(uri, PIXEL).mime_type("image/png").into(),
        WATCHED => text(&watched.count().to_string(), "text/plain"),
        other => {
            let id = other.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
            let id = id.ok_or_else(|| RpcError::new(NOT_FOUND, format!("no resource is at `{other}`")))?;
            text(&json!({ "id": id }).to_string(), "application/json")
        }
    };
    Ok(ReadResourceResult::new([contents]))
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
    pub(crate) async fn tell(&self, uri: &str, subscription: server::Subscription<Subscribing>) {
        let ended = match uri {
            WATCHED => self.follow(subscription).await,
            _ => {
                let refused = subscription.refuse(RpcError::new(NOT_FOUND, "this does not change"));
                refused.await.map_err(McpError::from)
            }
        };
        // The client may disconnect without unsubscribing; then the update cannot be sent.
        drop(ended);
    }

    async fn follow(&self, subscription: server::Subscription<Subscribing>) -> Result<(), McpError> {
        let mut counter = self.counter.subscribe();
        let mut subscription = subscription.send_subscribed().await?;
        loop {
            tokio::select! {
                () = subscription.readable() => {}
                _ = counter.changed() => {
                    subscription.send_resource_updated(ResourceUpdatedParams::new(WATCHED)).await?;
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
