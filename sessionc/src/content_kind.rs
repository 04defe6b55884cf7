//! What the answer of a server over HTTP says that it is.

use mcp_protocol_machine::Excerpt;
use reqwest::header::{CONTENT_TYPE, HeaderMap};

/// What an answer is by its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentKind {
    /// A message, or a batch.
    Message,
    /// A stream of events.
    Events,
    /// Something that no client takes for an answer.
    Other,
}

impl ContentKind {
    pub(crate) fn of(headers: &HeaderMap) -> ContentKind {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        match kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "application/json" => ContentKind::Message,
            "text/event-stream" => ContentKind::Events,
            _ => ContentKind::Other,
        }
    }
}

/// What is wrong with the content type of an answer that is neither a message nor a stream of events.
pub(crate) fn mistake_of_kind(headers: &HeaderMap) -> String {
    match headers.get(CONTENT_TYPE).map(|kind| String::from_utf8_lossy(kind.as_bytes())) {
        Some(kind) => {
            format!(
                "has the content type `{}`: send `application/json` or `text/event-stream`",
                Excerpt(&kind)
            )
        }
        None => "has no content type: send `application/json` or `text/event-stream`".to_owned(),
    }
}
