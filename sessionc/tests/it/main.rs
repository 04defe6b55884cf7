//! The program as a user runs it, command by command.

mod commands;
mod compat;
mod formats;
mod guide;
mod lsp;
mod new;
mod pictures;
mod probed;
mod program;
#[path = "../../../mcp-protocol-compiler/tests/checker/random.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "the checker's oracle uses the rest, and tests may fail by panicking"
)]
mod random;
mod review;
mod robustness;
mod shipped;
mod spoken;
#[path = "../../../mcp-protocol-compiler/tests/verified/texts/mod.rs"]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests say what they expect by panicking, and so do the texts that they share"
)]
mod texts;
mod trace;
mod verdicts;
