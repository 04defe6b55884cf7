//! Resources: what can be read, and one that changes while the client looks on.

use std::sync::atomic::{AtomicU32, Ordering};

use mcp_kit::types::ResourceContents;
use mcp_kit::{Client, Failure, Resource, Server, blob_at, text_at};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::content::PIXEL;

pub(crate) fn add(server: Server<Counter>) -> Server<Counter> {
    server.resource::<Text>().resource::<Picture>().resource::<Watched>().resource::<Record>()
}

/// How often the resource has changed that can be watched.
#[derive(Default)]
pub(crate) struct Counter(AtomicU32);

impl Counter {
    pub(crate) fn change(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A text
#[derive(Deserialize, JsonSchema)]
struct Text;

impl Resource<Counter> for Text {
    const URI: &'static str = "test://static-text";
    const MIME_TYPE: Option<&'static str> = Some("text/plain");
    type Needs = ();

    async fn read(self, _: &Counter, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, "It never changes."))
    }
}

/// A picture
#[derive(Deserialize, JsonSchema)]
struct Picture;

impl Resource<Counter> for Picture {
    const URI: &'static str = "test://static-binary";
    const MIME_TYPE: Option<&'static str> = Some("image/png");
    type Needs = ();

    async fn read(self, _: &Counter, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(blob_at(uri, PIXEL))
    }
}

/// A counter, which can be watched
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Watched;

impl Resource<Counter> for Watched {
    const URI: &'static str = "test://watched-resource";
    const MIME_TYPE: Option<&'static str> = Some("text/plain");
    type Needs = ();

    async fn read(self, counter: &Counter, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, counter.0.load(Ordering::Relaxed).to_string()))
    }
}

/// A record
#[derive(Deserialize, JsonSchema)]
struct Record {
    id: String,
}

impl Resource<Counter> for Record {
    const URI: &'static str = "test://template/{id}/data";
    const MIME_TYPE: Option<&'static str> = Some("application/json");
    type Needs = ();

    async fn read(self, _: &Counter, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, serde_json::json!({ "id": self.id }).to_string()))
    }
}
