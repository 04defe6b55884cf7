//! Messages of the peer that the state accepts only behind a step of this side, such as what a client writes in one go
//! with `initialize`. They are judged in order once this side has taken the step.

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{Direction, MessageIndex};

use super::owners::context::Inbound;
use super::owners::early::EarlyMessage;
use super::state::Engine;
use crate::driver::Received;
use crate::jsonrpc::RpcError;
use crate::report::{DropReason, Report};
use crate::rules::names::id_at;

impl Engine {
    /// Whether a request comes too early, or has the id of one that did.
    pub(super) fn is_early_request(
        &self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        id: &RequestId,
    ) -> bool {
        // The replies of a batch wait for one another, so what is too early in one is refused at once.
        inbound.batch.is_none()
            && (self.early.has(id) || self.rules.checker().is_early(Direction::Receive, message))
    }

    /// Whether a notification comes too early, or takes a request back that did.
    pub(super) fn is_early_notification(
        &self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        cancels: Option<&RequestId>,
    ) -> bool {
        inbound.batch.is_none()
            && (cancels.is_some_and(|id| self.early.has(id))
                || self.rules.checker().is_early(Direction::Receive, message))
    }

    /// Holds a message that comes too early.
    pub(super) fn hold_early(
        &mut self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        id: Option<RequestId>,
        method: &str,
        params: Option<&str>,
    ) -> Received {
        // The answer to a request is awaited where it came in.
        let mut received = if id.is_some() { self.took_request(inbound) } else { Received::default() };
        let early = EarlyMessage {
            id,
            method: method.into(),
            params: params.map(Box::from),
            tag: inbound.tag,
            extension: inbound.extension.cloned(),
        };
        let name = self.rules.name(message);
        match self.early.hold(early, self.rules.checker().states(), self.rules.options()) {
            Ok(()) => self.report(Report::Early { message: name }),
            Err(early) => {
                if let Some(id) = &early.id {
                    let problem = format!("`{method}` came too early, and too much did: try again later");
                    // The request counts as accepted, and is settled with that.
                    received.refused = self.write_error(inbound, Some(id), &RpcError::busy(problem)).refused;
                    self.outbox.settled(early.tag, &mut self.effects);
                }
                self.report(Report::Dropped { message: name, cause: DropReason::QueueFull });
            }
        }
        received
    }

    /// This side may have taken the step that early messages wait for: judges them, in their order. Those that are
    /// early still are held again.
    pub(super) fn judge_early(&mut self) {
        let Some(now) = self.timers.now() else { return };
        if !self.early.are_due(self.rules.checker().states()) {
            return;
        }
        for early in self.early.take() {
            if !self.lifecycle.is_live() {
                return;
            }
            if self.is_early_still(Inbound::alone(early.tag, now), &early) {
                // There was room for all of them before.
                let _ = self.early.hold(early, self.rules.checker().states(), self.rules.options());
                continue;
            }
            let EarlyMessage { id, method, params, tag, extension } = early;
            let inbound = Inbound { held: true, extension: extension.as_ref(), ..Inbound::alone(tag, now) };
            self.order.next_message();
            match id {
                Some(id) => {
                    if self.request_came(inbound, id, &method, params.as_deref()).requests == 0 {
                        // It was refused, and has its answer.
                        self.outbox.settled(tag, &mut self.effects);
                    }
                }
                None => drop(self.notification_came(inbound, &method, params.as_deref())),
            }
        }
        if !self.goes_on() {
            // Tasks that wait for what may still come learn that nothing will.
            self.wake_everyone();
        }
    }

    /// Whether a message that was held is early still.
    fn is_early_still(&self, inbound: Inbound<'_>, early: &EarlyMessage) -> bool {
        let EarlyMessage { id, method, params, .. } = early;
        let params = params.as_deref();
        let Some(message) = self.rules.read_as(Direction::Receive, id.is_some(), method, params) else {
            return false;
        };
        match id {
            Some(id) => self.is_early_request(inbound, message, id),
            None => {
                let cancels = self.rules.message(message).and_then(|table| table.cancels.as_ref());
                let cancelled = cancels.and_then(|cancels| id_at(params, &cancels.id));
                self.is_early_notification(inbound, message, cancelled.as_ref())
            }
        }
    }

    /// Whether something may still come: from the peer, or of what it has said already.
    pub(super) fn goes_on(&self) -> bool {
        self.lifecycle.is_open() || (self.lifecycle.is_answering() && !self.early.is_empty())
    }
}
