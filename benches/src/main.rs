//! Sessions side by side in one run: this library, a hand-written floor, and `rmcp`.
//!
//! `cargo run --release` in this folder measures all cases and prints a table with ratios; `-- --quick` makes few
//! calls, to see that everything runs. Each measurement is a process of its own, kept on one core; the contestants
//! take turns, and of several rounds the best counts, for what disturbs a measurement only ever adds to it.

mod case;
mod cases;
mod checker;
mod contest;
mod echo;
mod floor;
mod floor_http;
mod floor_stateless;
mod http;
mod measure;
mod ours;
mod ours_checked;
mod ours_mcp;
mod ours_stateless;
pub mod payload;
mod report;
mod rival;
mod rival_http;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: measure::Counting = measure::Counting;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => report::all(report::Effort::Full),
        ["--quick"] => report::all(report::Effort::Quick),
        ["serve", who] => cases::serve(who),
        ["serve", who, "http"] => cases::listen(who),
        ["run", case, who, calls] => cases::run(case, who, calls),
        _ => {
            eprintln!("usage: session-benches [--quick]");
            ExitCode::from(2)
        }
    }
}
