//! The state machine of a two-party JSON-RPC protocol as data, and the checker that runs it.
//!
//! In: tables that the compiler made ([`Protocol`]), and messages, one by one, as whoever reads the wire names them:
//! a direction, a [`MessageIndex`](protocol::MessageIndex), an id. Out: a [`Step`], or a [`Violation`] that says what
//! came, in which state, what is permitted there instead, and who is to blame. Refuses to do anything else: no JSON,
//! no I/O, no clock, no dependencies.
//!
//! The same [`Checker`] serves in two positions. An endpoint follows its own role: what it is about to write is
//! [`Send`](protocol::Direction::Send), what it has read is [`Receive`](protocol::Direction::Receive). An observer in
//! the middle, a log reader or a proxy, follows the server's role and feeds both streams in the order in which it
//! sees them; directions are then the server's.
//!
//! A state is one place per linear channel plus the table of running exchanges, which is keyed by who asked and by
//! the id. Accepting a message takes time that does not depend on how many exchanges run. What is remembered of
//! finished exchanges is bounded, whatever the peer sends; see [`Limits`].
#![warn(missing_docs)]

mod capability;
mod checker;
mod condition;
mod copies;
mod endings;
mod excerpt;
mod exchange;
mod fence;
mod hash;
mod lookup;
mod memory;
pub mod protocol;
mod revision;
mod tables;
mod trail;
mod violation;

pub use capability::{Capabilities, Capability, Said};
pub use checker::{About, Awaiting, Checker, Late, Step, StepKind};
pub use copies::{CopyNumber, KeyValue, Meant, Ties};
pub use excerpt::Excerpt;
pub use exchange::{Limits, RequestId, Token};
#[doc(hidden)]
pub use hash::IdTable;
pub use lookup::Lookup;
pub use protocol::Protocol;
pub use tables::{ProtocolRef, TableError};
pub use violation::{Details, Expected, Got, Violation, ViolationKind};
