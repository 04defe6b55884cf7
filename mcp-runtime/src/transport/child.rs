//! A child process whose standard input and output carry the session.
//!
//! In comes a [`Command`]; out comes a running [`Child`], a transport. At the end of the session it goes through the
//! shutdown that the lifecycle document asks for: close its input, wait, `SIGTERM`, wait, `SIGKILL`. It refuses to
//! leave a process behind: whatever happens to the session or to the future that carries it, the child is made to
//! exit and is waited for. On Unix the child leads a process group of its own, which ends with it.

mod builder;
mod environment;
mod errors;
mod group;
mod process;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::Instant;

pub use builder::{ChildBuilder, SpawnError};
pub use environment::ENVIRONMENT;

use self::errors::LinesTask;
use self::process::{Exit, Process};
use crate::driver::{End, Endpoint, Framing, Input, Means, Outcome, Pump, PumpEvent, Transport, after};

/// How long each step of a child's shutdown may take before the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownTimes {
    /// For the child to read the last messages, from when the session has finished. Default 2 s.
    pub flush: Duration,
    /// For the child to exit, from when its input was closed; then comes `SIGTERM`. Default 2 s.
    pub after_eof: Duration,
    /// For the child to exit, from when it was sent `SIGTERM`; then comes `SIGKILL`. As long has what the child has
    /// started and left behind, once the child has exited. Default 2 s. Not used where there are no signals: there the
    /// child is killed at once.
    pub after_terminate: Duration,
    /// For what is left in the output of a child that has exited. Usually nothing is waited for: only a process that
    /// the child has started, and that still holds the pipe, can take this long. As long is a child that takes no
    /// more input given to exit, so that the session can be told of that and not of a broken pipe. Default 500 ms.
    pub linger: Duration,
}

impl Default for ShutdownTimes {
    fn default() -> Self {
        Self {
            flush: Duration::from_secs(2),
            after_eof: Duration::from_secs(2),
            after_terminate: Duration::from_secs(2),
            linger: Duration::from_millis(500),
        }
    }
}

/// How long the exit status of a child that has closed its output is waited for, so that the session can be told that
/// the child has exited rather than only that there will be no more messages.
const GRACE: Duration = Duration::from_millis(100);

/// A running child process, not yet connected to a session.
///
/// Dropping it kills the process.
pub struct Child {
    process: Process,
    input: ChildStdin,
    output: ChildStdout,
    errors: Option<LinesTask>,
    framing: Framing,
    times: ShutdownTimes,
}

impl Child {
    /// Starts `command` with default settings: its error output is this process's own, and of this process's
    /// environment it gets the variables of [`ENVIRONMENT`] alone.
    ///
    /// Must be called on a tokio runtime with I/O and time enabled.
    pub fn spawn(command: impl Into<Command>) -> Result<Child, SpawnError> {
        ChildBuilder::new(command).spawn()
    }

    /// Settings for a child to start.
    pub fn builder(command: impl Into<Command>) -> ChildBuilder {
        ChildBuilder::new(command)
    }

    /// The process id, unless the child has been seen to exit.
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Child")
            .field("id", &self.id())
            .field("framing", &self.framing)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

impl Transport for Child {
    async fn run(self, endpoint: Arc<dyn Endpoint>) {
        let Child { mut process, input, output, errors, framing, times } = self;
        let mut pump = Pump::new(endpoint, Input::new(output), input, framing);
        let outcome = carry(&mut pump, &mut process, &times).await;
        process.end_group(times.after_terminate).await;
        if let Some(errors) = errors {
            errors.finish(times.linger).await;
        }
        pump.terminate(outcome);
    }
}

/// How far the shutdown has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
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

impl Stage {
    /// What made a child exit that did so in this stage.
    fn means(self) -> Means {
        match self {
            Stage::Talking | Stage::Flushing => Means::Nothing,
            Stage::Closed => Means::EndOfInput,
            Stage::Terminated => Means::Terminate,
            Stage::Killed => Means::Kill,
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
async fn carry(
    pump: &mut Pump<Input<ChildStdout>, ChildStdin>,
    process: &mut Process,
    times: &ShutdownTimes,
) -> Outcome {
    let mut stage = Stage::Talking;
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
                    (Stage::Flushing, after(Some(times.flush)))
                } else {
                    (Stage::Closed, after(Some(times.after_eof)))
                };
            }
            Wake::Pump(PumpEvent::OutputClosed) if stage == Stage::Flushing => {
                pump.report_failure();
                (stage, stage_over) = (Stage::Closed, after(Some(times.after_eof)));
            }
            // Writing has failed while the session goes on; the child may still have something to say.
            Wake::Pump(PumpEvent::OutputClosed) => failure_over = after(Some(times.linger)),
            Wake::Pump(PumpEvent::InputEnded(end)) => {
                ended = Some(end);
                grace_over = after(Some(GRACE));
            }
            Wake::Pump(PumpEvent::Abandoned) => {
                abandoned = true;
                (stage, stage_over) = (Stage::Closed, after(Some(times.after_eof)));
            }
            Wake::Exited(exit) => {
                exited = Some((exit, stage.means()));
                linger_over = after(Some(times.linger));
            }
            Wake::StageOver => match advance(stage, pump, process) {
                Ok(next) => {
                    stage = next;
                    stage_over = match next {
                        Stage::Closed => after(Some(times.after_eof)),
                        Stage::Terminated => after(Some(times.after_terminate)),
                        Stage::Talking | Stage::Flushing | Stage::Killed => None,
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
    stage: Stage,
    pump: &mut Pump<Input<ChildStdout>, ChildStdin>,
    process: &mut Process,
) -> std::io::Result<Stage> {
    match stage {
        Stage::Talking | Stage::Flushing => {
            pump.give_up_writing();
            Ok(Stage::Closed)
        }
        Stage::Closed if process.terminate() => Ok(Stage::Terminated),
        Stage::Closed | Stage::Terminated | Stage::Killed => {
            process.kill()?;
            Ok(Stage::Killed)
        }
    }
}

/// Waits for `deadline`, or for ever if there is none.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
