//! Runs JSON-RPC sessions over transports: the library that code generated from a `.session` file uses.
//!
//! A session is made from the tables of a protocol, a side and a transport. Every message is judged by the protocol
//! before it is written or delivered. A message that the protocol does not permit is refused, and the session
//! continues.
//!
//! - [`call`], [`step`]: what the methods of generated sessions return, and what handlers get.
//! - [`checked`]: the same sessions without types. [`protocol`](mod@protocol): the tables that both follow.
//! - [`transport`]: in memory, own standard streams, a child process, any stream of bytes, HTTP.
//! - [`driver`]: connects the engine and a transport; use it to write a transport of your own.
//! - [`error`]: [`Error`], [`StepError`], and what they hold.
//! - [`options`]: the settings of a session, [`Options`]; it reports to its owner with a [`Report`].
#![warn(missing_docs)]

mod budget;
pub mod checked;
mod clock;
pub mod driver;
mod engine;
mod epoch;
pub mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod jsonrpc;
#[cfg(test)]
mod layers;
pub mod options;
mod panics;
mod report;
mod revisions;
pub mod transport;
mod typed;

pub use checked::{CheckedSession, Event};
pub use driver::{Outcome, Transport};
pub use error::{
    AnnouncedVersion, DisconnectReason, Error, InvalidReply, MismatchError, PaginationError, ReconnectError,
    ReplyProblem, StepError, TimeoutKind,
};
pub use jsonrpc::RpcError;
pub use mcp_protocol_machine::{Capabilities, Capability, RequestId, Token, Violation, ViolationKind};
pub use options::{Options, RateLimit, Resumed, negotiate_version};
pub use report::{DropReason, Report};
pub use typed::batch;

/// Calls, notifications and the requests of the peer.
pub mod call {
    pub use crate::typed::{
        Call, Cancellable, Canceller, InBatch, Notify, Pages, Pending, ReadReply, Responder, Sending,
        Uncancellable, batch,
    };
}

/// Steps of a session: what methods return that move it from state to state, and the states themselves.
pub mod step {
    pub use crate::typed::{Advance, Closing, Exchange, Input, NotTaken, Step, Typed, Unread};
}

/// The tables of a protocol: its messages, and the state machine of each side.
pub mod protocol {
    pub use mcp_protocol_machine::ProtocolRef;
    pub use mcp_protocol_machine::protocol::*;
}

/// What generated code calls. It may change with each version.
#[doc(hidden)]
pub mod __private {
    pub use crate::typed::*;
    #[cfg(feature = "macros")]
    pub use mcp_protocol_macro as macros;
}

/// Generates typed Rust from a `.session` file, in the module that contains the call.
///
/// ```ignore
/// mod mcp {
///     mcp_runtime::protocol!("protocols/mcp-2025-03-26.session");
/// }
/// use mcp::McpClient;
/// ```
///
/// The path is relative to the folder of `Cargo.toml`. A path that starts with `./` is relative to the source file that
/// contains it, also inside rust-analyzer. If you edit the file, or a file that it imports, cargo rebuilds the crate. A
/// mistake in the file is an error at the path, with the lines of the file. Warnings appear as uses of a deprecated
/// constant, which `#[allow(deprecated)]` on the module silences.
///
/// Put the call into a module of its own: the generated items use `Result` and `Option` from the prelude.
///
/// `protocol!("path", tables)` generates only the tables, `PROTOCOL`, and their `messages`, for [`Options::revisions`]
/// and [`CheckedSession`].
///
/// `protocol!("path", debug)` writes the expansion to `target/mcp-protocol/` and includes it from there, so that
/// rustc's messages point into code that you can read.
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! protocol {
    ($($arguments:tt)*) => {
        $crate::__private::macros::protocol!($crate, $($arguments)*);
    };
}
