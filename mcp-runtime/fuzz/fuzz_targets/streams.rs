//! Fuzzes what `streams::streams` says.

#![no_main]

#[allow(dead_code, reason = "the other targets use the rest")]
#[path = "../../../tests/tests/robustness/choices.rs"]
mod choices;
#[allow(dead_code, reason = "the tests of HTTP use the rest")]
#[path = "../../../tests/src/http/test_server.rs"]
mod test_server;
#[path = "../../../tests/tests/robustness/streams.rs"]
mod streams;
#[allow(dead_code, reason = "the tests of HTTP use the rest")]
#[path = "../../../tests/src/http/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| streams::streams(bytes));
