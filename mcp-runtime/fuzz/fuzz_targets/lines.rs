//! Fuzzes what `readers::lines` says.

#![no_main]

#[allow(dead_code, reason = "the other targets use the rest")]
#[path = "../../../tests/tests/robustness/choices.rs"]
mod choices;
#[allow(dead_code, reason = "the other targets use the rest")]
#[path = "../../../tests/tests/robustness/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::lines(bytes));
