//! The checker of `mcp-protocol-machine` against the meaning of session types.
//!
//! Random protocols go through the compiler; two programs that follow the *text* talk over queues, and what three
//! observers see, with and without a mistake planted, is judged twice: by the checker with the tables, and by an
//! observer that knows the text alone. `reading` is what a text means, `parties` are the programs, `world` is the
//! observer, `judging` compares.
//!
//! A failing case prints its seed, the protocol and the session, in the form in which `cases` keeps them. `CHECKER_SEED` and `CHECKER_CASES` choose the random
//! protocols, `CHECKER_WALKS` says how often each protocol of the project is walked, `CHECKER_FINDINGS` shows why the
//! compiler refuses some of the random texts, and `CHECKER_STEPS` both verdicts on every message. A long run is
//! `CHECKER_CASES=20000 cargo test --release -p mcp-protocol-compiler --test checker -- --nocapture`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests say what they expect by panicking"
)]

mod cases;
mod during;
mod event;
mod granted;
mod judging;
mod mistakes;
mod parties;
mod protocols;
mod random;
mod reading;
mod reused_ids;
#[path = "../support/shipped.rs"]
mod session_files;
mod shipped;
mod sources;
mod world;
