//! Sessions over transports: what the code generated from a `.session` file runs on.
//!
//! In: a protocol's tables, a side, a transport. Out: session values, calls, handlers, whose every message is judged by
//! the protocol before it is written or handed over. Refuses what the protocol does not permit, and lives on.
//!
//! - [`typed`]: what generated code calls. [`checked`]: the same sessions without types.
//! - [`transport`]: in memory, own standard streams, a child process.
//! - [`driver`]: between the engine and a transport, for those who write their own.
//! - [`Error`], [`StepError`], [`RpcError`]: what can go wrong.
//! - [`Options`], [`Report`]: the settings of a session, and what it notices beside its steps.
#![warn(missing_docs)]

mod budget;
pub mod checked;
mod clock;
pub mod driver;
mod epoch;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod jsonrpc;
#[cfg(test)]
mod layers;
mod options;
mod panics;
mod report;
mod revisions;
mod session;
pub mod transport;
pub mod typed;

pub use checked::{CheckedSession, Event};
pub use driver::{Outcome, Transport};
pub use error::{
    AnnouncedVersion, Endless, Error, InvalidReply, Mismatch, Overdue, Reason, Renewal, ReplyProblem,
    StepError,
};
pub use jsonrpc::RpcError;
pub use mcp_protocol_machine::{Capabilities, Capability, RequestId, Token, Violation, ViolationKind};
pub use options::{Options, Rate, Resumed, answer_version};
pub use report::{Cause, Report};
pub use typed::batch;

#[doc(hidden)]
pub use mcp_protocol_macro as macros;

/// Turns a `.session` file into typed Rust, in the module that it stands in.
///
/// ```ignore
/// mod mcp {
///     mcp_runtime::protocol!("protocols/mcp-2025-03-26.session");
/// }
/// use mcp::McpClient;
/// ```
///
/// The path is relative to the folder of `Cargo.toml`; one that starts with `./` is relative to the source file that
/// names it, also inside rust-analyzer. An edit of the file, or of one that it imports, rebuilds. What is wrong in the file is an error at the
/// path, with the file's own lines; warnings are shown as uses of a deprecated constant, which
/// `#[allow(deprecated)]` on the module silences.
///
/// Give the generated items a module of their own: they speak of `Result` and `Option` as the prelude has them.
///
/// With `tables` behind the path, `protocol!("path", tables)`, there is nothing but the tables, `PROTOCOL`, and its `messages`: for
/// [`Options::revisions`] and [`CheckedSession`].
///
/// With `debug` behind the path, `protocol!("path", debug)`, the expansion is written to
/// `target/mcp-protocol/` and included from there, so that rustc's messages point into code that can be read.
#[macro_export]
macro_rules! protocol {
    ($($arguments:tt)*) => {
        $crate::macros::protocol!($crate, $($arguments)*);
    };
}
