//! `sessionc guard` between clients and servers of several manners. The servers are this very program, started again: it
//! has no usual test harness, because that would write to the standard output of the server.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is its own harness")]

#[cfg(unix)]
mod client;
#[cfg(unix)]
mod guide;
#[cfg(unix)]
mod http;
#[cfg(unix)]
mod http_server;
#[cfg(unix)]
mod peers;
mod server;
#[cfg(unix)]
mod stdio;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [word, manner] if word == "serve" => server::serve(manner),
        _ => run(&arguments),
    }
}

/// A test that needs nothing but this repository, or one that needs the peers in `tests/peers`.
type Test = (&'static str, fn());

#[cfg(not(unix))]
fn run(_: &[String]) {}

/// Runs the tests whose names contain the filter; with `--ignored` those that need peers.
#[cfg(unix)]
fn run(arguments: &[String]) {
    let needs_peers = arguments.iter().any(|argument| argument == "--ignored");
    let filter = arguments.iter().find(|argument| !argument.starts_with('-')).map_or("", String::as_str);
    let tests: Vec<Test> = match needs_peers {
        true => peers::TESTS.to_vec(),
        false => [&stdio::TESTS[..], &http::TESTS, &guide::TESTS].concat(),
    };
    for (name, test) in tests.into_iter().filter(|(name, _)| name.contains(filter)) {
        println!("test {name} …");
        test();
    }
}
