//! Requests of the peer that this side has to answer: one by one, or those of a batch together.

use std::task::Context;
use std::time::{Duration, Instant};

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{Awaiting, IdTable, RequestId, Step, StepKind, SubSessionNumber};

use super::batches::{Batch, BatchKey, Batches, ReplyTo};
use super::mailboxes::MailboxId;
use super::rate::Bucket;
use super::wakers::{Effects, Waiter, Waiting};
use crate::driver::RequestTag;
use crate::options::RateLimit;
use crate::rules::Rules;

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

impl AnsweredBy {
    /// What answers a request that was this step.
    pub(crate) fn of(step: &Step) -> AnsweredBy {
        match (step.kind, step.sub_session) {
            (StepKind::Linear { .. }, _) => AnsweredBy::Channel,
            (_, Some(sub_session)) => AnsweredBy::SubSession(sub_session),
            (StepKind::Spawned { within: Some(outer), .. }, None) => AnsweredBy::SubSession(outer),
            (_, None) => AnsweredBy::Handler,
        }
    }
}

/// A request of the peer that this side has not answered.
#[derive(Debug)]
pub(crate) struct OwedRequest {
    pub(crate) answered_by: AnsweredBy,
    /// The session without types that answers it, if one does.
    mailbox: Option<MailboxId>,
    /// What the last report on it said of its progress.
    progress: Option<f64>,
    /// Which request it is.
    message: MessageIndex,
    /// The number of the message that has cancelled it, if one has.
    cancelled: Option<u64>,
    /// The tasks that work on it, and want to know whether it is cancelled.
    waiting: Waiting,
    /// Where its reply goes.
    to: ReplyTo,
}

/// The requests of the peer that this side has not answered.
///
/// Invariants: a request stands here from when it is accepted until it has its reply, or none is wanted and its handler
/// is done. Whatever removes one wakes the tasks that work on it. A cancelled request has no place for its reply. A batch
/// waits for as many replies as requests of it have a place for theirs.
#[derive(Debug, Default)]
pub(crate) struct OwedReplies {
    requests: IdTable<RequestId, OwedRequest>,
    /// Replies that wait for one another.
    batches: Batches,
    /// What is left of the rate at which the peer may ask.
    rate: Bucket,
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

    /// A request was accepted. The replies of its batch wait for its reply, too.
    pub(crate) fn begin(
        &mut self,
        id: RequestId,
        message: MessageIndex,
        answered_by: AnsweredBy,
        to: ReplyTo,
    ) {
        if let Some(batch) = to.batch {
            self.batches.join(batch);
        }
        let waiting = Waiting::default();
        let owed =
            OwedRequest { answered_by, mailbox: None, progress: None, message, cancelled: None, waiting, to };
        self.requests.insert(id, owed);
    }

    /// Counts a request against the rate at which the peer may ask; tells how long it had to wait if that is too high.
    pub(crate) fn count(&mut self, rate: RateLimit, now: Instant) -> Result<(), Duration> {
        self.rate.take(rate, now)
    }

    /// A batch came. It is answered only once it is left as often as it was joined, and once more.
    pub(crate) fn begin_batch(&mut self, tag: Option<RequestTag>) -> BatchKey {
        self.batches.begin(tag)
    }

    /// Whether a result of that many bytes may wait in its batch with what waits already.
    pub(crate) fn has_room(&self, to: ReplyTo, bytes: usize, most: usize) -> bool {
        self.batches.has_room(to, bytes, most)
    }

    /// Writes a reply into its batch; `false` if there is none, and the reply goes straight to the peer.
    pub(crate) fn write_into_batch(&mut self, to: ReplyTo, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        self.batches.write(to.batch, write)
    }

    /// A request of a batch is answered, or will not be. Returns the batch if that was the last one.
    pub(crate) fn leave_batch(&mut self, key: Option<BatchKey>) -> Option<Batch> {
        self.batches.leave(key?)
    }

    /// Takes all batches with what was replied so far.
    pub(crate) fn take_batches(&mut self) -> impl Iterator<Item = Batch> {
        self.batches.take_all()
    }

