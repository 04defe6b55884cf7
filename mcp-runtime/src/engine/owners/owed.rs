//! Requests of the peer that this side has to answer.

use std::task::Context;

use mcp_protocol_machine::{IdTable, RequestId, SubSessionNumber};

use super::batches::ReplyTo;
use super::mailboxes::MailboxId;
use super::wakers::{Effects, Waiter, Waiting};
use crate::driver::RequestTag;

/// What answers a request of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnsweredBy {
    /// The session value of a linear channel.
    Channel,
    /// The value of a sub-session.
    SubSession(SubSessionNumber),
    /// A handler.
    Handler,
}

/// A request of the peer that this side has not answered.
#[derive(Debug)]
pub(crate) struct Owed {
    pub(crate) answered_by: AnsweredBy,
    /// The session without types that answers it, if one does.
    pub(crate) mailbox: Option<MailboxId>,
    /// What the last report on it said of its progress.
    progress: Option<f64>,
    cancelled: bool,
    /// The tasks that work on it, and want to know whether it is cancelled.
    waiting: Waiting,
    /// Where its reply goes.
    to: ReplyTo,
}

/// The requests of the peer that this side has not answered.
///
/// Invariants: a request stands here from when it is accepted until it has its reply, or none is wanted and its handler
/// is done. Whatever removes one wakes the tasks that work on it. A cancelled request has no place for its reply.
#[derive(Debug, Default)]
pub(crate) struct OwedReplies {
    requests: IdTable<RequestId, Owed>,
}

impl OwedReplies {
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    pub(crate) fn has(&self, id: &RequestId) -> bool {
        self.requests.contains_key(id)
    }

    /// A request was accepted.
    pub(crate) fn begin(&mut self, id: RequestId, answered_by: AnsweredBy, to: ReplyTo) {
        let waiting = Waiting::default();
        let owed = Owed { answered_by, mailbox: None, progress: None, cancelled: false, waiting, to };
        self.requests.insert(id, owed);
    }

    /// The ids of the requests that meet a condition, in order.
    pub(crate) fn ids(&self, which: impl Fn(&Owed) -> bool) -> Vec<RequestId> {
        let of = self.requests.iter().filter(|(_, owed)| which(owed));
        let mut ids: Vec<RequestId> = of.map(|(id, _)| id.clone()).collect();
        ids.sort_unstable();
        ids
    }

    /// What the transport calls the message that a request came in.
    pub(crate) fn tag(&self, id: &RequestId) -> Option<RequestTag> {
        self.requests.get(id)?.to.tag
    }

    /// What the last report on a request said of its progress.
    pub(crate) fn progress_mut(&mut self, id: &RequestId) -> Option<&mut Option<f64>> {
        self.requests.get_mut(id).map(|owed| &mut owed.progress)
    }

    /// Whether a request is cancelled. `None`: it is not owed a reply.
    pub(crate) fn is_cancelled(&self, id: &RequestId) -> Option<bool> {
        self.requests.get(id).map(|owed| owed.cancelled)
    }

    /// A handler answers a request from now on, whatever becomes of the value that took it.
    pub(crate) fn give_to_handler(&mut self, id: &RequestId) {
        if let Some(owed) = self.requests.get_mut(id) {
            owed.answered_by = AnsweredBy::Handler;
        }
    }

    /// The value of a sub-session answers a request again.
    pub(crate) fn give_to_value(&mut self, id: &RequestId, sub_session: SubSessionNumber) {
        if let Some(owed) = self.requests.get_mut(id) {
            owed.answered_by = AnsweredBy::SubSession(sub_session);
        }
    }

    /// The mailbox that holds a request, if one does. `None`: the request is not owed a reply.
    pub(crate) fn holder(&self, id: &RequestId) -> Option<Option<MailboxId>> {
        self.requests.get(id).map(|owed| owed.mailbox)
    }

    /// A mailbox holds a request from now on. Returns whether the request is cancelled.
    pub(crate) fn give_to(&mut self, id: &RequestId, mailbox: MailboxId) -> bool {
        let Some(owed) = self.requests.get_mut(id) else { return false };
        owed.mailbox = Some(mailbox);
        owed.cancelled
    }

    /// Waits for a request to be cancelled or answered. Returns `false` if it is not owed a reply.
    pub(crate) fn register(
        &mut self,
        id: &RequestId,
        context: &Context<'_>,
        waiter: &mut Waiter,
        effects: &mut Effects,
    ) -> bool {
        let Some(owed) = self.requests.get_mut(id) else { return false };
        owed.waiting.register(context, waiter, effects);
        true
    }

    /// A request gets its reply, or will not get one: takes the place where the reply goes.
    pub(crate) fn take_route(&mut self, id: &RequestId) -> ReplyTo {
        self.requests.get_mut(id).map(|owed| std::mem::take(&mut owed.to)).unwrap_or_default()
    }

    /// A request is cancelled while a task works on it. Returns the mailbox that holds it, if one does; `None` if it is
    /// not owed a reply.
    pub(crate) fn cancel(&mut self, id: &RequestId, effects: &mut Effects) -> Option<Option<MailboxId>> {
        let owed = self.requests.get_mut(id)?;
        owed.cancelled = true;
        owed.waiting.wake(effects);
        Some(owed.mailbox)
    }

    /// A request is not owed a reply any more.
    pub(crate) fn end(&mut self, id: &RequestId, effects: &mut Effects) -> Option<Ended> {
        self.requests.remove(id).map(|owed| owed.end(effects))
    }

    /// No request that meets a condition is owed a reply any more. Returns them in the order of their ids.
    pub(crate) fn end_all(
        &mut self,
        which: impl Fn(&Owed) -> bool,
        effects: &mut Effects,
    ) -> Vec<(RequestId, Ended)> {
        let ids = self.ids(which);
        ids.into_iter().filter_map(|id| self.end(&id, effects).map(|ended| (id, ended))).collect()
    }
}

/// What was kept of a request that is not owed a reply any more.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) to: ReplyTo,
    pub(crate) mailbox: Option<MailboxId>,
    pub(crate) progress: Option<f64>,
}

impl Owed {
    fn end(mut self, effects: &mut Effects) -> Ended {
        self.waiting.wake(effects);
        Ended { to: self.to, mailbox: self.mailbox, progress: self.progress }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_owed_a_reply_until_it_is_ended() {
        let (mut owed, mut effects) = (OwedReplies::default(), Effects::default());
        for number in [2, 1, 3] {
            let by = if number == 3 { AnsweredBy::Channel } else { AnsweredBy::Handler };
            owed.begin(RequestId::Number(number), by, ReplyTo { batch: Some(7), tag: None });
        }
        let [first, second, third] = [1, 2, 3].map(RequestId::Number);
        assert_eq!(owed.is_cancelled(&first), Some(false));
        assert_eq!(owed.take_route(&first).batch, Some(7));
        assert_eq!(owed.cancel(&first, &mut effects), Some(None));
        assert_eq!(owed.is_cancelled(&first), Some(true));
        assert!(owed.end(&first, &mut effects).is_some_and(|ended| ended.to.batch.is_none()));
        assert_eq!(owed.is_cancelled(&first), None);
        let ended = owed.end_all(|owed| owed.answered_by == AnsweredBy::Channel, &mut effects);
        assert!(matches!(ended.as_slice(), [(id, _)] if *id == third));
        assert_eq!(owed.ids(|_| true), [second]);
    }
}
