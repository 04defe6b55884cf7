//! The checker: follows one role's machine through a session, message by message.
//!
//! A message that the protocol permits is a [`Step`], and the state moves. Any other message is a [`Violation`], and
//! the state does not change. Only the id of a refused request is remembered, so that the error which answers it is not
//! a second violation.
//!
//! Replies are found by their id, cancellations and reports by the request that they name: they never reach the
//! machine if that exchange is over. Everything else is looked up in the state of each linear channel.
//!
//! - `state.rs`: the type, and what it remembers. `step.rs`: what a message did.
//! - `moves.rs`: how the linear channels move.
//! - `find.rs`: the edge that a message takes. `judge.rs`: whether a message may come. `gates.rs`: whether what it needs was announced.
//! - `request.rs`, `notification.rs`, `reply.rs`: messages by their kind.
//! - `early.rs`: messages that come before a step that they wait for.
//! - `opening.rs`: what opens a sub-session. `keyed.rs`: sub-sessions with a correlation key.
//! - `late.rs`: what comes late, and until when.
//! - `withdraw.rs`: messages that did not arrive.
//! - `renew.rs`: sessions that are begun once more.
//! - `questions.rs`: queries that do not change the state; `ending.rs`: which sub-session a message would end.
//! - `report.rs`: how a refusal becomes a [`Violation`](crate::Violation).

mod early;
mod ending;
mod find;
mod gates;
mod judge;
mod keyed;
mod late;
mod moves;
mod notification;
mod opening;
mod questions;
mod renew;
mod reply;
mod report;
mod request;
mod state;
mod step;
#[cfg(test)]
pub(crate) mod tests;
mod withdraw;

pub use state::Checker;
pub use step::{About, Awaiting, Late, Step, StepKind};
