//! The checker of `mcp-protocol-machine` against the meaning of session types.
//!
//! Random protocols go through the compiler; two programs that follow the *text* talk over queues, and what three
//! observers see, with and without a mistake planted, is judged twice: by the checker with the tables, and by an
//! observer that knows the text alone. `reading` is what a text means, `parties` are the programs, `world` is the
//! observer, `judging` compares.
//!
//! A failing case prints its seed, the protocol and the session. `CHECKER_SEED` and `CHECKER_CASES` choose the random
//! protocols, `CHECKER_WALKS` says how often each protocol of the project is walked, and `CHECKER_FINDINGS` shows why
//! the compiler refuses some of the random texts. A long run is
//! `CHECKER_CASES=20000 cargo test --release -p mcp-protocol-compiler --test checker -- --nocapture`.
//!
//! Two cases are open, both with seed 4992. In a random protocol a request goes on with a copy after the other side has
//! taken back what opened it and refused the step before: it crossed both, so the observer calls it late; the checker
//! has forgotten the copy and refuses it. And the observer knows no open keys: in the shipped `mcp-2025-11-25.session`
//! it refuses to let `tasks/result` for a task that nobody knows stand alone, which the checker rightly does.

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
