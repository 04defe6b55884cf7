//! Checked sessions: sessions whose state is not in their type. Use one for a session in a field of a struct, for a
//! peer that is driven at run time, or for a protocol that is read at run time.
//!
//! A checked session uses the same engine and the same tables as a typed one, and permits exactly the same messages. A
//! message that the state or a capability does not permit is a [`Violation`](crate::Violation) before anything is
//! written.
//!
//! - `session.rs`: the session value. `named.rs`: looks messages up by method.
//! - `sending.rs`: requests, notifications, answers. `events.rs`: what the session receives.
//! - `convert.rs`: from typed to checked and back.

mod convert;
mod events;
mod exchanges;
mod named;
mod sending;
mod session;

pub use convert::{NotTyped, WhyNot};
pub use events::{Event, Payload};
pub use named::Name;
pub use session::CheckedSession;
