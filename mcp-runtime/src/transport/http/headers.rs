//! The headers and content types of Streamable HTTP.

/// The header that names the session.
pub const SESSION_ID: &str = "mcp-session-id";
/// The header that names the version of the protocol.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The header that says up to where a stream was read.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// The header that repeats the method of a request.
pub const METHOD: &str = "mcp-method";
/// The header that repeats the name, or the URI, of what a request is about.
pub const NAME: &str = "mcp-name";
/// How the headers begin that repeat parameters of a tool.
pub const PARAM_PREFIX: &str = "mcp-param-";

/// The content type of one message.
pub(super) const JSON: &str = "application/json";
/// The content type of a stream of messages.
pub(super) const EVENT_STREAM: &str = "text/event-stream";
/// Both forms that an answer may have, as a client writes that it reads them.
pub(super) const EITHER: &str = "application/json, text/event-stream";
