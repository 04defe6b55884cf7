//! Carries the session of a child, and shuts the child down.

use std::sync::Arc;
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::Instant;

use super::process::{Exit, Process};
use crate::driver::{End, Means, Outcome, Pump, PumpEvent, ReadBuffer, after};

/// How long each step of a child's shutdown may take before the next one.
///
/// ```
/// use std::time::Duration;
/// use mcp_runtime::transport::ShutdownTimes;
///
/// // A server that saves its notes when its input ends.
/// let times = ShutdownTimes::new().after_eof(Duration::from_secs(30));
/// assert_eq!(times.linger, Duration::from_millis(500));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownTimes {
    /// For the child to read the last messages, after the session has finished. Default 2 s.
    pub flush: Duration,
    /// For the child to exit after its input was closed; then comes `SIGTERM`. Default 2 s.
    pub after_eof: Duration,
    /// For the child to exit after `SIGTERM`; then comes `SIGKILL`. Processes that the child has left behind have as
    /// long, once the child has exited. Default 2 s. Systems without signals kill the child at once.
    pub after_terminate: Duration,
    /// For reading the rest of the output of a child that has exited. Only a process that the child has started, and
    /// that still holds the pipe, can take this long. A child that closes its input has as long to exit, so that the
    /// session ends with its exit status and not with a broken pipe. Default 500 ms.
    pub linger: Duration,
}

impl ShutdownTimes {
    /// Returns the default times.
    pub const fn new() -> ShutdownTimes {
        ShutdownTimes {
            flush: Duration::from_secs(2),
            after_eof: Duration::from_secs(2),
            after_terminate: Duration::from_secs(2),
            linger: Duration::from_millis(500),
        }
    }

    /// Sets [`flush`](Self::flush).
    #[must_use]
    pub const fn flush(mut self, time: Duration) -> ShutdownTimes {
        self.flush = time;
        self
    }

    /// Sets [`after_eof`](Self::after_eof).
    #[must_use]
    pub const fn after_eof(mut self, time: Duration) -> ShutdownTimes {
        self.after_eof = time;
        self
    }

    /// Sets [`after_terminate`](Self::after_terminate).
    #[must_use]
    pub const fn after_terminate(mut self, time: Duration) -> ShutdownTimes {
        self.after_terminate = time;
        self
    }

    /// Sets [`linger`](Self::linger).
    #[must_use]
    pub const fn linger(mut self, time: Duration) -> ShutdownTimes {
        self.linger = time;
        self
    }
}

impl Default for ShutdownTimes {
    fn default() -> ShutdownTimes {
        ShutdownTimes::new()
    }
}

/// How long to wait for the exit status of a child that has closed its output, so that the session can end with that
/// status.
const GRACE: Duration = Duration::from_millis(100);

/// How far the shutdown has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShutdownStage {
    /// The session is running.
    Talking,
    /// The session has finished; its last messages are being written.
    Flushing,
    /// The child's input is closed.
    Closed,
    /// `SIGTERM` was sent.
    Terminated,
    /// `SIGKILL` was sent.
    Killed,
}

impl ShutdownStage {
    /// What made a child exit that did so in this stage.
    fn means(self) -> Means {
        match self {
            ShutdownStage::Talking | ShutdownStage::Flushing => Means::Nothing,
            ShutdownStage::Closed => Means::EndOfInput,
            ShutdownStage::Terminated => Means::Terminate,
            ShutdownStage::Killed => Means::Kill,
        }
    }
}

/// What the loop of [`carry`] wakes up for.
enum Wake {
    Pump(PumpEvent),
    Exited(Exit),
    /// The present stage has had its time.
    StageOver,
    /// The child has closed its output and not exited since.
    GraceOver,
    /// The child has exited, and something else still holds its output.
    LingerOver,
    /// The child takes no more input and has not exited since.
    FailureOver,
}

