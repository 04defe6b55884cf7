//! What tools, prompts and resources have in common: pieces of content, and payloads that are written as JSON.

use mcp_runtime::RpcError;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A picture of one red pixel, as PNG, in base64.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

/// Silence, as WAV, in base64: a header, and no samples.
pub(crate) const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// A payload that is written as JSON. All that is read so stands in this program's own text, so whether it fits its type
/// is a matter of reading it, and of the tests.
pub(crate) fn read<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).expect("what this program says fits its type")
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

pub(crate) fn image() -> Value {
    json!({ "type": "image", "mimeType": "image/png", "data": PIXEL })
}

pub(crate) fn audio() -> Value {
    json!({ "type": "audio", "mimeType": "audio/wav", "data": SILENCE })
}

/// A resource that comes with the message.
pub(crate) fn embedded(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime_type, "text": text } })
}

/// The refusal of something that is not here.
pub(crate) fn unknown(what: &str, name: &str) -> RpcError {
    RpcError::invalid_params(format!("no {what} is called `{name}`"))
}
