//! Fuzzes what `streams::streams` says.

#![no_main]

#[allow(dead_code, reason = "the other targets use the rest")]
#[path = "../../../tests/tests/robustness/choices.rs"]
mod choices;
#[path = "../../../tests/tests/robustness/streams.rs"]
mod streams;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| streams::streams(bytes));