/// Runs the session and the shutdown; returns once the child was waited for and its output is drained.
pub(super) async fn carry(
    pump: &mut Pump<ReadBuffer<ChildStdout>, ChildStdin>,
    process: &mut Process,
    times: &ShutdownTimes,
) -> Outcome {
    let mut stage = ShutdownStage::Talking;
    let mut stage_over = None;
    let mut grace_over = None;
    let mut linger_over = None;
    let mut failure_over = None;
    let mut ended = None;
    let mut exited: Option<(Exit, Means)> = None;
    let mut abandoned = false;
    loop {
        if let Some((exit, after)) = &exited
            && (!pump.is_reading() || abandoned)
        {
            pump.report_end(exit.as_end());
            return exit.as_outcome(*after);
        }
        let wake = tokio::select! {
            biased;
            event = pump.next(), if !abandoned => Wake::Pump(event),
            exit = process.wait(), if exited.is_none() => Wake::Exited(exit),
            () = until(stage_over), if exited.is_none() => Wake::StageOver,
            () = until(grace_over) => Wake::GraceOver,
            () = until(linger_over) => Wake::LingerOver,
            () = until(failure_over) => Wake::FailureOver,
        };
        match wake {
            Wake::Pump(PumpEvent::Finishing) => {
                (stage, stage_over) = if pump.is_writing() {
                    (ShutdownStage::Flushing, after(Some(times.flush)))
                } else {
                    (ShutdownStage::Closed, after(Some(times.after_eof)))
                };
            }
            Wake::Pump(PumpEvent::OutputClosed) if stage == ShutdownStage::Flushing => {
                pump.report_failure();
                (stage, stage_over) = (ShutdownStage::Closed, after(Some(times.after_eof)));
            }
            // Writing has failed while the session goes on; the child may still have something to say.
            Wake::Pump(PumpEvent::OutputClosed) => failure_over = after(Some(times.linger)),
            Wake::Pump(PumpEvent::InputEnded(end)) => {
                ended = Some(end);
                grace_over = after(Some(GRACE));
            }
            Wake::Pump(PumpEvent::Abandoned) => {
                abandoned = true;
                (stage, stage_over) = (ShutdownStage::Closed, after(Some(times.after_eof)));
            }
            Wake::Exited(exit) => {
                exited = Some((exit, stage.means()));
                linger_over = after(Some(times.linger));
            }
            Wake::StageOver => match advance(stage, pump, process) {
                Ok(next) => {
                    stage = next;
                    stage_over = match next {
                        ShutdownStage::Closed => after(Some(times.after_eof)),
                        ShutdownStage::Terminated => after(Some(times.after_terminate)),
                        ShutdownStage::Talking | ShutdownStage::Flushing | ShutdownStage::Killed => None,
                    };
                }
                // The process cannot be made to exit, for want of a permission perhaps. `Process` goes on waiting for
                // it, so that the session need not.
                Err(error) => {
                    pump.report_end(ended.unwrap_or(End::GaveUp));
                    return Outcome::Failed(Arc::new(error));
                }
            },
            Wake::GraceOver => {
                grace_over = None;
                pump.report_end(ended.take().unwrap_or(End::Eof));
            }
            Wake::FailureOver => {
                failure_over = None;
                pump.report_failure();
            }
            Wake::LingerOver => {
                linger_over = None;
                // Dropping the reader ends the loop.
                if let Some((exit, _)) = &exited {
                    pump.report_end(exit.as_end());
                }
            }
        }
    }
}

/// Takes the next step of the shutdown.
fn advance(
    stage: ShutdownStage,
    pump: &mut Pump<ReadBuffer<ChildStdout>, ChildStdin>,
    process: &mut Process,
) -> std::io::Result<ShutdownStage> {
    match stage {
        ShutdownStage::Talking | ShutdownStage::Flushing => {
            pump.give_up_writing("ShutdownTimes::flush");
            Ok(ShutdownStage::Closed)
        }
        ShutdownStage::Closed if process.terminate() => Ok(ShutdownStage::Terminated),
        ShutdownStage::Closed | ShutdownStage::Terminated | ShutdownStage::Killed => {
            process.kill()?;
            Ok(ShutdownStage::Killed)
        }
    }
}

/// Waits for `deadline`, or indefinitely without one.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
