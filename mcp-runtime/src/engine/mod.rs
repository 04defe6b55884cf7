//! The engine of one session, without I/O and without a clock.
//!
//! In: messages, instants and the ends of the transport from one side; calls, steps and replies from the other. Out:
//! messages to be written, payloads to be taken, tasks to be woken. Refuses whatever the checker refuses, and never
//! waits: what cannot be done now is queued, or refused, or the caller's task is woken later.
//!
//! There is no task and no channel between a caller and the wire. A [`Link`] is a lock around the [`Engine`]: a call
//! locks it, is judged, and appends its line to the output; whoever reads the transport locks it, and finished calls
//! find their results in the table of calls.
//!
//! - `link.rs`: the lock, and what transports see of it.
//! - `state.rs`: the [`Engine`], and what both directions share.
//! - `context.rs`: who speaks, and where a message came from; what its acceptance brought.
//! - `alternatives.rs`: what conditions tell apart is sent as what it is.
//! - `outgoing.rs`: requests, notifications, replies, cancellations of this side; `calls.rs`: what a call brings.
//! - `outbox.rs`: what was said and not written; `output.rs`: how the transport takes it.
//! - `incoming.rs`: messages of the peer; `batches.rs`: several in one list; `arrivals.rs`: what they become.
//! - `replies.rs`: replies of the peer; `rejected.rs`: those that this side cannot accept.
//! - `order.rs`: what has reached the program, and what waits for that.
//! - `late.rs`: what comes late, and what a value has left behind.
//! - `rate.rs`: how fast the peer may ask.
//! - `trace.rs`: spans and events for whoever listens.
//! - `timers.rs`: what waits for a time; `exchanges.rs`: linear requests that nobody waits for any more.
//! - `early.rs`: messages that wait for a step of this side.
//! - `sub_sessions.rs`: sub-sessions with a life of their own; `uncorrelated.rs`: what outlives their values.
//! - `mailboxes.rs`: what sessions without types are notified of, in the order in which it came.
//! - `questions.rs`: what may be sent.
//! - `negotiation.rs`: announcements that the program cannot work with; `unhandled.rs`: those that its handlers do not
//!   keep.
//! - `lifecycle.rs`: how far the session has come to its end; `ending.rs`: closing, abandoning, ends of the transport,
//!   time.
//! - `resume.rs`: sessions that began elsewhere; `reconnect.rs`: sessions that the peer has lost.
//! - `names.rs`: from methods to messages; `wakers.rs`: what is done outside of the lock.

mod alternatives;
mod batches;
mod calls;
mod context;
mod early;
mod ending;
mod exchanges;
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
mod questions;
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
