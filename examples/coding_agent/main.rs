//! An editor and a coding agent that talk over the Agent Client Protocol.
//!
//! `cargo run --example coding_agent --features acp` starts an agent of its own as a child process and sends it a prompt.
//! `cargo run --example coding_agent --features acp -- COMMAND…` does the same with any other agent. With `-- --serve` it
//! is the agent alone, on its standard streams, for another editor.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it does")]

mod agent;
mod editor;

use std::error::Error;

use mcp_runtime::Options;
use mcp_runtime::transport::{Child, stdio};
use tokio::process::Command;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let command = match arguments.next() {
        Some(serve) if serve == "--serve" => return Ok(agent::serve(stdio(), reporting()).await?),
        Some(program) => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
        None => {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("--serve");
            command
        }
    };
    Ok(editor::run(Child::spawn(command)?, reporting()).await?)
}

/// Prints what the peer does against the protocol.
fn reporting() -> Options {
    Options::new().on_report(|report| eprintln!("{report}"))
}
