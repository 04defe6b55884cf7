//! Replies that this side cannot accept.

use mcp_protocol_machine::Violation;
use mcp_protocol_machine::protocol::Text;

use crate::error_texts::error_texts;

/// A reply that this side cannot accept, so that the result of the request is unknown.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InvalidReply {
    /// The request, by its name in the `.session` file.
    pub message: Text,
    /// Its wire method.
    pub method: Text,
    /// What is wrong with the reply.
    pub problem: ReplyProblem,
}

error_texts! {
    InvalidReply {
        Self { method, problem, .. } => ("the reply to `{method}` cannot be accepted: {problem}"),
    }
}

/// What is wrong with a reply.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReplyProblem {
    /// It is longer than [`Options::max_message_bytes`](crate::Options::max_message_bytes).
    TooLong(usize),
    /// It nests deeper than [`Options::max_depth`](crate::Options::max_depth).
    TooDeep(usize),
    /// It is not UTF-8.
    NotUtf8,
    /// It is not JSON, or not a JSON-RPC reply.
    Malformed(String),
    /// The protocol does not permit it: no reply of the request has its content, for instance.
    NotPermitted(Violation),
}

error_texts! {
    ReplyProblem {
        Self::TooLong(value) => (
            "it is longer than the limit of {value} bytes: see `Options::max_message_bytes`"
        ),
        Self::TooDeep(value) => ("it nests deeper than {value} levels: see `Options::max_depth`"),
        Self::NotUtf8 => ("it is not UTF-8"),
        Self::Malformed(value) => ("{value}"),
        Self::NotPermitted(cause) => ("{cause}") from cause,
    }
}
