//! The checker of `mcp-protocol-machine` against the meaning of session types.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests say what they expect by panicking"
)]

mod event;
mod judging;
mod mistakes;
mod parties;
mod protocols;
mod random;
mod reading;
mod shipped;
mod sources;
mod world;
