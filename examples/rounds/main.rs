//! An MCP server of the revision without a handshake, which asks, and a client that answers.
//!
//! `cargo run --example rounds --features rounds` starts the server as a child process and calls its tools; with
//! `-- COMMAND…` behind it, it starts another one. With `-- --serve` it is the server alone, on standard streams, for any client
//! of revision 2026-07-28.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

mod client;
mod server;

use std::process::ExitCode;

use mcp_runtime::transport::{Child, stdio};
use tokio::process::Command;

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let done = match arguments.next() {
        Some(flag) if flag == "--serve" => server::serve(stdio()).await.map_err(Into::into),
        Some(flag) if flag.starts_with('-') => {
            eprintln!("rounds: unknown flag `{flag}`\nusage: rounds [--serve | COMMAND…]");
            return ExitCode::from(2);
        }
        program => run(program, arguments).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rounds: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Calls the tools of a server: of this program, if no other is named.
async fn run(
    program: Option<String>,
    arguments: impl Iterator<Item = String>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut command = match program {
        Some(program) => Command::new(program),
        None => {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("--serve");
            command
        }
    };
    command.args(arguments);
    for line in client::run(Child::spawn(command)?, client::Ada).await? {
        println!("{line}");
    }
    Ok(())
}
