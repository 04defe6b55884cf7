//! Fuzzes what `targets::lexer` says.

#![no_main]

#[allow(dead_code, reason = "the other targets use the rest")]
#[path = "../../tests/robustness/grammar.rs"]
mod grammar;
#[allow(dead_code, reason = "the other targets use the rest")]
#[path = "../../tests/robustness/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::lexer(bytes));
