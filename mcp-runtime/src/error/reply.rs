//! Replies that this side cannot accept.

use mcp_protocol_machine::Violation;
use mcp_protocol_machine::protocol::Text;

/// A reply that this side cannot accept, so that the result of the request is unknown.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the reply to `{method}` cannot be accepted: {problem}")]
#[non_exhaustive]
pub struct InvalidReply {
    /// The request, by its name in the `.session` file.
    pub message: Text,
    /// Its wire method.
    pub method: Text,
    /// What is wrong with the reply.
    pub problem: ReplyProblem,
}

/// What is wrong with a reply.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyProblem {
    /// It is longer than [`Options::max_message_bytes`](crate::Options::max_message_bytes).
    #[error("it is longer than the limit of {0} bytes: see `Options::max_message_bytes`")]
    TooLong(usize),
    /// It nests deeper than [`Options::max_depth`](crate::Options::max_depth).
    #[error("it nests deeper than {0} levels: see `Options::max_depth`")]
    TooDeep(usize),
    /// It is not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// It is not JSON, or not a JSON-RPC reply.
    #[error("{0}")]
    Malformed(String),
    /// The protocol does not permit it: no reply of the request has its content, for instance.
    #[error("{0}")]
    NotPermitted(#[source] Violation),
}
