//! Between the engine, which does no I/O, and the transports, which know nothing of JSON-RPC.
//!
//! In come raw bytes from a stream and raw bytes from the engine; out go the same bytes, the other way. This module
//! says what the engine offers a transport ([`Endpoint`]), what a transport is ([`Transport`]), and how a session
//! ends as a transport sees it ([`End`], [`Outcome`]). The byte pump that most transports share is [`Pump`].
//!
//! It refuses to look into the bytes: lines, sizes and JSON are the engine's business. It also refuses to decide
//! when a session is over: the engine says so by [`Output::Finished`] or [`Output::Abandoned`].

mod endpoint;
mod input;
mod limits;
mod outlet;
mod pump;
#[cfg(any(feature = "http-server", feature = "http-client"))]
mod shared;
mod transport;

pub use crate::epoch::Epoch;
pub use crate::error::{End, Means, Outcome};
pub use endpoint::{DirectOutput, Endpoint, Output, WrittenNow};
pub use input::Input;
pub use limits::SharedLimits;
pub use outlet::{Extension, MessageKind, Outgoing, Outlet, Place, Received, RequestTag};
pub use pump::{Limits, Pump, PumpEvent, run};
pub(crate) use pump::{after, duplicate};
pub use transport::Transport;
