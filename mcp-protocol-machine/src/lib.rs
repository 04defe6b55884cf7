//! The state machine of a two-party JSON-RPC protocol as data, and the checker that runs it.
//!
//! The compiler makes the tables ([`Protocol`]). The caller passes messages to a [`Checker`] one by one, as a
//! direction, a [`MessageIndex`](protocol::MessageIndex) and an id. The checker returns a [`Step`], or a [`Violation`]
//! that says which message arrived in which state, what is permitted there instead, and which side is to blame. The
//! crate reads no JSON, does no I/O, and has no clock and no dependencies.
//!
//! The same [`Checker`] works in two positions. An endpoint follows its own role: a message that it is about to write
//! is [`Send`](protocol::Direction::Send), a message that it has read is [`Receive`](protocol::Direction::Receive). An
//! observer in the middle, such as a log reader or a proxy, follows the server's role and passes both streams in the
//! order in which it sees them; directions are then those of the server.
//!
//! The order of messages and the form of their payloads are judged apart: [`shape::judge`] compares one payload with the
//! shape that the tables have for it.
//!
//! A state is one location for each linear channel, and the table of running exchanges, whose key is the side that sent
//! the request and the id. The time to accept a message does not depend on the number of running exchanges. The memory
//! of finished exchanges is bounded, whatever the peer sends; see [`Limits`].
#![warn(missing_docs, clippy::missing_errors_doc)]

mod bodies;
mod capability;
mod channels;
mod checker;
mod closed;
mod condition;
mod endings;
mod excerpt;
mod exchange;
mod fence;
mod grants;
mod hash;
mod history;
mod id;
mod lookup;
pub mod protocol;
mod revision;
pub mod shape;
mod sub_sessions;
mod tables;
mod trail;
mod violation;

pub use capability::{Capabilities, Said};
pub use checker::{About, Awaiting, Checker, Late, Step, StepKind};
pub use excerpt::Excerpt;
#[doc(hidden)]
pub use hash::IdTable;
pub use id::{KeyValue, Limits, RequestId, SubSessionNumber, Token};
pub use lookup::Lookup;
pub use protocol::{Capability, Protocol};
pub use sub_sessions::{Correlation, Meant};
pub use tables::{Derived, ProtocolRef, TableError};
pub use violation::{Details, Expected, Got, RoundFault, Violation, ViolationKind};
