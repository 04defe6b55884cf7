//! `sessionc trace`: judges recorded traffic.
//!
//! The protocol and logs come in; findings go out, each with its line, and a summary that says what could not be judged.
//! A log is read once, from front to back, in memory that does not grow with it.
//!
//! - `lines.rs`: the lines of a log. `formats/`: recognises how a log is written, and finds the messages in it.
//! - `direction.rs`: who sends a message, where the log does not say it. `methods.rs`: which side sends which method.
//! - `lanes.rs`: the sessions of a log. `lane.rs`: those with one name, or without. `beginnings.rs` and `reopening.rs`: where
//!   they begin. `fit.rs`: which of them a message belongs to. `doubts.rs`: what is wrong if it belongs to the other. `session.rs`: one session, judged message by message.
//!   `ending.rs`: what is found when it is over.
//! - `requests.rs`, `ids.rs` and `recent.rs`: what is remembered of requests, ids, and the client's last messages.
//!   `stream_progress.rs`: their progress in each stream. `request_faults.rs`: cancels and reports on requests that the checker
//!   accepts, and that are wrong.
//! - `causes.rs`, `unclear.rs` and `announced.rs`: one cause, one finding. `opening.rs`: what waits for the reply that opens
//!   a session. `stray_texts.rs`: texts that are not messages. `gaps.rs` and `heard.rs`: what of a session is not in the log.
//! - `refused.rs`: what a side has announced and refuses. `batch.rs`: what is in a batch that is not permitted.
//!   `without_reply.rs`: what a sub-session sends without waiting for a reply. `fallback.rs`: a server that does not speak the
//!   revision without a handshake.
//! - `finding.rs`: what is found. `wording.rs`: what findings say beyond the checker.
//! - `summary.rs`: what is counted. `log.rs`: one log from front to back. `report/`: findings as text, JSON or SARIF.

mod announced;
mod batch;
mod beginnings;
pub(crate) mod causes;
mod direction;
mod doubts;
mod ending;
mod fallback;
pub(crate) mod finding;
mod fit;
pub(crate) mod formats;
pub(crate) mod gaps;
mod heard;
mod ids;
mod lane;
mod lanes;
mod lines;
pub(crate) mod log;
pub(crate) mod methods;
mod opening;
pub(crate) mod progress;
mod recent;
mod refused;
mod reopening;
pub(crate) mod report;
pub(crate) mod request_faults;
pub(crate) mod requests;
mod session;
pub(crate) mod stray_texts;
pub(crate) mod stream_progress;
pub(crate) mod summary;
pub(crate) mod unclear;
pub(crate) mod until_interrupt;
mod without_reply;
pub(crate) mod wording;
