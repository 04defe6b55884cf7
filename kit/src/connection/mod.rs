//! Programs that call servers: `options.rs` says what a program can do and connects, `handlers.rs` answers what servers ask, and
//! `forms.rs` finds the type of a form.
//!
//! `connected.rs` is the connection. `calls.rs` calls tools, with `arguments.rs`, `pages.rs` lists what the server has, and `passed_on.rs` passes
//! calls on. `lists.rs` has lists that are refreshed, and `subscriptions.rs` the changes of resources; both listen with
//! `renewed.rs`, which subscribes again. The client that a *server's* tool asks is in `server/client.rs`.

mod arguments;
mod calls;
mod connected;
mod forms;
mod handlers;
mod lists;
mod options;
mod pages;
mod passed_on;
mod passed_on_changes;
mod passed_on_resources;
mod renewed;
mod subscriptions;

pub use calls::{Call, CallError};
pub use connected::Connection;
pub use handlers::Handlers;
pub use lists::{Entry, LiveList};
pub use options::ConnectOptions;
pub use subscriptions::Subscription;
