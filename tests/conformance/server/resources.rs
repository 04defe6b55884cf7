//! Resources: what can be read, and one that changes while the client looks on.

use std::sync::atomic::{AtomicU32, Ordering};

use mcp_protocols::eras::types::*;
use mcp_runtime::RpcError;
use serde_json::json;

use crate::content::PIXEL;
use crate::handler::TTL;

pub(crate) const WATCHED: &str = "test://watched-resource";

pub(crate) fn list() -> ListResourcesResult {
    let resources = [
        Resource::new("test://static-text", "A text").mime_type("text/plain"),
        Resource::new("test://static-binary", "A picture").mime_type("image/png"),
        Resource::new(WATCHED, "A counter, which can be watched").mime_type("text/plain"),
    ];
    ListResourcesResult::new(resources, TTL, CacheScope::Public)
}

pub(crate) fn templates() -> ListResourceTemplatesResult {
    let record = ResourceTemplate::new("test://template/{id}/data", "A record");
    ListResourceTemplatesResult::new([record.mime_type("application/json")], TTL, CacheScope::Public)
}

pub(crate) fn read_at(watched: &Watched, uri: &str) -> Result<ReadResourceResult, RpcError> {
    let text = |text: &str, mime_type| TextResourceContents::new(uri, text).mime_type(mime_type).into();
    let contents = match uri {
        "test://static-text" => text("It never changes.", "text/plain"),
        "test://static-binary" => BlobResourceContents::new(uri, PIXEL).mime_type("image/png").into(),
        WATCHED => text(&watched.count().to_string(), "text/plain"),
        other => {
            let id = other.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
            text(&json!({ "id": id.ok_or_else(|| not_found(other))? }).to_string(), "application/json")
        }
    };
    // What can be watched changes, and is not kept.
    let ttl = if uri == WATCHED { 0 } else { TTL };
    Ok(ReadResourceResult::new([contents], ttl, CacheScope::Public))
}

fn not_found(uri: &str) -> RpcError {
    RpcError::invalid_params(format!("no resource is at `{uri}`")).with_data(json!({ "uri": uri }))
}

/// Only one resource changes.
pub(crate) fn watch(uri: &str) -> Result<(), RpcError> {
    match uri {
        WATCHED => Ok(()),
        other => Err(RpcError::invalid_params(format!("`{other}` does not change"))),
    }
}

/// A counter.
#[derive(Default)]
pub(crate) struct Watched(AtomicU32);

impl Watched {
    fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn change(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
