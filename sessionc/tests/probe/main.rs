//! `sessionc probe` and servers that treat offences in different ways. The servers are this very program, started again:
//! the usual test harness would take what it is started with for its own, and write to the standard output of the server.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is its own harness")]

mod answers;
mod guide;
mod http;
mod server;
mod tests;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [word, manner] if word == "serve" => server::serve(manner),
        _ => tests::run(),
    }
}
