//! Rounds: how a server of revision 2026-07-28 asks, and how a client answers.
//!
//! A server cannot send requests. If it needs to know more before it can answer, it answers with an
//! [`InputRequiredResult`](crate::mcp_2026_07_28::types::InputRequiredResult). The client sends its request again with what
//! was asked for: that is a round. Three requests have rounds, see [`Retry`].
//!
//! - A client calls through [`Answering`], which has a [`User`] answer what is asked, and returns the result. Without it,
//!   `client.call_tool(…)` returns each round by itself.
//! - A server that keeps calls in memory asks in the middle of a handler, with [`Rounds`] and a [`RoundAsker`].
//! - A server of which several processes share the work returns what it needs to go on as a state, which a `Seal` protects
//!   (feature `sealed-state`).
//!
//! `retry.rs` is what the three requests have in common, `declared.rs` what a client must have declared to be asked,
//! `answering.rs` is the client; `asking.rs`, `ask_error.rs`, `questions.rs`, `running.rs` and `waiting.rs` are the server that
//! keeps calls in memory; `cancelled.rs` drops the handler of a cancelled request; `seal.rs` is the state.

mod answering;
mod ask_error;
mod asking;
mod cancelled;
mod declared;
mod questions;
mod retry;
mod running;
#[cfg(feature = "sealed-state")]
mod seal;
mod waiting;

pub use answering::{Answering, RoundsError, User};
pub use ask_error::{AskError, Needs};
pub(crate) use asking::ALONE;
#[cfg(feature = "eras")]
pub(crate) use asking::asks;
pub use asking::{RoundAsker, Rounds};
#[cfg(feature = "eras")]
pub(crate) use cancelled::unless_cancelled;
pub use retry::{Answers, Questions, Retry, Round};
#[cfg(feature = "sealed-state")]
pub use seal::{Seal, SealError, SealingKey};
