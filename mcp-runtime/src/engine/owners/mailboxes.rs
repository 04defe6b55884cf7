//! The mailboxes of sessions without types.

use std::collections::VecDeque;
use std::task::Context;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::MessageIndex;

use super::turns::Turns;
use super::wakers::{Effects, Waiter, Waiting};

/// The mailbox of a session without types. One session has several once linear channels are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MailboxId(u32);

/// What goes to one mailbox only.
#[derive(Clone, Debug)]
pub(crate) enum Notice {
    /// A call has its result.
    Answered(i64),
    /// Progress of a call waits.
    Progress(i64),
    /// The peer has cancelled a request.
    Cancelled(RequestId),
}

/// Where the next thing is to be taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    /// From the linear inputs: this message.
    Linear(MessageIndex),
    /// From the replicated inputs.
    Replicated,
    /// From what goes to this mailbox only.
    Notice,
    /// From nowhere: the session is over.
    Over,
}

/// The mailboxes of one session.
#[derive(Debug, Default)]
pub(crate) struct Mailboxes {
    all: Vec<Mailbox>,
    next: u32,
}

#[derive(Debug)]
struct Mailbox {
    key: MailboxId,
    /// With the number of the message by which it came. No more than there are calls, requests held, and reports
    /// that wait.
    told: VecDeque<(u64, Notice)>,
    waiting: Waiting,
    waiter: Waiter,
    /// How often it was polled while what it waits for was held back.
    turns: Turns,
}

impl Mailboxes {
    /// There is one more.
    pub(crate) fn open(&mut self) -> MailboxId {
        let key = MailboxId(self.next);
        self.next = self.next.wrapping_add(1);
        let (told, waiting, waiter) = (VecDeque::new(), Waiting::default(), Waiter::default());
        self.all.push(Mailbox { key, told, waiting, waiter, turns: Turns::default() });
        key
    }

    /// A mailbox is gone, and the task that waited for it waits no longer.
    pub(crate) fn close(&mut self, key: MailboxId, effects: &mut Effects) {
        if let Some(mailbox) = self.get_mut(key) {
            mailbox.waiter.leave(effects);
        }
        self.all.retain(|mailbox| mailbox.key != key);
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Adds a notice, which that message has brought. Returns whether there is such a mailbox.
    pub(crate) fn notify(&mut self, key: MailboxId, came: u64, notice: Notice) -> bool {
        let Some(mailbox) = self.get_mut(key) else { return false };
        // That a request was cancelled may become this mailbox's to tell only when it takes the request.
        let place = mailbox.told.partition_point(|(other, _)| *other <= came);
        mailbox.told.insert(place, (came, notice));
        true
    }

    /// Wakes the task that waits for a mailbox.
    pub(crate) fn wake(&mut self, key: MailboxId, effects: &mut Effects) {
        if let Some(mailbox) = self.get_mut(key) {
            mailbox.waiting.wake(effects);
        }
    }

    /// Takes the first notice.
    pub(crate) fn take(&mut self, key: MailboxId) -> Option<Notice> {
        self.get_mut(key)?.told.pop_front().map(|(_, notice)| notice)
    }

    /// The message that has brought the first notice, and how often the mailbox was held back. `None`: it is gone.
    pub(crate) fn first(&mut self, key: MailboxId) -> Option<(Option<u64>, Turns)> {
        let mailbox = self.get_mut(key)?;
        Some((mailbox.told.front().map(|(came, _)| *came), mailbox.turns))
    }

    /// The task at hand waits for a mailbox, and for what `also` adds its place to.
    pub(crate) fn wait(
        &mut self,
        key: MailboxId,
        turns: Turns,
        context: &Context<'_>,
        effects: &mut Effects,
        also: impl FnOnce(&mut Waiter, &mut Effects),
    ) {
        let Some(mailbox) = self.get_mut(key) else { return };
        mailbox.turns = turns;
        mailbox.waiting.register(context, &mut mailbox.waiter, effects);
        also(&mut mailbox.waiter, effects);
    }

    fn get_mut(&mut self, key: MailboxId) -> Option<&mut Mailbox> {
        self.all.iter_mut().find(|mailbox| mailbox.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_gives_its_notices_in_order_and_none_once_it_is_closed() {
        let (mut mailboxes, mut effects) = (Mailboxes::default(), Effects::default());
        let (first, second) = (mailboxes.open(), mailboxes.open());
        assert!(mailboxes.notify(first, 5, Notice::Progress(2)));
        assert!(mailboxes.notify(first, 3, Notice::Answered(1)), "it came before");
        assert!(matches!(mailboxes.first(first), Some((Some(3), _))));
        assert!(matches!(mailboxes.first(second), Some((None, _))));
        assert!(matches!(mailboxes.take(first), Some(Notice::Answered(1))));
        assert!(matches!(mailboxes.first(first), Some((Some(5), _))));
        mailboxes.close(first, &mut effects);
        assert!(!mailboxes.notify(first, 6, Notice::Answered(1)) && mailboxes.first(first).is_none());
        assert!(mailboxes.len() == 1 && mailboxes.open() != first);
    }
}
