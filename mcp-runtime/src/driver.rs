//! Between the engine, which does no I/O, and the transports, which know nothing of JSON-RPC.
//!
//! This module says what the engine offers a transport ([`Endpoint`]), what a transport is ([`Transport`]), and how a
//! session ends as a transport sees it ([`End`], [`Outcome`]). Transports deliver whole messages. For streams of bytes,
//! [`Framing`] says how messages are separated, and [`Pump`] moves the bytes.
//!
//! It refuses to look into messages: sizes and JSON are the engine's business. It also refuses to decide when a session
//! is over: the engine says so by [`Output::Finished`] or [`Output::Abandoned`].

mod content_length;
mod delivery;
mod endpoint;
mod framing;
mod input;
mod limits;
mod lines;
mod outlet;
mod pump;
#[cfg(any(feature = "http-server", feature = "http-client"))]
mod shared;
mod transport;

pub use crate::epoch::Epoch;
pub use crate::error::{End, Means, Outcome};
pub use delivery::Delivery;
pub use endpoint::{DirectOutput, Endpoint, Output, WrittenNow};
pub(crate) use framing::Frame;
pub use framing::{FrameReader, Framing};
pub use input::Input;
pub use limits::SharedLimits;
pub use outlet::{Extension, MessageKind, Outgoing, Outlet, Place, Received, RequestTag};
pub use pump::{Limits, Pump, PumpEvent, run};
pub(crate) use pump::{after, duplicate};
pub use transport::Transport;
