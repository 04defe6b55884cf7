//! Replies that this side cannot accept.
//!
//! It is not known whether the peer carried the request out. So a step whose replies lead to different states ends the
//! session, because this side could only guess in which of them the peer is. Any other request fails by itself.

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex};
use mcp_protocol_machine::{Awaiting, RequestId, StepKind};

use super::owners::inputs::Body;
use super::owners::trace::Outcome;
use super::state::Engine;
use crate::error::{DisconnectReason, Error, InvalidReply, ReplyProblem};
use crate::jsonrpc::{Fault, RpcError};

impl Engine {
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

    /// A reply to a running request of this side was rejected.
    pub(super) fn reply_rejected(&mut self, id: &RequestId, problem: ReplyProblem) {
        let Awaiting::Request(request) = self.rules.checker().awaiting(Direction::Receive, id) else {
            return;
        };
        let reply =
            InvalidReply { message: self.rules.name(request), method: self.rules.method(request), problem };
        let decides =
            self.rules.checker().reply_decides(Direction::Receive, id) || self.reply_announces(request);
        self.exchange_failed(id, request, Error::InvalidReply(reply.clone()));
        if decides {
            self.end(DisconnectReason::InvalidReply(reply));
        }
    }

    /// Whether a reply to a request announces capabilities or a version, by which other messages are judged.
    fn reply_announces(&self, request: MessageIndex) -> bool {
        let announces = |message: MessageIndex| {
            self.rules.message(message).is_some_and(|table| table.kind == Kind::Reply { request })
        };
        let mut places =
            self.rules.protocol().announcements.iter().filter_map(|announcement| announcement.message);
        places.any(announces)
            || self.rules.protocol().version_field.as_ref().is_some_and(|field| announces(field.message))
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
        self.traces.over(Direction::Send, id, Outcome::Lost);
        self.outbox.not_awaited(id, &mut self.effects);
        self.end_awaiting();
        let RequestId::Number(number) = *id else { return };
        if self.calls.has(number) {
            self.complete_in_order(number, Err(error));
        } else if self.abandoned_reply_came(id) {
            // The request leads back to where it was sent, so no task misses the reply.
        } else if let Some((refusal, kind @ StepKind::Linear { .. })) = step {
            let input = self.reply_input(refusal, id, Body::Rejected(error), None);
            self.linear_came(input, kind);
        } else if let Some(sub_session) = sub_session {
            self.sub_sessions.end(sub_session, error, &mut self.effects);
        }
    }
}
