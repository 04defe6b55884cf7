//! What generated code calls.
//!
//! Each generated method is one call of a function here. Messages are indices into the tables of the protocol, and
//! session values follow the tables to know their state. This module does not know any protocol.
//!
//! - `session.rs`: the value of a linear channel; `channel.rs`: which channel, and the state that it is in there;
//!   `permissions.rs`: what may be sent in it; `resume.rs`: resumed sessions; `closing.rs`: waits for the end.
//! - `steps.rs`: what a value sends; `inputs.rs`: what it takes; `unread.rs`: what is left where that failed;
//!   `step.rs`: both as steps that generated code can name; `exchange.rs`: a linear request and its reply in one;
//!   `open_exchanges.rs`: which exchanges of a value are not over; `failure.rs`: why a step did not happen.
//! - `replicated.rs`: what a value does on replicated channels. `call.rs`, `notify.rs`: requests and notifications;
//!   `batch.rs`: several in one batch; `handle.rs`: the same from any task; `pages.rs`: lists in pages; `pending.rs`:
//!   calls that have been sent; `cancelling.rs`: cancelling them; `timer.rs`: timeouts; `within.rs`: restrictions.
//! - `incoming.rs`: inputs of replicated channels; `handling.rs`: the futures of handlers; `responder.rs`: their
//!   replies; `context.rs`: the context of a handler; `unhandled.rs`: handlers that are not there; `overtime.rs`:
//!   handlers at the end of a session.
//! - `sub_sessions.rs`: values of sub-sessions. `readable.rs`: which of several values and queues has the first message.
//! - `generated.rs`: what generated code says of its types; `roles.rs` and `tables.rs`: the macros that it calls;
//!   `reply.rs`: replies as Rust types; `with_method.rs`: payloads of messages whose method is a pattern; `payload_text.rs`: payloads as JSON; `payload.rs`: checks that the types a file
//!   names can be payloads.

mod batch;
mod call;
mod cancelling;
mod channel;
mod closing;
mod context;
mod exchange;
mod failure;
mod generated;
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
mod payload_text;
mod pending;
mod permissions;
mod readable;
mod replicated;
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
mod unread;
mod with_method;
mod within;

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
pub use generated::{InRole, InState, Typed};
pub use handle::Handle;
pub use handling::Handling;
pub use incoming::{Arrival, IncomingQueue};
pub use inputs::Input;
pub(crate) use inputs::Wanted;
pub use notify::Notify;
pub use pages::Pages;
pub use pending::{Pending, Sending};
pub(crate) use permissions::{checker_at, permits, permitted};
pub use readable::{Readable, Reader, first_readable};
pub use reply::{ReadReply, Reply, WriteReply, Written};
pub use responder::Responder;
pub use session::Session;
pub use step::{NotTaken, Step};
pub(crate) use timer::{LazyTimer, room};
pub use unhandled::{Unhandled, unhandled};
pub use unread::Unread;
pub use with_method::WithMethod;
