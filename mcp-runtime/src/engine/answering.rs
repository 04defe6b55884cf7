//! Answers to requests of the peer.
//!
//! The replies to the requests of a batch go out as one list once the last of them is there. Replies that wait count as
//! output; results beyond half of what may wait are replaced by errors, as is a single result that would not fit.

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{Awaiting, Correlation, RequestId};

use super::owners::batches::{BatchKey, ReplyTo};
use super::owners::context::{Accepted, Caller};
use super::owners::mailboxes::{MailboxId, Notice};
use super::owners::trace::ExchangeOutcome;
use super::state::Engine;
use crate::driver::MessageKind;
use crate::error::Error;
use crate::jsonrpc::{Dialect, RpcError, write};
use crate::rules::names::{Names, on_the_wire};
use crate::rules::{alternatives, judge, members, place, shapes, version};

impl Engine {
    /// Answers a request of the peer with a result; which of its replies that is, the result says.
    pub(crate) fn reply_result(
        &mut self,
        caller: Caller,
        id: &RequestId,
        written: &str,
    ) -> Result<(), Error> {
        self.reply_with(caller, id, None, written)
    }

    /// Answers a request of the peer with one of its replies. Fails before anything has happened if the peer would
    /// read another one, or the protocol does not permit it: the request still awaits its answer then.
    pub(crate) fn reply_with(
        &mut self,
        caller: Caller,
        id: &RequestId,
        mut message: Option<MessageIndex>,
        written: &str,
    ) -> Result<(), Error> {
        if let Awaiting::Request(request) = self.rules.checker().awaiting(Direction::Send, id) {
            alternatives::check_reply(&self.rules, request, message, written)?;
            version::check_reply(&self.rules, request, written)?;
            message = message.or_else(|| self.rules.reply_of(request, written));
            if let Some(message) = message {
                shapes::check_reply(&self.rules, message, written)?;
                judge::check_reply(&self.rules, id, message, written)?;
            }
        }
        self.answering(caller, id, |engine, to| engine.result_to(caller, to, id, message, written))
    }

    /// Answers a request of the peer with an error.
    pub(crate) fn reply_error(
        &mut self,
        caller: Caller,
        id: &RequestId,
        error: &RpcError,
    ) -> Result<(), Error> {
        self.answering(caller, id, |engine, to| engine.error_to(caller, to, id, error))
    }

    /// Answers a request, whose batch, if it came in one, waits for this answer no more, whatever becomes of it.
    fn answering(
        &mut self,
        caller: Caller,
        id: &RequestId,
        answer: impl FnOnce(&mut Engine, ReplyTo) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.lifecycle.is_lost(caller) {
            // The peer may have used the id again.
            return Err(Error::SessionReplaced);
        }
        let to = self.owed.take_route(id);
        let answered = answer(self, to);
        self.leave_batch(to.batch);
        self.outbox.settled(to.tag, &mut self.effects);
        self.judge_early();
        answered
    }

    fn result_to(
        &mut self,
        caller: Caller,
        to: ReplyTo,
        id: &RequestId,
        message: Option<MessageIndex>,
        written: &str,
    ) -> Result<(), Error> {
        let most = self.rules.options().output_limit / 2;
        if !self.owed.has_room(to, written.len(), most) {
            let error = RpcError::busy(format!(
                "the replies to the batch take more than {most} bytes: send the request on its own"
            ));
            self.error_to(caller, to, id, &error)?;
            return Err(Error::BatchFull(most));
        }
        let most = self.rules.options().most_payload_bytes();
        if written.len() > most {
            let error = RpcError::internal_error(format!(
                "the result has {} bytes, and may have {most}: see `Options::output_limit`",
                written.len()
            ));
            self.error_to(caller, to, id, &error)?;
            return Err(Error::ResultTooLarge { bytes: written.len(), most });
        }
        let protocol = self.rules.protocol().clone();
        let Some(request) = self.settle(id)? else { return Ok(()) };
        let message = message.or_else(|| self.rules.reply_of(request, written));
        let Some((message, table)) = message.and_then(|message| Some((message, protocol.message(message)?)))
        else {
            return Ok(());
        };
        let result = on_the_wire(table, written).unwrap_or("{}");
        let members = members::of_reply(&self.rules, Direction::Receive, request, id);
        let keys = Names::keys(&protocol, message, Some(id), Some(result), &members);
        let ends = self.rules.checker().reply_would_end(id, message, Correlation::keys(&keys));
        if let Some(sub_session) = ends {
            self.close_within(caller, sub_session, message);
        }
        let step = self.rules.checker_mut().reply_correlated(
            Direction::Send,
            id,
            message,
            Correlation::keys(&keys),
        )?;
        let Accepted { step, .. } = self.accepted(step, message, Some(result), false);
        self.traces.over(Direction::Receive, id, ExchangeOutcome::Result);
        if !step.kind.is_dropped() {
            let kind = MessageKind::Result { place: place::of(&self.rules, caller.is_bound(), step.kind) };
            self.write_reply(to, kind, |into, dialect| {
                write::result(into, dialect, id, result, &members);
            });
        }
        Ok(())
    }

