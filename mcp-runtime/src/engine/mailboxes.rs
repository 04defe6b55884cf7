//! Sessions without types: their mailboxes, and the order in which they take what has come.

use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::Direction;
use mcp_protocol_machine::{Awaiting, RequestId};

use super::owners::context::Caller;
use super::owners::inputs::{LinearInput, Verdict};
use super::owners::mailboxes::{MailboxId, Notice, Turn};
use super::owners::order::Held;
use super::owners::owed::AnsweredBy;
use super::state::Engine;

impl Engine {
    /// Opens a mailbox. It consumes replicated inputs.
    pub(crate) fn mailbox_opened(&mut self) -> MailboxId {
        let key = self.mailboxes.open();
        self.attend(None);
        key
    }

    /// Closes a mailbox. Its calls are dropped, and the requests that it holds are answered with an error.
    pub(crate) fn mailbox_closed(&mut self, caller: Caller, key: MailboxId) {
        for id in self.calls.of_mailbox(key) {
            self.let_go(caller, id);
        }
        for id in self.held_by(key) {
            // If the session is over, no task is waiting.
            let _ = self.reply_dropped(caller, &id);
        }
        self.mailboxes.close(key, &mut self.effects);
        self.leave(None);
    }

    /// Adds a notice to a mailbox.
    pub(super) fn notify_mailbox(&mut self, key: MailboxId, notice: Notice) {
        let came = self.order.latest();
        if self.mailboxes.notify(key, came, notice) && self.may_wake(Held::Mailbox(key)) {
            self.mailboxes.wake(key, &mut self.effects);
        }
    }

    /// Takes the first notice of a mailbox.
    pub(crate) fn next_notice(&mut self, key: MailboxId) -> Option<Notice> {
        self.mailboxes.take(key)
    }

    /// The result of a call goes to a mailbox, and so does its progress.
    pub(crate) fn asked_by(&mut self, id: i64, key: MailboxId) {
        self.calls.give_to(id, key);
    }

    /// A mailbox holds a request of the peer.
    pub(crate) fn hold(&mut self, id: &RequestId, key: MailboxId) {
        if self.owed.give_to(id, key) {
            self.notify_mailbox(key, Notice::Cancelled(id.clone()));
        }
    }

    /// Whether a mailbox may answer a request: it holds it, or nothing does any more.
    pub(crate) fn may_answer(&mut self, id: &RequestId, key: MailboxId) -> bool {
        match self.owed.holder(id) {
            Some(holder) => holder == Some(key),
            None => self.rules.checker().awaiting(Direction::Send, id) == Awaiting::Retired,
        }
    }

    /// A request that was cancelled gets no answer.
    pub(crate) fn forget_cancelled(&mut self, id: &RequestId) {
        // After a reconnection, another request may have the id.
        if self.owed.is_cancelled(id) == Some(true) {
            self.owed.end(id, &mut self.effects);
        }
    }

    /// The calls of a mailbox.
    pub(crate) fn calls_of(&self, key: MailboxId) -> Vec<i64> {
        self.calls.of_mailbox(key)
    }

    /// The requests in addition to the linear channels that a mailbox holds.
    pub(crate) fn held_by(&self, key: MailboxId) -> Vec<RequestId> {
        self.owed.ids(|owed| owed.mailbox == Some(key) && owed.answered_by != AnsweredBy::Channel)
    }

    /// Waits until there is something to take, and says where: what came first is taken first.
    pub(crate) fn poll_turn(
        &mut self,
        context: &Context<'_>,
        key: MailboxId,
        mut judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<Turn> {
        let linear = self.linear.iter().find(|input| !matches!(judge(input), Verdict::Skip));
        let linear = linear.map(|input| (input.came, Turn::Linear(input.message)));
        // A queue that something else consumes is not read here.
        let mine = self.replicated.attendants(None) <= self.mailboxes.len();
        let replicated =
            self.replicated.first(None).filter(|_| mine).map(|arrived| (arrived.came, Turn::Replicated));
        let goes_on = self.goes_on();
        let Some((notice, mut turns)) = self.mailboxes.first(key) else { return Poll::Ready(Turn::Over) };
        let notice = notice.map(|came| (came, Turn::Notice));
        if let Some((came, turn)) = linear.into_iter().chain(replicated).chain(notice).min() {
            if self.held_back_for(context, &mut turns, Some((came, Held::Mailbox(key)))) {
                return Poll::Ready(turn);
            }
        } else if !goes_on {
            return Poll::Ready(Turn::Over);
        }
        let (linear, replicated) = (self.linear.waiting(), self.replicated.waiting());
        self.mailboxes.wait(key, turns, context, &mut self.effects, |waiter, effects| {
            linear.register(context, waiter, effects);
            replicated.register(context, waiter, effects);
        });
        Poll::Pending
    }
}
