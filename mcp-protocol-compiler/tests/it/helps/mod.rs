//! Suggestions are followed: what a finding says to type is typed, and the finding is gone.
//!
//! `followed` applies the edits of every suggestion to the programs of `tests/diagnostics`, to the wrong examples of the
//! pages, and to those in `cases`. `random` does the same to shipped files with a mistake planted in them; how many is
//! in `HELPS_CASES`, from the seed `HELPS_SEED` on. `enumerated` holds the suggestions that the compiler's source can
//! make against those that some program was seen to get.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests say what they expect by panicking"
)]

mod corpus;
mod enumerated;
mod followed;
mod one_cause;
mod random;
mod unedited;
