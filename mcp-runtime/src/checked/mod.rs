//! Sessions without types, for what a type cannot reach: a session in a field of a struct, a peer that is driven by
//! what comes in at run time, a protocol that is read at run time.
//!
//! In: methods and payloads. Out: the same session as the typed one, over the same engine and the same tables: what
//! the state or a capability does not permit is a [`Violation`](crate::Violation) before anything is written. Refuses nothing that the
//! typed session could do, and permits nothing that it could not.
//!
//! - `session.rs`: the value, and what can be asked of it. `named.rs`: how messages are named.
//! - `sending.rs`: requests, notifications, answers. `events.rs`: what comes.
//! - `convert.rs`: from typed to checked and back.

mod convert;
mod events;
mod named;
mod sending;
mod session;

pub use convert::{NotTyped, WhyNot};
pub use events::{Event, Payload};
pub use named::Name;
pub use session::CheckedSession;
