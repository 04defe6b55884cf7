//! The typed server of the quickstart against a client of raw text: whatever comes, in whatever order, gets the right
//! JSON-RPC error with the id that can be read, or is reported, and the next good message works.
//!
//! Each case runs against the server as a child process, over pipes, and against the same server in memory, where its
//! reports are checked as well.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "these are tests"
)]
#![allow(missing_docs)]

mod peer;
#[path = "../../../../examples/quickstart/server.rs"]
#[allow(dead_code, reason = "the example's own entry is not used here")]
mod server;

mod batches;
mod exchanges;
mod lines;
mod phases;
