//! What generated code calls.
//!
//! In: messages by their index in the tables, payloads by their Rust type. Out: session values that know their own
//! state by following the tables, calls, handlers. Refuses to know any protocol: each generated method is one call of
//! something here, and everything that is particular to a protocol comes in as tables.
//!
//! - `session.rs`: the value of a linear channel; `steps.rs`: what it sends; `inputs.rs`: what it takes;
//!   `step.rs`: both as steps that generated code can name; `exchange.rs`: a linear request and its reply in one;
//!   `failure.rs`: why a step did not happen.
//! - `call.rs`, `notify.rs`: calls and notifications beside the linear channels; `batch.rs`: several of them in one
//!   line; `handle.rs`: the same for tasks of their own; `pages.rs`: calls whose result comes in pages; `pending.rs`:
//!   calls that are written and not answered. `timer.rs`: limits of time.
//! - `incoming.rs`: replicated inputs; `responder.rs`: their answers; `context.rs`: what a handler knows besides;
//!   `panics.rs`: handlers that panic.
//! - `resume.rs`: sessions that were begun elsewhere.
//! - `sub_sessions.rs`: values of sub-sessions with a life of their own.
//! - `reply.rs`: replies as Rust types, where a request has several. `closing.rs`: the end.
//! - `payload.rs`: whether the types that a file names can be payloads.

mod batch;
mod call;
mod closing;
mod context;
mod exchange;
mod failure;
mod handle;
mod incoming;
mod inputs;
mod notify;
mod pages;
mod panics;
#[doc(hidden)]
pub mod payload;
mod pending;
mod reply;
mod responder;
mod resume;
#[doc(hidden)]
pub mod roles;
mod session;
mod step;
mod steps;
pub(crate) mod sub_sessions;
#[doc(hidden)]
pub mod tables;
mod timer;
mod unhandled;

pub use std::borrow::Cow;

pub use mcp_protocol_machine::protocol::*;
pub use mcp_protocol_machine::{Capabilities, Capability, ProtocolRef, RequestId, Violation};
pub use serde_json::{Error as JsonError, Value};

pub use crate::error::Error;
pub use crate::jsonrpc::RpcError;
pub use crate::options::Resumed;
pub use batch::{InBatch, batch};
pub use call::{Call, Cancellable, Canceller, Uncancellable};
pub use closing::Closing;
pub use context::Context;
pub use exchange::{Advance, Exchange};
pub use failure::StepFailure;
pub use handle::Handle;
pub use incoming::{Arrival, IncomingQueue};
pub(crate) use inputs::Wanted;
pub use inputs::{Input, Unread};
pub use notify::Notify;
pub use pages::Pages;
pub use pending::{Pending, Sending};
pub use reply::{ReadReply, Reply, WriteReply, Written};
pub use responder::Responder;
pub use session::Session;
pub(crate) use session::{checker_at, permits, permitted};
pub use step::{InRole, InState, NotTaken, Step, Typed};
pub(crate) use timer::{Patient, room};
pub use unhandled::{Unhandled, is_unhandled};
