//! Replies of the peer.
//!
//! Where a reply cannot be accepted, it is not known whether the peer carried the request out. So a step whose replies lead
//! to different states ends the session, because this side could only guess in which of them the peer is. Any other request
//! fails by itself.

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{Awaiting, RequestId, StepKind};

use super::owners::calls::Answer;
use super::owners::context::{Accepted, Inbound};
use super::owners::inputs::{Body, LinearInput};
use super::owners::trace::{ExchangeOutcome, RequestName};
use super::state::Engine;
use crate::driver::Received;
use crate::error::{DisconnectReason, Error, InvalidReply, ReplyProblem};
use crate::jsonrpc::{Envelope, Fault, NO_BATCH, RpcError, batch, number_meant, parse};
use crate::rules::members::Carried;
use crate::rules::names::to_be_read;
use crate::rules::{announcements, ended, judge};

impl Engine {
    /// Takes a reply of the peer.
    pub(super) fn reply_came(
        &mut self,
        inbound: Inbound<'_>,
        id: &RequestId,
        outcome: Result<&str, RpcError>,
    ) -> Received {
        let Awaiting::Request(request) = self.rules.checker().awaiting(Direction::Receive, id) else {
            if ended::is_reply_after_cancel(&mut self.rules, Direction::Receive, id) {
                self.traces.ignored(&self.rules, None, RequestName::Id(id.clone()));
                return Received::default();
            }
            let result = outcome.as_ref().ok().copied();
            return match judge::stray_reply(&mut self.rules, Direction::Receive, id, result) {
                Ok(_) => {
                    self.traces.ignored(&self.rules, None, RequestName::Id(id.clone()));
                    Received::default()
                }
                Err(violation) => {
                    let received = self.refused(inbound, None, violation.clone());
                    // The caller has its answer, under an id that is not the one it sent.
                    if let RequestId::Text(text) = id
                        && let Some(meant) = number_meant(text)
                    {
                        self.reply_rejected(&meant, ReplyProblem::NotPermitted(violation));
                    }
                    received
                }
            };
        };
        let result = outcome.as_ref().ok().copied();
        let carried = Carried { payload: result, members: inbound.members };
        let (step, message) = match judge::reply_to(&mut self.rules, id, request, carried) {
            Ok(judged) => judged,
            Err(violation) => {
                let received = self.refused(inbound, None, violation.clone());
                self.reply_rejected(id, ReplyProblem::NotPermitted(violation));
                return received;
            }
        };
        ended::note_reply(&mut self.rules, Direction::Receive, request, id, &step);
        let Accepted { step, negotiation } = self.accepted(step, message, result, true);
        let became = outcome
            .as_ref()
            .map_or_else(|error| ExchangeOutcome::Error(error.code), |_| ExchangeOutcome::Result);
        self.traces.over(Direction::Send, id, became);
        self.outbox.not_awaited(id, &mut self.effects);
        if step.kind.is_dropped() {
            return Received::default();
        }
        if let RequestId::Number(number) = id
            && let Some(is_typed) = self.inbox.calls().is_typed(*number)
        {
            // A session without types shows what came; a type is read from what stands for it.
            let table = self.rules.message(message).filter(|_| is_typed);
            let read = outcome.map(|result| Answer {
                message,
                text: table
                    .map_or(result, |table| to_be_read(self.rules.protocol(), table, Some(result)))
                    .into(),
            });
            let read = negotiation.map_or_else(|| read.map_err(Error::Refused), |error| Err(*error));
            self.calls().complete_in_order(*number, read);
            self.inbox().end_behind_value(&step);
        } else if self.calls().abandoned_reply_came(id) {
            // No task misses the reply: the request leads back to where it was sent, or was not sent by the value.
            self.inbox().end_behind_value(&step);
        } else if matches!(step.kind, StepKind::Linear { .. }) {
            let input = LinearInput::reply(message, id, outcome.into(), negotiation, self.inbox.latest());
            self.linear_came(input, step.kind);
        } else if let Some(sub_session) = step.sub_session {
            let refused = outcome.as_ref().err().map(|error| Error::Refused(error.clone()));
            let input = LinearInput::reply(message, id, outcome.into(), negotiation, self.inbox.latest());
            self.sub_session_came(sub_session, input);
            if let (Some(error), StepKind::SubSession { ended: true }) = (refused, step.kind) {
                // The refusal may have come where its value waits for something else.
                self.inbox().end_sub_session(sub_session, error);
            }
        }
        // Otherwise the call was dropped while it ran; no task waits for its reply.
        Received::default()
    }

