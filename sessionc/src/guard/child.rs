//! The server as a child process: its signals and its exit code.

use std::io::{self, PipeReader, PipeWriter};
use std::process::{ExitStatus, Stdio};

use tokio::process::{Child, Command};

use crate::files::not_started;

/// A server that runs. Its standard error is that of this process.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    signals: Signals,
}

impl Server {
    /// Starts the server. Returns the writing end of its input and the reading end of its output, too.
    ///
    /// # Errors
    /// If the command is empty, or cannot be started.
    pub(super) fn start(words: &[String]) -> io::Result<(Server, PipeWriter, PipeReader)> {
        let (program, arguments) =
            words.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
        // A signal that comes from here on is passed on.
        let signals = Signals::listen()?;
        let (its_input, input) = io::pipe()?;
        let (output, its_output) = io::pipe()?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::from(its_input)).stdout(Stdio::from(its_output));
        let child = command.spawn().map_err(|error| not_started(program, &error))?;
        // The command holds the ends of the server, which must be closed when the server closes them.
        drop(command);
        Ok((Server { child, signals }, input, output))
    }

    /// Passes signals on until the server has exited.
    ///
    /// # Errors
    /// If its status cannot be had.
    pub(super) async fn exit_code(&mut self) -> io::Result<u8> {
        loop {
            tokio::select! {
                status = self.child.wait() => return status.map(exit_code),
                signal = self.signals.next() => self.signals.pass_on(signal, &self.child),
            }
        }
    }
}

/// The exit code with which a shell reports a status.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return u8::try_from(signal).unwrap_or_default().saturating_add(128);
        }
    }
    status.code().map_or(1, |code| u8::try_from(code).unwrap_or(1))
}

/// The signals that are passed on to the server. The server stays in the process group of this process, so that a signal
/// to the group reaches it also where this process cannot pass it on.
#[cfg(unix)]
#[derive(Debug)]
struct Signals {
    heard: tokio::sync::mpsc::Receiver<rustix::process::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Signals> {
        use rustix::process::Signal;
        use tokio::signal::unix::{SignalKind, signal};

        const WAITING: usize = 16;
        let (hear, heard) = tokio::sync::mpsc::channel(WAITING);
        for (kind, passed_on) in [
            (SignalKind::interrupt(), Signal::INT),
            (SignalKind::terminate(), Signal::TERM),
            (SignalKind::hangup(), Signal::HUP),
            (SignalKind::quit(), Signal::QUIT),
            (SignalKind::user_defined1(), Signal::USR1),
            (SignalKind::user_defined2(), Signal::USR2),
        ] {
            let (mut signals, hear) = (signal(kind)?, hear.clone());
            tokio::spawn(async move {
                while signals.recv().await.is_some() && hear.send(passed_on).await.is_ok() {}
            });
        }
        Ok(Signals { heard })
    }

    /// Waits for a signal. It is safe to drop the future.
    async fn next(&mut self) -> rustix::process::Signal {
        match self.heard.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }

    /// Sends a signal to a process that has not been waited for.
    fn pass_on(&self, signal: rustix::process::Signal, child: &Child) {
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        // It may have exited.
        let _ = pid.map(|pid| rustix::process::kill_process(pid, signal));
    }
}

/// On a system without signals none are passed on.
#[cfg(not(unix))]
#[derive(Debug)]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) {
        std::future::pending().await
    }

    fn pass_on(&self, (): (), _: &Child) {}
}
