//! One child process and its process group, from start to exit.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use super::group::Group;
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
    group: Group,
}

impl Process {
    /// A child that leads a process group of its own.
    pub(super) fn new(child: tokio::process::Child) -> Self {
        Self { group: Group::of(child.id()), child: Some(child) }
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.child.as_ref().and_then(tokio::process::Child::id)
    }

    /// Waits for the exit; to be called until it returns, and not again. Dropping the future loses nothing.
    pub(super) async fn wait(&mut self) -> Exit {
        let Some(child) = &mut self.child else { return std::future::pending().await };
        let result = child.wait().await;
        self.group.leader_gone();
        self.child = None;
        Exit(result)
    }

    /// Ends what the child has started and left behind; to be called once it was waited for.
    pub(super) async fn end_group(&mut self, grace: Duration) {
        self.group.end(grace).await;
    }

    /// Asks the process and what it has started to terminate; false where that cannot be asked.
    pub(super) fn terminate(&self) -> bool {
        self.group.terminate()
    }

    /// Kills the process and what it has started.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.group.kill();
        self.child.as_mut().map_or(Ok(()), tokio::process::Child::start_kill)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.kill();
        let Some(mut child) = self.child.take() else { return };
        // The child may have exited already, which is as good.
        let _killed = child.start_kill();
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        // A killed process ends within milliseconds, but a destructor must not wait, and the runtime itself may be
        // shutting down. If no thread can be started, tokio reaps the child later.
        let _waiting = std::thread::Builder::new().name("child reaper".to_owned()).spawn(move || {
            let mut pause = Duration::from_millis(1);
            while let Ok(None) = child.try_wait() {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_secs(1));
            }
        });
    }
}
