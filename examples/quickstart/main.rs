//! A typed MCP session from the first message to the last.
//!
//! `cargo run --example quickstart` starts a small server of its own as a child process and connects to it.
//! `cargo run --example quickstart -- COMMAND…` does the same with any other MCP server that uses standard streams.
//! `--approve yes` or `--approve no` answers the server's requests to the model without asking.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

mod client;
mod screen;
mod server;

use std::process::ExitCode;

use tokio::process::Command;

/// The command line of `quickstart`.
struct Arguments {
    approval: client::Approval,
    /// The command of the server; empty for the built-in server.
    command: Vec<String>,
    /// Whether this process *is* the built-in server.
    serve: bool,
}

const USAGE: &str = "usage: quickstart [--approve yes|no] [COMMAND…]";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(wrong) => {
            eprintln!("quickstart: {wrong}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if arguments.serve {
        return match server::serve().await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("the server's session failed: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let command = match command(&arguments) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("quickstart: cannot find its own program file: {error}");
            return ExitCode::FAILURE;
        }
    };
    match client::run(command, arguments.approval).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("quickstart: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn arguments(mut given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments { approval: client::Approval::Ask, command: Vec::new(), serve: false };
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--serve" => arguments.serve = true,
            "--approve" => {
                arguments.approval = match given.next().as_deref() {
                    Some("yes") => client::Approval::Always,
                    Some("no") => client::Approval::Never,
                    Some(other) => return Err(format!("`--approve` takes `yes` or `no`, not `{other}`")),
                    None => return Err("`--approve` takes `yes` or `no`".to_owned()),
                }
            }
            "--" => {
                arguments.command.extend(given);
                break;
            }
            flag if flag.starts_with('-') => return Err(format!("unknown flag `{flag}`")),
            _ => {
                arguments.command.push(argument);
                arguments.command.extend(given);
                break;
            }
        }
    }
    Ok(arguments)
}

/// Returns the server's command line: the given one, or this program with `--serve`.
fn command(arguments: &Arguments) -> std::io::Result<Command> {
    match arguments.command.split_first() {
        Some((program, rest)) => {
            let mut command = Command::new(program);
            command.args(rest);
            Ok(command)
        }
        None => {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("--serve");
            Ok(command)
        }
    }
}
