//! What can go wrong with a step, a call or a session.
//!
//! Calls and most methods return an [`Error`]. A step that takes the session by value returns a
//! [`StepError`](crate::StepError), which returns the session as well, if it can go on. Each cause is a variant with its
//! data; [`Error::is_timeout`] and its like answer the most frequent questions. A message that the protocol does not
//! permit is a [`Violation`], an error that travels between the sides is an [`RpcError`].

pub(crate) mod end;
mod forwarded;
mod kind;
mod limits;
mod mismatch;
mod reason;
mod reply;
mod variants;
mod version;

pub(crate) use self::end::{End, Means, Outcome};
pub use self::limits::{PaginationError, TimeoutKind};
pub use self::mismatch::MismatchError;
pub use self::reason::{DisconnectReason, ReconnectError};
pub use self::reply::{InvalidReply, ReplyProblem};
pub use self::variants::Error;
pub use self::version::AnnouncedVersion;
pub(crate) use self::version::either;
pub use crate::jsonrpc::RpcError;
pub use mcp_protocol_machine::shape::ShapeMismatch;
pub use mcp_protocol_machine::{Excerpt, Violation, ViolationKind};
