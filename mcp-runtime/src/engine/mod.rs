//! The engine of one session, without I/O and without a clock.
//!
//! Messages, instants and the ends of the transport come from one side; calls, steps and replies from the other.
//! Nothing is written that the checker refuses. The engine never waits: what cannot be done now is queued or refused,
//! or the caller's task is woken later.
//!
//! Neither a task nor a channel stands between a caller and the wire. A [`Link`] is a lock around the [`Engine`]: a
//! call locks it, is judged, and appends its line to the output. The task that reads the transport locks it, too, and
//! finished calls find their results in the table of calls.
//!
//! `state.rs` has the [`Engine`]. The [`Rules`](crate::rules::Rules) say what the protocol permits: the checker, the
//! tables in force and their index, the version. `owners/` remembers everything else: each owner is a struct with private fields
//! and an invariant in a file of its own. Neither knows the engine, whose methods sequence them. These stand in the
//! files below, in the order in which a message passes them; a file that has the name of an owner has what the rest of
//! the program does with it.
//!
//! A message of the peer:
//! - `link.rs`: the lock, and what transports see of it. `owners/context.rs`: who speaks, and where a message came from.
//! - `incoming.rs`: messages as they come; `batches.rs`: several in one list; `../rules/names.rs`: from methods to
//!   messages.
//! - `early.rs`, `late.rs`: those that the state does not accept yet, or any more.
//! - `replies.rs`: replies; `rejected.rs`: those that cannot be accepted; `abandoned.rs`: those that no task waits for.
//! - `../rules/version.rs`, `../rules/announcements.rs`, `owners/unhandled.rs`: what it announces.
//! - Who takes it: `inputs.rs` (the values of linear channels and sub-sessions), `sub_sessions.rs`, `replicated.rs`
//!   (handlers), `calls.rs` (tasks that wait for replies), `mailboxes.rs` (sessions without types); `readable.rs`: which
//!   of them has the first message. `order.rs` holds back what would overtake a message that the program has not seen;
//!   `uncorrelated.rs` has what a dropped value leaves unread.
//!
//! A message of this side:
//! - `outgoing.rs`: messages as they go; `../rules/alternatives.rs`: those that
//!   conditions tell apart; `output.rs`: how the transport takes them. `owed.rs`: whether a reply is still wanted;
//!   `closing_within.rs`: what precedes the last message of a sub-session.
//!
//! The session:
//! - `timers.rs`: what is due. `ending.rs`: closing, abandoning, the ends of the transport. `reconnect.rs`: sessions
//!   that the peer has lost; `resume.rs`: sessions that began elsewhere. `owners/trace.rs`: spans and events for `tracing`.

mod abandoned;
mod batches;
mod calls;
mod closing_within;
mod early;
mod ending;
mod incoming;
mod inputs;
mod late;
mod link;
mod mailboxes;
mod order;
mod outgoing;
mod output;
mod owed;
mod owners;
mod readable;
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
mod uncorrelated;

pub(crate) use late::Moved;
pub(crate) use link::Link;
pub(crate) use owners::context::Caller;

pub(crate) use owed::CancelOutcome;
pub(crate) use owners::calls::{Answer, Sent};
pub(crate) use owners::inputs::{Body, LinearInput, Verdict};
pub(crate) use owners::mailboxes::{MailboxId, Notice, Turn};
pub(crate) use owners::order::DispatcherKey;
#[cfg(feature = "http-server")]
pub(crate) use owners::rate::Bucket;
pub(crate) use owners::replicated::{Arrived, Scope};
pub(crate) use owners::timers::AlarmKey;
pub(crate) use owners::wakers::{OnProgress, Waiter};
pub(crate) use readable::Source;
pub(crate) use state::Engine;
pub(crate) use uncorrelated::SubSessionLeft;