    fn error_to(
        &mut self,
        caller: Caller,
        to: ReplyTo,
        id: &RequestId,
        error: &RpcError,
    ) -> Result<(), Error> {
        let _protocol = self.rules.protocol().clone();
        let Some(request) = self.settle(id)? else { return Ok(()) };
        let members = members::of_reply(&self.rules, Direction::Receive, request, id);
        if let Some(message) = self.rules.refusal_of(request) {
            if let Some(ends) = self.rules.checker().reply_would_end(id, message, Correlation::default()) {
                self.close_within(caller, ends, message);
            }
            let step = self.rules.checker_mut().reply(Direction::Send, id, message)?;
            self.traces.step(&self.rules, &step);
            self.end_awaiting();
            if step.kind.is_dropped() {
                return Ok(());
            }
        }
        self.traces.over(Direction::Receive, id, ExchangeOutcome::Error(error.code));
        self.write_reply(to, MessageKind::Error, |into, dialect| {
            write::error(into, dialect, Some(id), error, &members);
        });
        Ok(())
    }

    /// The request that an answer is for; nothing if it was cancelled, for then the peer does not wait for one.
    fn settle(&mut self, id: &RequestId) -> Result<Option<MessageIndex>, Error> {
        if let Some(owed) = self.owed.end(id, &mut self.effects) {
            // Reports may go on as long as what the request has opened.
            if let Some(progress) = self.sub_session_progress(id) {
                *progress = owed.progress;
            }
        }
        // It may have been the last thing that kept a session open in which nothing else is said any more.
        if self.lifecycle.is_answering() || self.lifecycle.is_closing() {
            self.lifecycle.waiting().wake(&mut self.effects);
            self.effects.wake_driver();
        }
        if self.lifecycle.is_over() {
            return self.lifecycle.error().map_or(Ok(None), Err);
        }
        judge::answered(&mut self.rules, id).map_err(Error::from)
    }

    /// Writes a reply, to the peer or into the batch of its request.
    pub(super) fn write_reply(
        &mut self,
        to: ReplyTo,
        kind: MessageKind,
        write: impl Fn(&mut Vec<u8>, Dialect),
    ) {
        let dialect = self.rules.dialect();
        if self.owed.write_into_batch(to, |into| write(into, dialect)) {
            return self.check_output_limit();
        }
        write(self.outbox.composing(), dialect);
        self.appended(kind, to.tag);
    }

    /// A request of a batch is answered, or will not be. The last one sends the replies of all.
    pub(super) fn leave_batch(&mut self, key: Option<BatchKey>) {
        let Some(batch) = self.owed.leave_batch(key) else { return };
        let tag = batch.tag;
        if batch.finish(self.outbox.composing()) {
            self.appended(MessageKind::Batch, tag);
        }
    }

    /// The session is over. What has been replied is sent if `wanted`, without waiting for the rest.
    pub(super) fn leave_batches(&mut self, wanted: bool) {
        for batch in self.owed.take_batches() {
            let tag = batch.tag;
            if wanted && batch.finish(self.outbox.composing()) {
                self.outbox.said(MessageKind::Batch, tag, self.lifecycle.epoch(), None, &mut self.effects);
            }
        }
    }

    /// A request will not be answered.
    pub(super) fn forget_owed(&mut self, id: Option<&RequestId>) {
        let Some(ended) = id.and_then(|id| self.owed.end(id, &mut self.effects)) else { return };
        self.leave_batch(ended.to.batch);
        self.outbox.settled(ended.to.tag, &mut self.effects);
    }

    /// A mailbox holds a request of the peer.
    pub(crate) fn hold(&mut self, id: &RequestId, key: MailboxId) {
        if let Some(came) = self.owed.give_to(id, key) {
            self.inbox().notify_mailbox_of(key, came, Notice::Cancelled(id.clone()));
        }
    }

    /// A request that was cancelled gets no answer.
    pub(crate) fn forget_cancelled(&mut self, id: &RequestId) {
        // After a reconnection, another request may have the id.
        if self.owed.is_cancelled(id) == Some(true) {
            self.owed.end(id, &mut self.effects);
        }
    }
}
