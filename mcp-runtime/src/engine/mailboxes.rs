//! The ordered events of sessions without types.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{Awaiting, RequestId};

use super::context::Caller;
use super::inputs::{LinearInput, Verdict};
use super::order::{Held, Turns};
use super::owed::AnsweredBy;
use super::state::Engine;
use super::wakers::{Waiter, Waiting};
use crate::jsonrpc::RpcError;

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
    fn get_mut(&mut self, key: MailboxId) -> Option<&mut Mailbox> {
        self.all.iter_mut().find(|mailbox| mailbox.key == key)
    }
}

impl Engine {
    /// Opens a mailbox. It consumes replicated inputs.
    pub(crate) fn mailbox_opened(&mut self) -> MailboxId {
        let key = MailboxId(self.mailboxes.next);
        self.mailboxes.next = self.mailboxes.next.wrapping_add(1);
        let (told, waiting, waiter) = (VecDeque::new(), Waiting::default(), Waiter::default());
        self.mailboxes.all.push(Mailbox { key, told, waiting, waiter, turns: Turns::default() });
        self.attend();
        key
    }

    /// Closes a mailbox. Its calls are dropped, and the requests that it holds are answered with an error.
    pub(crate) fn mailbox_closed(&mut self, caller: Caller, key: MailboxId) {
        for id in self.calls.of_mailbox(key) {
            self.let_go(caller, id);
        }
        for id in self.held_by(key) {
            // If the session is over, no task is waiting.
            let _ = self.reply_error(
                caller,
                &id,
                &RpcError::internal_error("the request was dropped unanswered"),
            );
        }
        if let Some(mailbox) = self.mailboxes.get_mut(key) {
            mailbox.waiter.leave(&mut self.effects);
        }
        self.mailboxes.all.retain(|mailbox| mailbox.key != key);
        self.leave();
    }

    /// Adds a notice to a mailbox.
    pub(super) fn notify_mailbox(&mut self, key: MailboxId, told: Notice) {
        let came = self.order.latest();
        if let Some(mailbox) = self.mailboxes.get_mut(key) {
            mailbox.told.push_back((came, told));
            if self.may_wake(Held::Mailbox(key)) {
                self.wake_mailbox(key);
            }
        }
    }

    /// Wakes the task that waits for a mailbox.
    pub(super) fn wake_mailbox(&mut self, key: MailboxId) {
        if let Some(mailbox) = self.mailboxes.get_mut(key) {
            mailbox.waiting.wake(&mut self.effects);
        }
    }

    /// Takes the first notice of a mailbox.
    pub(crate) fn next_notice(&mut self, key: MailboxId) -> Option<Notice> {
        self.mailboxes.get_mut(key).and_then(|mailbox| mailbox.told.pop_front()).map(|(_, told)| told)
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
            None => self.checker.awaiting(Direction::Send, id) == Awaiting::Retired,
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
        let mine = self.replicated.attendants() <= self.mailboxes.all.len();
        let replicated =
            self.replicated.first().filter(|_| mine).map(|arrived| (arrived.came, Turn::Replicated));
        let goes_on = self.goes_on();
        let Some(mailbox) = self.mailboxes.get_mut(key) else { return Poll::Ready(Turn::Over) };
        let told = mailbox.told.front().map(|(came, _)| (*came, Turn::Notice));
        if let Some((came, turn)) = linear.into_iter().chain(replicated).chain(told).min() {
            let mut turns = mailbox.turns;
            let free = self.held_back_for(context, &mut turns, Some((came, Held::Mailbox(key))));
            if free {
                return Poll::Ready(turn);
            }
            if let Some(mailbox) = self.mailboxes.get_mut(key) {
                mailbox.turns = turns;
            }
        } else if !goes_on {
            return Poll::Ready(Turn::Over);
        }
        let Some(mailbox) = self.mailboxes.get_mut(key) else { return Poll::Ready(Turn::Over) };
        let Mailbox { waiting, waiter, .. } = mailbox;
        waiting.register(context, waiter, &mut self.effects);
        self.linear.waiting().register(context, waiter, &mut self.effects);
        self.replicated.waiting().register(context, waiter, &mut self.effects);
        Poll::Pending
    }
}
