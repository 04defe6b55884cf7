//! Fuzzes what `session::session` says.

#![no_main]

#[allow(dead_code, reason = "the other targets use the rest")]
#[path = "../../../tests/tests/robustness/choices.rs"]
mod choices;
#[path = "../../../tests/tests/robustness/session.rs"]
mod session;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| session::session(bytes));
