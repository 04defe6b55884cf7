//! Sessions that the peer has lost, and that the transport has opened once more.
//!
//! Nothing of the earlier epoch goes on: the peer's requests get no reply, its sub-sessions are over, and every value that
//! belongs to it gets [`Error::SessionReplaced`]. Calls without any reply so far stay: the transport sends them again, or
//! says why not.

use mcp_protocol_machine::protocol::Direction;
use mcp_protocol_machine::{RequestId, SubSessionNumber};

use super::owners::context::Caller;
use super::owners::mailboxes::Notice;
use super::owners::replicated::Arrived;
use super::owners::trace::ExchangeOutcome;
use super::state::Engine;
use crate::error::{DisconnectReason, Error, ReconnectError};
use crate::report::Report;
use crate::rules::beginning;

impl Engine {
    /// The peer has lost the session, and its beginning was said once more: this request, which got this result.
    pub(crate) fn reconnected(&mut self, request: &[u8], result: &[u8]) {
        if self.lifecycle.error().is_some() {
            return;
        }
        // A request outside of the linear channels can be made once more if a task waits for its first reply. Whatever a
        // value or a handler has a part in was of the lost session.
        let (calls, openers) = (self.inbox.calls(), self.inbox.sub_sessions().unbound_openers());
        let waits = |id: &RequestId| match id {
            RequestId::Number(id) => calls.is_repeatable(*id).unwrap_or_else(|| openers.contains(id)),
            RequestId::Text(_) => false,
        };
        let Some(lost) = self.rules.checker_mut().renew(waits) else {
            return self.end(DisconnectReason::SessionInvalid(ReconnectError::NotRepeatable));
        };
        self.lifecycle.reconnected();
        for error in beginning::announced_again(&mut self.rules, request, result) {
            // No message carries the error to the program; the report does.
            self.report(Report::NegotiationFailed { error });
        }
        let unattended = self.forget_asked();
        for id in &lost {
            self.traces.over(Direction::Send, id, ExchangeOutcome::Lost);
            self.outbox.not_awaited(id, &mut self.effects);
            if let RequestId::Number(number) = id {
                self.calls().complete(*number, Err(Error::SessionReplaced));
            }
        }
        self.end_lost_sub_sessions();
        for sub_session in unattended {
            // No value was made for it, and none will be.
            self.leave_sub_session(Caller::ANY, sub_session);
        }
        self.calls().forget_abandoned();
        self.report(Report::Reconnected);
    }

    /// The answers to what the peer has asked are not awaited any more. Its notifications from before it lost the
    /// session still count. Returns the sub-sessions that were not taken.
    fn forget_asked(&mut self) -> Vec<SubSessionNumber> {
        let mut unattended = Vec::new();
        self.inbox.early_mut().clear();
        for arrived in self.inbox.take_replicated(Arrived::is_asked) {
            unattended.extend(arrived.sub_session.map(|(sub_session, _)| sub_session));
        }
        self.leave_batches(false);
        for (id, owed) in self.owed.end_all(|_| true, &mut self.effects) {
            self.outbox.settled(owed.to.tag, &mut self.effects);
            self.traces.over(Direction::Receive, &id, ExchangeOutcome::Lost);
            if let Some(mailbox) = owed.mailbox {
                self.inbox().notify_mailbox(mailbox, Notice::Cancelled(id));
            }
        }
        self.inbox().reached();
        // A task that has answered waits here, and learns that its answer is not wanted.
        self.lifecycle.waiting().wake(&mut self.effects);
        unattended
    }
}
