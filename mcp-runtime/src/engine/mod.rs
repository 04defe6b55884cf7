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
//! tables in force and their index, the version. `owners/` remembers everything else: each owner is a struct with private
//! fields and an invariant in a file of its own. Neither knows the engine, whose methods only sequence them. These stand
//! in the files below, in the order in which a message passes them. What needs one owner alone, or one with the rules, is
//! not here: callers reach the inbox through [`Engine::inbox`].
//!
//! A message of the peer:
//! - `link.rs`: the lock, and what transports see of it. `owners/context.rs`: who speaks, and where a message came from.
//! - `incoming.rs`: messages as they come, several in one list, and those that the state does not accept yet;
//!   `../rules/names.rs`: from methods to messages. `../rules/version.rs`, `../rules/announcements.rs`: what they announce.
//! - `replies.rs`: replies, and those that cannot be accepted. `refused.rs`: other messages that are not accepted, or not
//!   worked on.
//! - `placing.rs`: who takes it, and what becomes of it where that is gone or has moved on. `owners/inbox/open.rs`: how it waits
//!   and is taken.
//!
//! A message of this side:
//! - `outgoing.rs`: requests and notifications as they go; `../rules/alternatives.rs`: those that conditions tell apart.
//!   `answering.rs`: replies. `cancelling.rs`: requests that are given up, by either side. `sub_sessions.rs`: how values open
//!   and leave sub-sessions, and what precedes the last message of one.
//! - `output.rs`: how the transport takes messages, and how it learns that none follow.
//!
//! The session:
//! - `ending.rs`: closing, abandoning, the ends of the transport, and what is due. `reconnect.rs`: sessions that the peer
//!   has lost.

mod answering;
mod cancelling;
mod ending;
mod incoming;
mod link;
mod outgoing;
mod output;
mod owners;
mod placing;
mod reconnect;
mod refused;
mod replies;
mod state;
mod sub_sessions;
#[cfg(test)]
mod tests;

pub(crate) use cancelling::CancelOutcome;
pub(crate) use link::Link;
pub(crate) use owners::calls::{Answer, Sent};
pub(crate) use owners::context::Caller;
pub(crate) use owners::inbox::open::Source;
pub(crate) use owners::inputs::{Body, LinearInput, Verdict};
pub(crate) use owners::mailboxes::{MailboxId, Notice, Turn};
pub(crate) use owners::order::DispatcherKey;
#[cfg(feature = "http-server")]
pub(crate) use owners::rate::Bucket;
pub(crate) use owners::replicated::{Arrived, Scope};
pub(crate) use owners::timers::AlarmKey;
pub(crate) use owners::wakers::{OnProgress, Waiter};
pub(crate) use placing::{Moved, SubSessionLeft};
pub(crate) use state::Engine;
