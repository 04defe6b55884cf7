//! What tools, prompts and resources have in common: pieces of content.

use mcp_kit::types::*;

/// A picture of one red pixel, as PNG, in base64.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

/// Silence, as WAV, in base64: a header, and no samples.
pub(crate) const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

pub(crate) fn text(text: &str) -> ContentBlock {
    TextContent::new(text).into()
}

pub(crate) fn image() -> ContentBlock {
    ImageContent::new(PIXEL, "image/png").into()
}

pub(crate) fn audio() -> ContentBlock {
    AudioContent::new(SILENCE, "audio/wav").into()
}

/// A resource that comes with the message.
pub(crate) fn embedded(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    EmbeddedResource::new(TextResourceContents::new(uri, text).mime_type(mime_type)).into()
}