    /// A malformed line was meant as the reply to a request of this side.
    pub(super) fn malformed_reply_came(&mut self, id: &RequestId, fault: Fault, error: RpcError) {
        let problem = match fault {
            Fault::TooLong(limit) => ReplyProblem::TooLong(limit),
            Fault::TooDeep(limit) => ReplyProblem::TooDeep(limit),
            Fault::NotUtf8 => ReplyProblem::NotUtf8,
            Fault::Malformed => ReplyProblem::Malformed(error.message),
        };
        self.reply_rejected(id, problem);
    }

    /// A list came where the protocol has no batches. The callers of the replies in it learn of it.
    pub(super) fn list_rejected(&mut self, line: &[u8]) {
        let options = self.rules.options();
        let (most, deepest, dialect) = (options.max_batch, options.max_depth, self.rules.dialect());
        for message in batch(line, most).unwrap_or_default() {
            if let Ok(Envelope::Result { id, .. } | Envelope::Error { id, .. }) =
                parse(message.get().as_bytes(), deepest, dialect)
            {
                self.reply_rejected(&id, ReplyProblem::Malformed(NO_BATCH.to_owned()));
            }
        }
    }

    /// A reply to a running request of this side was rejected.
    pub(super) fn reply_rejected(&mut self, id: &RequestId, problem: ReplyProblem) {
        let Awaiting::Request(request) = self.rules.checker().awaiting(Direction::Receive, id) else {
            return;
        };
        let reply =
            InvalidReply { message: self.rules.name(request), method: self.rules.method(request), problem };
        let decides = self.rules.checker().reply_decides(Direction::Receive, id)
            || announcements::reply_announces(&self.rules, request);
        self.exchange_failed(id, request, Error::InvalidReply(reply.clone()));
        if decides {
            self.end(DisconnectReason::InvalidReply(reply));
        }
    }

    /// A request of this side that is not a step was not delivered, or nothing will answer it.
    pub(crate) fn request_failed(&mut self, id: i64, error: Error) {
        let id = RequestId::Number(id);
        if let Awaiting::Request(request) = self.rules.checker().awaiting(Direction::Receive, &id)
            && self.lifecycle.is_open()
        {
            self.exchange_failed(&id, request, error);
        }
    }

    /// A running request of this side has no reply that could be used. For the state machine it is as if the peer had
    /// refused it.
    fn exchange_failed(&mut self, id: &RequestId, request: MessageIndex, error: Error) {
        let sub_session = self.rules.checker().sub_session_of(Direction::Send, id);
        let refusal = self.rules.refusal_of(request);
        let step = refusal.and_then(|refusal| {
            let step = self.rules.checker_mut().reply(Direction::Receive, id, refusal).ok()?;
            Some((refusal, step.kind))
        });
        self.traces.over(Direction::Send, id, ExchangeOutcome::Lost);
        self.outbox.not_awaited(id, &mut self.effects);
        self.end_awaiting();
        let RequestId::Number(number) = *id else { return };
        if self.inbox.calls().has(number) {
            self.calls().complete_in_order(number, Err(error));
        } else if self.calls().abandoned_reply_came(id) {
            // The request leads back to where it was sent, so no task misses the reply.
        } else if let Some((refusal, kind @ StepKind::Linear { .. })) = step {
            let body = Body::Rejected(error);
            let input = LinearInput::reply(refusal, id, body, None, self.inbox.latest());
            self.linear_came(input, kind);
        } else if let Some(sub_session) = sub_session {
            self.inbox().end_sub_session(sub_session, error);
        }
    }
}
