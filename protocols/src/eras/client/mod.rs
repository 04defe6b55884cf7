//! The client's side: `connector.rs` finds out what a server speaks, `connected.rs` is the client that it makes, with the calls
//! of `calls.rs` and `lists.rs`, and the changes of `listening.rs`, for which `watching.rs` has the subscriptions of a session.
//! `user.rs` answers what a server of an older revision asks, and `answerers.rs` has the users of single calls.

mod answerers;
mod calls;
mod connected;
mod connector;
mod listening;
mod lists;
mod user;
mod watching;

pub use calls::{Call, MayAsk, Request};
pub use connected::Client;
pub use connector::{ConnectError, Connector};
pub use listening::Listening;
