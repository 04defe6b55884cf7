//! One child process, from its start until it was waited for.
//!
//! In comes a started child; out comes its exit. It refuses to be forgotten: if it is dropped first, the child is
//! killed, and waited for in the background.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use crate::driver::{End, Means, Outcome, duplicate};

/// How a process has ended, or why that could not be learned.
#[derive(Debug)]
pub(super) struct Exit(io::Result<ExitStatus>);

impl Exit {
    pub(super) fn as_end(&self) -> End {
        match &self.0 {
            Ok(status) => End::Exited(*status),
            Err(error) => End::Failed(duplicate(error)),
        }
    }

    pub(super) fn as_outcome(&self, after: Means) -> Outcome {
        match &self.0 {
            Ok(status) => Outcome::Exited { status: *status, after },
            Err(error) => Outcome::Failed(Arc::new(duplicate(error))),
        }
    }
}

pub(super) struct Process {
    /// Nothing once the child was waited for.
    child: Option<tokio::process::Child>,
}

impl Process {
    pub(super) fn new(child: tokio::process::Child) -> Self {
        Self { child: Some(child) }
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.child.as_ref().and_then(tokio::process::Child::id)
    }

    /// Waits for the exit; to be called until it returns, and not again. Dropping the future loses nothing.
    pub(super) async fn wait(&mut self) -> Exit {
        let Some(child) = &mut self.child else { return std::future::pending().await };
        let result = child.wait().await;
        self.child = None;
        Exit(result)
    }

    /// Asks the process to terminate; false where that cannot be asked.
    #[cfg(unix)]
    pub(super) fn terminate(&self) -> bool {
        // The id is valid: the child has not been waited for, so nobody else can have got it.
        let id = self.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        id.is_some_and(|id| rustix::process::kill_process(id, rustix::process::Signal::TERM).is_ok())
    }

    /// Asks the process to terminate; false where that cannot be asked.
    #[cfg(not(unix))]
    pub(super) fn terminate(&self) -> bool {
        false
    }

    /// Kills the process.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.child.as_mut().map_or(Ok(()), tokio::process::Child::start_kill)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // The child may have exited already, which is as good.
        let _killed = child.start_kill();
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        // A killed process is gone within milliseconds, but a destructor must not wait, and the runtime may be the
        // thing that is being dropped. If there is no thread to be had, tokio reaps the child when it comes to it.
        let _waiting = std::thread::Builder::new().name("child reaper".to_owned()).spawn(move || {
            let mut pause = Duration::from_millis(1);
            while let Ok(None) = child.try_wait() {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_secs(1));
            }
        });
    }
}
