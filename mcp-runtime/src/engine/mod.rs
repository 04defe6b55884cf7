//! The engine of one session, without I/O and without a clock.
//!
//! Messages, instants and the ends of the transport come from one side; calls, steps and replies from the other. Nothing
//! is written that the checker refuses. The engine never waits: what cannot be done now is queued or refused, or the
//! caller's task is woken later.
//!
//! There is no task and no channel between a caller and the wire. A [`Link`] is a lock around the [`Engine`]: a call
//! locks it, is judged, and appends its line to the output. The task that reads the transport locks it, too, and
//! finished calls find their results in the table of calls.
//!
//! `state.rs` has the [`Engine`]: a checker, and owners of everything else. An owner is a struct with private fields and an
//! invariant; the methods of the engine sequence them.
//!
//! Owners, each in a file of its own:
//! - `calls.rs`: the requests of this side. `owed.rs`: the requests of the peer.
//! - `inputs.rs`: linear inputs, of the linear channels and of sub-sessions. `replicated.rs`: replicated inputs.
//! - `sub_sessions.rs`: what is kept for the values of sub-sessions. `mailboxes.rs`: the events of sessions without types.
//! - `early.rs`: messages of the peer that wait for a step of this side. `batches.rs`: several messages in one list.
//! - `order.rs`: which messages have reached the program. `rate.rs`: how fast the peer may ask.
//! - `outbox.rs`: what was said and not written. `timers.rs`: the time, and what waits for it.
//! - `negotiation.rs`: the version, and announcements that the program cannot work with. `unhandled.rs`: announcements
//!   without a handler.
//! - `lifecycle.rs`: how far the session has come to its end. `wakers.rs`: tasks that wait, and what is done unlocked.
//!
//! Messages on their way:
//! - `link.rs`: the lock, and what transports see of it. `context.rs`: who speaks, and where a message came from.
//! - `incoming.rs`: messages of the peer. `replies.rs`: its replies; `rejected.rs`: those that cannot be accepted;
//!   `abandoned.rs`: those that no task waits for.
//! - `late.rs`: messages that come too late. `uncorrelated.rs`: inputs of sub-sessions whose value is gone.
//! - `outgoing.rs`: messages of this side; `alternatives.rs`: those that conditions tell apart; `output.rs`: how the
//!   transport takes them.
//! - `permissions.rs`: what may be sent. `names.rs`: from methods to messages.
//! - `ending.rs`: closing, abandoning, the ends of the transport. `reconnect.rs`: sessions that the peer has lost.
//!   `resume.rs`: sessions that began elsewhere.
//! - `trace.rs`: spans and events for `tracing`.

mod abandoned;
mod alternatives;
mod batches;
mod calls;
mod context;
mod early;
mod ending;
mod incoming;
mod inputs;
mod late;
mod lifecycle;
mod link;
mod mailboxes;
mod names;
mod negotiation;
mod order;
mod outbox;
mod outgoing;
mod output;
mod owed;
mod permissions;
mod rate;
mod reconnect;
mod rejected;
mod replicated;
mod replies;
mod resume;
mod state;
mod sub_sessions;
#[cfg(test)]
mod tests;
mod timers;
mod trace;
mod uncorrelated;
mod unhandled;
mod wakers;

pub(crate) use calls::{Answer, Sent};
pub(crate) use context::Caller;
pub(crate) use inputs::{Body, LinearInput, Verdict};
pub(crate) use late::Moved;
pub(crate) use link::Link;
pub(crate) use mailboxes::{MailboxId, Notice, Turn};
pub(crate) use names::{id_at, to_be_read};
pub(crate) use order::DispatcherKey;
#[cfg(feature = "http-server")]
pub(crate) use rate::Bucket;
pub(crate) use replicated::Arrived;
pub(crate) use state::Engine;
pub(crate) use timers::AlarmKey;
pub(crate) use uncorrelated::SubSessionLeft;
pub(crate) use wakers::{OnProgress, Waiter};
