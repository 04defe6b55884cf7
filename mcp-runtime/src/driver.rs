//! Between the engine, which does no I/O, and the transports, which know nothing of JSON-RPC.
//!
//! This module says what the engine offers a transport ([`Endpoint`]), what a transport is ([`Transport`]), and how a
//! session ends as a transport sees it ([`End`], and [`Outcome`]). Whole messages are exchanged: a transport delivers those of
//! the peer, and an [`Outlet`] takes those of this side. [`MessagePort`] is both for a transport that carries messages one
//! after another. For streams of bytes, [`Framing`] says how messages are separated.
//!
//! It refuses to look into messages: sizes and JSON are the engine's business. It also refuses to decide when a session
//! is over: the engine says so by [`Finish`].

mod byte_queue;
mod carrier;
mod clock;
mod content_length;
mod delivery;
mod endpoint;
mod extension;
mod frame;
mod framing;
mod input;
mod limits;
mod lines;
mod outlet;
mod port;
mod pump;
mod transport;

pub use crate::epoch::Epoch;
pub use crate::error::end::End;
pub(crate) use crate::error::{Means, Outcome};
pub(crate) use byte_queue::{DirectOutput, WrittenNow};
pub use carrier::Carrier;
#[cfg(feature = "http-server")]
pub(crate) use carrier::{Carry, Carrying};
pub(crate) use clock::Clocked;
pub use delivery::{Delivery, Received, RequestTag};
pub use endpoint::{Aside, Endpoint, Finish, SessionInfo, SessionStatus, TransportEvent};
#[cfg(feature = "http-server")]
pub(crate) use extension::network_of;
pub use extension::{Extension, PeerIdentity};
pub(crate) use frame::Frame;
pub use framing::{FrameReader, Framing};
pub(crate) use input::ReadBuffer;
pub(crate) use limits::MalformedReports;
pub use limits::SharedLimits;
pub(crate) use outlet::RequestText;
pub use outlet::{MessageKind, Outgoing, Outlet, OutletNotice, Place};
pub use port::{MessagePort, PortEvent};
pub use pump::Limits;
pub(crate) use pump::{Pump, PumpEvent, after, duplicate, run};
pub use transport::Transport;
