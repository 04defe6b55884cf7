//! Mailboxes: what a session without types takes next, and the notices that it gets.

use std::task::{Context, Poll};

use super::OpenInbox;
use crate::engine::owners::inbox::Inbox;
use crate::engine::owners::inputs::{LinearInput, Verdict};
use crate::engine::owners::mailboxes::{MailboxId, Notice, Turn};
use crate::engine::owners::order::Held;

impl OpenInbox<'_> {
    /// Waits until there is something for a session without types to take, and says where: what came first is taken first.
    pub(crate) fn poll_turn(
        &mut self,
        context: &Context<'_>,
        key: MailboxId,
        mut judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<Turn> {
        let Inbox { dispatch, values, mailboxes, .. } = &mut *self.inbox;
        let linear = values.linear().iter().find(|input| !matches!(judge(input), Verdict::Skip));
        let linear = linear.map(|input| (input.came, Turn::Linear(input.message)));
        // A queue that something else consumes is not read here.
        let mine = dispatch.queue().attendants(None) <= mailboxes.len();
        let replicated = dispatch.queue().first(None).filter(|_| mine);
        let replicated = replicated.map(|arrived| (arrived.came, Turn::Replicated));
        let Some((notice, mut turns)) = mailboxes.first(key) else { return Poll::Ready(Turn::Over) };
        let notice = notice.map(|came| (came, Turn::Notice));
        if let Some((came, turn)) = linear.into_iter().chain(replicated).chain(notice).min() {
            if self.held_back_for(context, &mut turns, Some((came, Held::Mailbox(key)))) {
                return Poll::Ready(turn);
            }
        } else if !self.is_receiving() {
            return Poll::Ready(Turn::Over);
        }
        let Inbox { dispatch, values, mailboxes, .. } = &mut *self.inbox;
        let (linear, replicated) = (values.linear_mut().waiting(), dispatch.queue_mut().waiting());
        mailboxes.wait(key, turns, context, self.effects, |waiter, effects| {
            linear.register(context, waiter, effects);
            replicated.register(context, waiter, effects);
        });
        Poll::Pending
    }

    /// Opens a mailbox. It is an attendant of the session.
    pub(crate) fn open_mailbox(&mut self) -> MailboxId {
        self.inbox.dispatch.queue_mut().attend(None);
        self.inbox.mailboxes.open()
    }

    /// Closes a mailbox.
    pub(crate) fn close_mailbox(&mut self, key: MailboxId) {
        self.inbox.mailboxes.close(key, self.effects);
    }

    /// Takes the first notice of a mailbox.
    pub(crate) fn next_notice(&mut self, key: MailboxId) -> Option<Notice> {
        self.inbox.mailboxes.take(key)
    }

    /// Adds a notice to a mailbox, which the latest message has brought.
    pub(crate) fn notify_mailbox(&mut self, key: MailboxId, notice: Notice) {
        let came = self.inbox.latest();
        self.notify_mailbox_of(key, came, notice);
    }

    /// The same for a notice that the message with that number has brought.
    pub(crate) fn notify_mailbox_of(&mut self, key: MailboxId, came: u64, notice: Notice) {
        if self.inbox.mailboxes.notify(key, came, notice) {
            self.came(Held::Mailbox(key));
        }
    }
}
