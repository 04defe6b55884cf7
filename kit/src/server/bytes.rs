//! Bytes as content: MCP carries them as Base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp_protocols::eras::types::{AudioContent, ContentBlock, ImageContent, ResourceContents};

use super::resource::blob_at;

/// An image, as content of a result or a message.
///
/// ```
/// use mcp_kit::{Failure, Server, image_of};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// Draws a chart
/// #[derive(Deserialize, JsonSchema)]
/// struct Chart {
///     path: String,
/// }
///
/// let server = Server::new("charts", "1.0.0", ())
///     .tool_fn(|chart: Chart, _| async move { Ok(image_of(std::fs::read(chart.path)?, "image/png")) });
/// # drop(server);
/// ```
pub fn image_of(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> ContentBlock {
    ImageContent::new(STANDARD.encode(bytes), mime_type).into()
}

/// A sound, as content of a result or a message.
pub fn audio_of(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> ContentBlock {
    AudioContent::new(STANDARD.encode(bytes), mime_type).into()
}

/// Bytes, as the contents of a resource. What is in Base64 already is [`blob_at`].
///
/// ```
/// # use mcp_kit::{bytes_at, types::ResourceContents};
/// let ResourceContents::Blob(contents) = bytes_at("files://logo.png", b"\x89PNG") else { panic!() };
/// assert_eq!(contents.blob, "iVBORw==");
/// ```
pub fn bytes_at(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> ResourceContents {
    blob_at(uri, STANDARD.encode(bytes))
}
