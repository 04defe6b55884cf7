//! What generated code calls.
//!
//! Each generated method is one call of a function here. Messages are indices into the tables of the protocol, and
//! session values follow the tables to know their state. This module does not know any protocol.
//!
//! - `session.rs`: the value of a linear channel; `steps.rs`: what it sends; `inputs.rs`: what it takes;
//!   `step.rs`: both as steps that generated code can name; `exchange.rs`: a linear request and its reply in one;
//!   `open_exchanges.rs`: which exchanges of a value are not over; `failure.rs`: why a step did not happen.
//! - `call.rs`, `notify.rs`: requests and notifications of replicated channels; `batch.rs`: several in one batch;
//!   `handle.rs`: the same from any task; `pages.rs`: lists in pages; `pending.rs`: calls that have been sent;
//!   `cancelling.rs`: cancelling them; `timer.rs`: timeouts.
//! - `incoming.rs`: inputs of replicated channels; `responder.rs`: their replies; `context.rs`: the context of a
//!   handler; `panics.rs`: handlers that panic.
//! - `resume.rs`: resumed sessions.
//! - `sub_sessions.rs`: values of sub-sessions.
//! - `reply.rs`: replies as Rust types. `closing.rs`: waits for the end of a session.
//! - `payload.rs`: checks that the types a file names can be payloads.

mod batch;
mod call;
mod cancelling;
mod closing;
mod context;
mod exchange;
mod failure;
mod handle;
mod handling;
mod incoming;
mod inputs;
mod notify;
mod open_exchanges;
mod overtime;
mod pages;
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
pub use call::Call;
pub use cancelling::{Cancellable, Canceller, Uncancellable};
pub use closing::Closing;
pub use context::Context;
pub use exchange::{Advance, Exchange};
pub use failure::StepFailure;
pub use handle::Handle;
pub use handling::Handling;
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
pub(crate) use timer::{LazyTimer, room};
pub use unhandled::{Unhandled, is_unhandled};
