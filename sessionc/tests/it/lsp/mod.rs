//! `sessionc lsp` with an editor that is written in the types of `lsp-protocols`, as an editor starts it: a process that
//! talks over its standard streams.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail the test"
)]

mod diagnostics;
mod editing;
mod editor;
mod navigation;
mod page;
mod peer;
mod session;
mod vscode;
