//! What a session remembers. An owner is a struct with private fields and an invariant; the methods of the engine
//! sequence them, and none of them knows the engine.
//!
//! - `inbox.rs`: what has come and the program has not taken. `inbox/open.rs`: how it is put there and taken, and
//!   `inbox/open_calls.rs`: the same for calls. Its parts are
//!   - `dispatch.rs`: what handlers take, which has `replicated.rs`: replicated inputs, and `order.rs`: which messages have
//!     reached the program; `turns.rs`: how often a future has waited for that;
//!   - `values.rs`: what values take, which has `inputs.rs`: a queue of linear inputs, and `sub_sessions.rs`: what is kept
//!     for the values of sub-sessions;
//!   - `calls.rs`: the requests of this side; `mailboxes.rs`: the events of sessions without types; `early.rs`: messages
//!     that wait for a step of this side.
//! - `owed.rs`: the requests of the peer; `batches.rs`: replies that wait for one another; `rate.rs`: how fast the peer may
//!   ask.
//! - `outbox.rs`: what was said and not written.
//! - `timers.rs`: the time, and what waits for it. `wakers.rs`: tasks that wait, and what is done unlocked.
//! - `lifecycle.rs`: how the session began, and how far it has come to its end.
//! - `context.rs`: what calls into the engine come with. `trace.rs`: records for `tracing`. `unhandled.rs`: what handlers do
//!   not implement.

pub(super) mod batches;
pub(super) mod calls;
pub(super) mod context;
pub(super) mod dispatch;
pub(super) mod early;
pub(super) mod inbox;
pub(super) mod inputs;
pub(super) mod lifecycle;
pub(super) mod mailboxes;
pub(super) mod order;
pub(super) mod outbox;
pub(super) mod owed;
pub(super) mod rate;
pub(super) mod replicated;
pub(super) mod sub_sessions;
pub(super) mod timers;
pub(super) mod trace;
pub(super) mod turns;
pub(super) mod unhandled;
pub(super) mod values;
pub(super) mod wakers;
