//! `sessionc guard`: stands between a client and a server, and judges what passes.
//!
//! The protocol and the command line come in, then the bytes of both sides; the same bytes go out, or errors in place of
//! what is refused. Reports and a record take a way of their own.
//!
//! - `head.rs`: the id and the method of a message. `judge.rs`: what the protocol says of it, and what becomes of it.
//! - `record.rs`, `report.rs`: what is written down. `repeated.rs`: what is reported once. `session.rs`: judging,
//!   recording and reporting together.
//! - `frames.rs`: messages in a stream, with their bytes. `outlet.rs`: the way to a side. `streams.rs`: the standard
//!   streams of this process. `child.rs`: the server, its signals and its exit code. `stdio.rs`: all of these.
//! - `http/`: the same for a server over HTTP.

mod child;
mod frames;
mod head;
pub(crate) mod http;
pub(crate) mod judge;
mod outlet;
pub(crate) mod record;
mod repeated;
pub(crate) mod report;
pub(crate) mod session;
pub(crate) mod stdio;
mod streams;
