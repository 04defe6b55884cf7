//! `sessionc guard` between clients and servers of several manners. The servers are this very program, started again: the
//! usual test harness would take what it is started with for its own, and write to the standard output of the server.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is its own harness")]

#[cfg(unix)]
mod client;
#[cfg(unix)]
mod guide;
#[cfg(unix)]
mod http;
#[cfg(unix)]
mod http_failures;
#[cfg(unix)]
mod http_guard;
#[cfg(unix)]
mod http_server;
#[cfg(unix)]
mod http_streams;
#[cfg(unix)]
mod peers;
mod server;
#[cfg(unix)]
mod stdio;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [word, manner] if word == "serve" => server::serve(manner),
        _ => run(),
    }
}

/// A test that needs nothing but this repository, or one that needs the peers in `tests/peers`.
type Test = (&'static str, fn());

#[cfg(not(unix))]
fn run() {}

/// Runs the tests that the program is started with; with `--ignored` those that need peers.
#[cfg(unix)]
fn run() {
    let trial = |(name, test): Test| {
        libtest_mimic::Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    let over_http = [&http::TESTS[..], &http_streams::TESTS, &http_failures::TESTS].concat();
    let alone = [&stdio::TESTS[..], &over_http, &guide::TESTS].concat().into_iter().map(trial);
    let with_peers = peers::TESTS.into_iter().map(|test| trial(test).with_ignored_flag(true));
    let tests = alone.chain(with_peers).collect();
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), tests).exit();
}
