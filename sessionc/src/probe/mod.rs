//! `sessionc probe`: finds out how a server treats messages that its protocol forbids.
//!
//! The protocol and the command line come in; a list of trials goes out, one for each state and each offence, with what
//! the server did. Each trial has a session of its own: a process of its own, or an HTTP session of its own.
//!
//! - `target.rs`: the states that a client can bring a session to, and by which messages.
//! - `samples.rs`: the file with params. `payload.rs`: params that are made from the shapes.
//! - `offence.rs`: what is forbidden in a state. `wire.rs`: what is never a message, and what is hard to read.
//! - `connection/`: bytes to and from a server, over standard streams or HTTP.
//! - `session.rs`: one session, with what the protocol says of it. `walk.rs`: the way to a state.
//! - `reaction.rs`: what a server did. `listening.rs`: finds that out. `verdict.rs`: whether it is a fault.
//! - `unprompted.rs`: what a server sent by itself that the protocol does not permit.
//! - `trial.rs`: one offence in one state. `campaign.rs`: all of them. `silences.rs`: when a server no longer answers.
//!   `first_requests.rs`: whether it answers at all.
//! - `report/`: the results as a table, JSON or JUnit. `progress.rs`: how far the work is.

pub(crate) mod campaign;
pub(crate) mod connection;
mod first_requests;
mod fits;
mod head;
mod listening;
mod misshapen;
mod offence;
mod payload;
mod progress;
mod reaction;
pub(crate) mod report;
pub(crate) mod samples;
mod session;
mod silences;
mod target;
mod trial;
pub(crate) mod unprompted;
mod verdict;
mod walk;
mod wire;
