//! A running child as a transport.

use std::fmt;
use std::sync::Arc;

use tokio::process::{ChildStdin, ChildStdout};

use super::errors::LinesTask;
use super::process::Process;
use super::shutdown::{ShutdownTimes, carry};
use crate::driver::{Endpoint, Framing, Pump, ReadBuffer, Transport};

/// A running child process, not yet connected to a session.
///
/// Dropping it kills the process.
pub struct Child {
    pub(super) process: Process,
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
    pub(super) errors: Option<LinesTask>,
    pub(super) framing: Framing,
    pub(super) times: ShutdownTimes,
}

impl Child {
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
        let mut pump = Pump::new(endpoint, ReadBuffer::new(output), input, framing);
        let outcome = carry(&mut pump, &mut process, &times).await;
        process.end_group(times.after_terminate).await;
        if let Some(errors) = errors {
            errors.finish(times.linger).await;
        }
        pump.terminate(outcome);
    }
}