    /// How many bytes of replies wait for other replies.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.batches.bytes()
    }

    /// The requests in addition to the linear channels that a mailbox holds.
    pub(crate) fn held_by(&self, key: MailboxId) -> Vec<RequestId> {
        self.ids(|owed| owed.mailbox == Some(key) && owed.answered_by != AnsweredBy::Channel)
    }

    /// Whether a mailbox may answer a request: it holds it, or nothing does any more.
    pub(crate) fn may_answer(&self, rules: &Rules, id: &RequestId, key: MailboxId) -> bool {
        match self.requests.get(id) {
            Some(owed) => owed.mailbox == Some(key),
            None => rules.checker().awaiting(Direction::Send, id) == Awaiting::Retired,
        }
    }

    /// The ids of the requests that meet a condition, in order.
    pub(crate) fn ids(&self, which: impl Fn(&OwedRequest) -> bool) -> Vec<RequestId> {
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
        self.requests.get(id).map(|owed| owed.cancelled.is_some())
    }

    /// The numbers of the messages that have cancelled requests of the value of the session, or of a sub-session, in the
    /// order in which they came.
    pub(crate) fn cancels(
        &self,
        sub_session: Option<SubSessionNumber>,
        is_mine: impl Fn(MessageIndex) -> bool,
    ) -> Vec<u64> {
        let by = sub_session.map_or(AnsweredBy::Channel, AnsweredBy::SubSession);
        let its = |owed: &&OwedRequest| owed.answered_by == by && is_mine(owed.message);
        let mut cancels: Vec<u64> =
            self.requests.values().filter(its).filter_map(|owed| owed.cancelled).collect();
        cancels.sort_unstable();
        cancels
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

    /// A mailbox holds a request from now on. Returns the number of the message that has cancelled
    /// the request, if one has.
    pub(crate) fn give_to(&mut self, id: &RequestId, mailbox: MailboxId) -> Option<u64> {
        let owed = self.requests.get_mut(id)?;
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

    /// A request is cancelled by the message with that number while a task works on it. Returns the mailbox that holds it, if
    /// one does; `None` if it is not owed a reply.
    pub(crate) fn cancel(
        &mut self,
        id: &RequestId,
        came: u64,
        effects: &mut Effects,
    ) -> Option<Option<MailboxId>> {
        let owed = self.requests.get_mut(id)?;
        owed.cancelled.get_or_insert(came);
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
        which: impl Fn(&OwedRequest) -> bool,
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

impl OwedRequest {
    fn end(mut self, effects: &mut Effects) -> Ended {
        self.waiting.wake(effects);
        Ended { to: self.to, mailbox: self.mailbox, progress: self.progress }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::owners::mailboxes::Mailboxes;

    const REQUEST: MessageIndex = MessageIndex(0);

    #[test]
    fn a_request_is_owed_a_reply_until_it_is_ended() {
        let (mut owed, mut effects) = (OwedReplies::default(), Effects::default());
        for number in [2, 1, 3] {
            let by = if number == 3 { AnsweredBy::Channel } else { AnsweredBy::Handler };
            owed.begin(RequestId::Number(number), REQUEST, by, ReplyTo { batch: Some(7), tag: None });
        }
        let [first, second, third] = [1, 2, 3].map(RequestId::Number);
        assert_eq!(owed.is_cancelled(&first), Some(false));
        assert_eq!(owed.take_route(&first).batch, Some(7));
        assert_eq!(owed.cancel(&first, 4, &mut effects), Some(None));
        assert_eq!(owed.is_cancelled(&first), Some(true));
        assert!(owed.end(&first, &mut effects).is_some_and(|ended| ended.to.batch.is_none()));
        assert_eq!(owed.is_cancelled(&first), None);
        let ended = owed.end_all(|owed| owed.answered_by == AnsweredBy::Channel, &mut effects);
        assert!(matches!(ended.as_slice(), [(id, _)] if *id == third));
        assert_eq!(owed.ids(|_| true), [second]);
    }

    #[test]
    fn a_batch_waits_for_the_requests_that_were_accepted_in_it() {
        let (mut owed, mut effects, mut written) = (OwedReplies::default(), Effects::default(), Vec::new());
        let to = ReplyTo { batch: Some(owed.begin_batch(None)), tag: None };
        for number in [1, 2] {
            owed.begin(RequestId::Number(number), REQUEST, AnsweredBy::Handler, to);
        }
        assert!(owed.leave_batch(to.batch).is_none(), "the whole batch was read");
        let first = owed.take_route(&RequestId::Number(1));
        assert!(owed.write_into_batch(first, |into| into.extend_from_slice(b"1\n")));
        assert!(owed.leave_batch(first.batch).is_none() && owed.waiting_bytes() == 2);
        // The second was cancelled, and gets no reply.
        let second = owed.take_route(&RequestId::Number(2));
        assert!(owed.end(&RequestId::Number(2), &mut effects).is_some_and(|ended| ended.to.batch.is_none()));
        assert!(owed.leave_batch(second.batch).is_some_and(|batch| batch.finish(&mut written)));
        assert_eq!((written.as_slice(), owed.waiting_bytes()), (b"[1]\n".as_slice(), 0));
    }

    #[test]
    fn a_mailbox_holds_what_was_given_to_it() {
        let (mut owed, mut effects) = (OwedReplies::default(), Effects::default());
        let mut mailboxes = Mailboxes::default();
        let (one, other) = (mailboxes.open(), mailboxes.open());
        let [first, second] = [1, 2].map(RequestId::Number);
        owed.begin(first.clone(), REQUEST, AnsweredBy::Handler, ReplyTo::default());
        owed.begin(second.clone(), REQUEST, AnsweredBy::Channel, ReplyTo::default());
        assert!(owed.give_to(&first, one).is_none() && owed.give_to(&second, one).is_none());
        assert_eq!(
            owed.held_by(one),
            std::slice::from_ref(&first),
            "the linear channel's is not held in addition"
        );
        assert_eq!(owed.cancel(&first, 4, &mut effects), Some(Some(one)));
        assert_eq!(owed.give_to(&first, other), Some(4), "it is cancelled");
        assert_eq!((owed.held_by(one).len(), owed.held_by(other).len()), (0, 1));
    }
}
