//! The headers and content types of Streamable HTTP.

/// The header that names the session.
pub const SESSION_ID: &str = "mcp-session-id";
/// The header that names the version of the protocol.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The header that says up to where a stream was read.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// The content type of one message.
pub(super) const JSON: &str = "application/json";
/// The content type of a stream of messages.
pub(super) const EVENT_STREAM: &str = "text/event-stream";
