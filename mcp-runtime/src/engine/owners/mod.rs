//! What a session remembers. An owner is a struct with private fields and an invariant; the methods of the engine
//! sequence them, and none of them knows the engine.
//!
//! - `calls.rs`: the requests of this side. `owed.rs`: the requests of the peer.
//! - `inputs.rs`: linear inputs, of the linear channels and of sub-sessions. `replicated.rs`: replicated inputs.
//! - `sub_sessions.rs`: what is kept for the values of sub-sessions. `mailboxes.rs`: the events of sessions without
//!   types.
//! - `early.rs`: messages of the peer that wait for a step of this side. `batches.rs`: replies that wait for one
//!   another.
//! - `order.rs`: which messages have reached the program; `turns.rs`: how often a future has waited for that.
//! - `outbox.rs`: what was said and not written. `rate.rs`: how fast the peer may ask.
//! - `timers.rs`: the time, and what waits for it. `wakers.rs`: tasks that wait, and what is done unlocked.
//! - `context.rs`: what calls into the engine come with. `lifecycle.rs`: how far the session has come to its end. `trace.rs`: records for
//!   `tracing`. `unhandled.rs`: what handlers do not implement.

pub(super) mod batches;
pub(super) mod calls;
pub(super) mod context;
pub(super) mod early;
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
pub(super) mod wakers;
