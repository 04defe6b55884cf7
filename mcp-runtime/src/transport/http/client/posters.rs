//! [`Posters`]: the tasks that post in parallel to others, and messages for those that have nothing to do.

use std::collections::VecDeque;

use super::message::PostMessage;

/// How many tasks of one client rest at the most.
const RESTING: usize = 8;

/// The tasks that post in parallel. A client that makes one request after another has one of them, which posts all, and
/// not one for each request.
///
/// Invariant: for each message that waits here, a task rests.
#[derive(Debug, Default)]
pub(super) struct Posters {
    resting: usize,
    handed: VecDeque<PostMessage>,
}

impl Posters {
    /// Hands a message to a task that rests, which is to be woken. Returns the message where there is none.
    pub(super) fn hand(&mut self, message: PostMessage) -> Option<PostMessage> {
        if self.handed.len() >= self.resting {
            return Some(message);
        }
        self.handed.push_back(message);
        None
    }

    /// A task has posted its message. Returns whether it may rest.
    pub(super) fn rest(&mut self) -> bool {
        let may_rest = self.resting < RESTING;
        self.resting += usize::from(may_rest);
        may_rest
    }

    /// A task that rests looks for a message. It rests on if there is none.
    pub(super) fn take(&mut self) -> Option<PostMessage> {
        let message = self.handed.pop_front()?;
        self.resting = self.resting.saturating_sub(1);
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Epoch, MessageKind, Outgoing};

    fn message() -> PostMessage {
        PostMessage::new(Outgoing::new(b"{}", MessageKind::Error, Epoch::FIRST))
    }

    #[test]
    fn each_message_has_a_task_and_few_tasks_rest() {
        let mut posters = Posters::default();
        assert!(posters.hand(message()).is_some(), "no task rests");
        assert!(posters.rest() && posters.take().is_none());
        assert!(posters.hand(message()).is_none());
        assert!(posters.hand(message()).is_some(), "the only task has its message");
        assert!(posters.take().is_some() && posters.take().is_none());
        assert_eq!((0..2 * RESTING).filter(|_| posters.rest()).count(), RESTING);
    }
}
