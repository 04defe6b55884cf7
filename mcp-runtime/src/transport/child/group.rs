//! The process group of a child.
//!
//! A child is the leader of a group of its own. So a signal reaches its own children as well, and once the child has
//! exited the rest of its group can still be ended.

use std::time::Duration;

use tokio::time::Instant;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The pause between two looks at whether a group still has members.
const PAUSE: Duration = Duration::from_millis(5);

/// The group that a child leads.
///
/// Invariant: while it is `Some`, either the child was not waited for, or a member was alive right after that. So the
/// system cannot have given its number to another process.
#[derive(Debug, Default)]
pub(super) struct Group(#[cfg(unix)] Option<Pid>);

#[cfg(unix)]
impl Group {
    /// The group of a child that was started as its leader.
    pub(super) fn of(child: Option<u32>) -> Group {
        Group(child.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    /// Asks every member to terminate; false if there is none that can be asked.
    pub(super) fn terminate(&self) -> bool {
        self.0.is_some_and(|group| kill_process_group(group, Signal::TERM).is_ok())
    }

    /// Kills every member.
    pub(super) fn kill(&self) {
        if let Some(group) = self.0 {
            // No member is left, which is as good.
            let _killed = kill_process_group(group, Signal::KILL);
        }
    }

    /// Notes that the child was waited for. Call it right after that.
    pub(super) fn leader_gone(&mut self) {
        self.0 = self.0.filter(|group| test_kill_process_group(*group).is_ok());
    }

    fn has_members(&self) -> bool {
        self.0.is_some_and(|group| test_kill_process_group(group).is_ok())
    }
}

#[cfg(not(unix))]
impl Group {
    pub(super) fn of(_: Option<u32>) -> Group {
        Group()
    }

    pub(super) fn terminate(&self) -> bool {
        false
    }

    pub(super) fn kill(&self) {}

    pub(super) fn leader_gone(&mut self) {}

    fn has_members(&self) -> bool {
        false
    }
}

impl Group {
    /// Ends what is left of the group once the child was waited for: asks it to terminate, and kills it after `grace`.
    pub(super) async fn end(&mut self, grace: Duration) {
        if !self.has_members() || !self.terminate() {
            return;
        }
        let deadline = Instant::now().checked_add(grace);
        while self.has_members() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            tokio::time::sleep(PAUSE).await;
        }
        self.kill();
    }
}
