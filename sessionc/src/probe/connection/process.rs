//! A server that is started for one session, over its standard streams.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use mcp_runtime::driver::Framing;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::arrival::{Arrival, Ending, READ_AHEAD};
use super::frames::next;
use crate::files::not_started;
use crate::framed::framed;

/// How much of the standard error is kept, in bytes.
const KEPT_OF_STDERR: usize = 2048;
/// How long a process may take to exit after it has closed its output, and to close its standard error at the end.
const GRACE: Duration = Duration::from_secs(1);

/// A process of the server, with the tasks that read and write its streams. They end with its streams.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    framing: Framing,
    /// Dropped, it closes the standard input.
    input: Option<mpsc::UnboundedSender<Vec<u8>>>,
    output: mpsc::Receiver<io::Result<Vec<u8>>>,
    errors: JoinHandle<String>,
    sent: u64,
}

impl Process {
    /// Starts the server.
    ///
    /// # Errors
    /// If the command is empty, or cannot be started.
    pub(super) fn start(words: &[String], framing: Framing) -> io::Result<Process> {
        let (program, arguments) =
            words.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().map_err(|error| not_started(program, &error))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(io::Error::other("the process has no standard streams"));
        };
        // The probe sends a few messages in each session, so the queue stays short.
        let (input, to_write) = mpsc::unbounded_channel();
        let (read, output) = mpsc::channel(READ_AHEAD);
        tokio::spawn(write(stdin, to_write));
        tokio::spawn(read_messages(framing, stdout, read));
        let errors = tokio::spawn(last_of(stderr));
        Ok(Process { child, framing, input: Some(input), output, errors, sent: 0 })
    }

    pub(super) fn send(&mut self, bytes: Vec<u8>) -> u64 {
        // A server that has closed its input shows that at the end of its output.
        let _ = self.input.as_ref().map(|input| input.send(framed(self.framing, &bytes)));
        self.sent += 1;
        self.sent
    }

    pub(super) async fn receive(&mut self) -> Arrival {
        match self.output.recv().await {
            Some(Ok(message)) => Arrival::Message(0, message),
            Some(Err(error)) => Arrival::Ended(Ending::Unreadable(error.to_string())),
            None => match timeout(GRACE, self.child.wait()).await {
                Ok(Ok(status)) => Arrival::Ended(ending(status)),
                _ => Arrival::Ended(Ending::Closed),
            },
        }
    }

    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Closes the input, and kills a process that does not exit then until a deadline.
    pub(super) async fn end(mut self, deadline: Instant) -> String {
        self.close_input();
        if timeout_at(deadline, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
        // A process that it has started may hold the stream open.
        timeout(GRACE, self.errors).await.ok().and_then(Result::ok).unwrap_or_default()
    }
}

fn ending(status: ExitStatus) -> Ending {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return Ending::Killed(signal);
        }
    }
    Ending::Exited(status.code().unwrap_or_default())
}

async fn write(mut stdin: ChildStdin, mut messages: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(message) = messages.recv().await {
        if stdin.write_all(&message).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn read_messages(framing: Framing, stdout: ChildStdout, read: mpsc::Sender<io::Result<Vec<u8>>>) {
    let mut reader = BufReader::new(stdout);
    while let Some(message) = next(framing, &mut reader).await.transpose() {
        let failed = message.is_err();
        if read.send(message).await.is_err() || failed {
            return;
        }
    }
}

/// The end of what a process writes on its standard error.
async fn last_of(mut stderr: ChildStderr) -> String {
    let (mut kept, mut buffer) = (Vec::new(), [0; 1024]);
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let surplus = kept.len().saturating_sub(KEPT_OF_STDERR);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}
