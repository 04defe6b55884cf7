//! Sessions over transports: what the code generated from a `.session` file runs on.
//!
//! In: a protocol's tables, a side, a transport. Out: session values, calls, handlers, whose every message is judged by
//! the protocol before it is written or handed over. Refuses what the protocol does not permit, and lives on.
//!
//! - [`typed`]: what generated code calls.
//! - [`transport`]: in memory, own standard streams, a child process.
//! - [`driver`]: between the engine and a transport, for those who write their own.
//! - [`Error`], [`StepError`], [`RpcError`]: what can go wrong.
//! - [`Options`], [`Report`]: the settings of a session, and what it notices beside its steps.
#![warn(missing_docs)]

pub mod driver;
mod error;
mod jsonrpc;
mod options;
mod session;
pub mod transport;
pub mod typed;

pub use driver::{Outcome, Transport};
pub use error::{Error, Reason, StepError};
pub use jsonrpc::RpcError;
pub use mcp_protocol_machine::{RequestId, Token, Violation, ViolationKind};
pub use options::{Cause, Options, Report};
