//! A proxy between an MCP client and an MCP server that use standard streams. It changes nothing, follows the session
//! with the checker alone, and reports what breaks the protocol.
//!
//! Write it before the command of the server: `cargo run --example observer -- npx -y SERVER…`. The reports go to the
//! standard error.

#![allow(clippy::print_stderr, reason = "it prints its reports")]

use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_protocols::REVISIONS;
use mcp_protocols::mcp_2025_11_25::PROTOCOL;
use mcp_runtime::Options;
use mcp_runtime::observer::Observer;
use mcp_runtime::protocol::Side;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::Command;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: observer COMMAND…");
        return ExitCode::from(2);
    };
    let mut command = Command::new(&program);
    command.args(arguments).kill_on_drop(true);
    match watch(command).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("observer: `{program}`: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the server, and passes on what the two sides write until both have ended.
async fn watch(mut command: Command) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err("its standard streams cannot be had".into());
    };
    let observer = Arc::new(Mutex::new(Observer::new(&PROTOCOL, Options::new().revisions(REVISIONS))?));
    let client = tokio::spawn(pass_on(tokio::io::stdin(), input, Side::Client, observer.clone()));
    pass_on(output, tokio::io::stdout(), Side::Server, observer.clone()).await?;
    // The server writes nothing more, so the client's messages reach nothing.
    client.abort();
    let status = server.wait().await?;
    eprintln!("observer: the session ended in {}", lock(&observer).state());
    // A task that waits for the standard input would keep the process.
    std::process::exit(status.code().unwrap_or(1))
}

/// Passes on each line of one side, and reports what is wrong with it.
async fn pass_on(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    sender: Side,
    observer: Arc<Mutex<Observer>>,
) -> std::io::Result<()> {
    let (mut from, mut line) = (BufReader::new(from), Vec::new());
    while from.read_until(b'\n', &mut line).await? > 0 {
        // Judged before it is written: the answer cannot be seen before the request.
        if !line.trim_ascii().is_empty() {
            for report in lock(&observer).observe(sender, &line).into_iter().flat_map(|it| it.reports) {
                eprintln!("observer: {sender:?}: {report}");
            }
        }
        to.write_all(&line).await?;
        to.flush().await?;
        line.clear();
    }
    to.shutdown().await
}

fn lock(observer: &Mutex<Observer>) -> std::sync::MutexGuard<'_, Observer> {
    observer.lock().unwrap_or_else(PoisonError::into_inner)
}
