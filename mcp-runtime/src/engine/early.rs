//! Messages of the peer that the state accepts only behind a step of this side, such as what a client writes in one go
//! with `initialize`. They are judged in order once this side has taken the step.

use std::collections::VecDeque;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{Direction, MessageIndex, StateIndex};

use super::context::Inbound;
use super::names::id_at;
use super::state::Engine;
use crate::driver::{Extension, Received, RequestTag};
use crate::jsonrpc::RpcError;
use crate::options::Options;
use crate::report::{DropReason, Report};

/// What a held message takes in addition to its text.
const OVERHEAD: usize = 128;

/// A message of the peer that came too early.
#[derive(Debug)]
pub(super) struct EarlyMessage {
    /// The id, if it is a request.
    id: Option<RequestId>,
    method: Box<str>,
    params: Option<Box<str>>,
    /// What the transport calls the message that it came in.
    tag: Option<RequestTag>,
    /// What its handler may ask for.
    extension: Option<Extension>,
}

impl EarlyMessage {
    /// About how many bytes it takes to hold it.
    fn cost(&self) -> usize {
        let id = match &self.id {
            Some(RequestId::Text(text)) => text.len(),
            Some(RequestId::Number(_)) | None => 0,
        };
        let params = self.params.as_ref().map_or(0, |params| params.len());
        OVERHEAD.saturating_add(id).saturating_add(self.method.len()).saturating_add(params)
    }
}

/// The messages of the peer that came too early, oldest first.
///
/// `bytes` is what they take together; neither that nor their number is above its limit. `states` are those of the
/// linear channels in which they were found to be early; as long as these last, so does that.
#[derive(Debug, Default)]
pub(super) struct EarlyMessages {
    held: VecDeque<EarlyMessage>,
    bytes: usize,
    states: Vec<StateIndex>,
}

impl EarlyMessages {
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether a request with this id is held.
    pub(super) fn has(&self, id: &RequestId) -> bool {
        self.held.iter().any(|message| message.id.as_ref() == Some(id))
    }

    /// Holds one more that is early in these states, if there is room.
    fn hold(
        &mut self,
        message: EarlyMessage,
        states: &[StateIndex],
        options: &Options,
    ) -> Result<(), EarlyMessage> {
        let bytes = self.bytes.saturating_add(message.cost());
        if self.held.len() >= options.max_early || bytes > options.max_early_bytes {
            return Err(message);
        }
        self.bytes = bytes;
        self.held.push_back(message);
        if self.states != states {
            self.states = states.to_vec();
        }
        Ok(())
    }

    /// Whether there are any that may not be early any more.
    fn are_due(&self, states: &[StateIndex]) -> bool {
        !self.held.is_empty() && self.states != states
    }

    /// Takes all of them.
    fn take(&mut self) -> VecDeque<EarlyMessage> {
        std::mem::take(self).held
    }
}

impl Engine {
    /// Whether a request comes too early, or has the id of one that did.
    pub(super) fn is_early_request(
        &self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        id: &RequestId,
    ) -> bool {
        // The replies of a batch wait for one another, so what is too early in one is refused at once.
        inbound.batch.is_none() && (self.early.has(id) || self.checker.is_early(Direction::Receive, message))
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
                || self.checker.is_early(Direction::Receive, message))
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
        let name = self.name(message);
        match self.early.hold(early, self.checker.states(), &self.options) {
            Ok(()) => self.report(Report::Early { message: name }),
            Err(early) => {
                if let Some(id) = &early.id {
                    let problem = format!("`{method}` came too early, and too much did: try again later");
                    // The request counts as accepted, and is settled with that.
                    received.refused = self.write_error(inbound, Some(id), &RpcError::busy(problem)).refused;
                    self.settle_tag(early.tag);
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
        if !self.early.are_due(self.checker.states()) {
            return;
        }
        for early in self.early.take() {
            if !self.lifecycle.is_live() {
                return;
            }
            if self.is_early_still(Inbound::alone(early.tag, now), &early) {
                // There was room for all of them before.
                let _ = self.early.hold(early, self.checker.states(), &self.options);
                continue;
            }
            let EarlyMessage { id, method, params, tag, extension } = early;
            let inbound = Inbound { held: true, extension: extension.as_ref(), ..Inbound::alone(tag, now) };
            self.order.next_message();
            match id {
                Some(id) => {
                    if self.request_came(inbound, id, &method, params.as_deref()).requests == 0 {
                        // It was refused, and has its answer.
                        self.settle_tag(tag);
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
        let Some(message) = self.read_as(Direction::Receive, id.is_some(), method, params) else {
            return false;
        };
        match id {
            Some(id) => self.is_early_request(inbound, message, id),
            None => {
                let cancels = self.message(message).and_then(|table| table.cancels.as_ref());
                let cancelled = cancels.and_then(|path| id_at(params, path));
                self.is_early_notification(inbound, message, cancelled.as_ref())
            }
        }
    }

    /// Whether something may still come: from the peer, or of what it has said already.
    pub(super) fn goes_on(&self) -> bool {
        self.lifecycle.is_open() || (self.lifecycle.is_answering() && !self.early.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &[StateIndex] = &[StateIndex(1)];

    fn early(id: i64, params: &str) -> EarlyMessage {
        EarlyMessage {
            id: Some(RequestId::Number(id)),
            method: "m".into(),
            params: Some(params.into()),
            tag: None,
            extension: None,
        }
    }

    #[test]
    fn no_more_is_held_than_may_be() {
        let options = Options::new().max_early(2);
        let mut messages = EarlyMessages::default();
        assert!(messages.is_empty() && messages.hold(early(1, "{}"), HERE, &options).is_ok());
        assert!(messages.hold(early(2, "{}"), HERE, &options).is_ok());
        assert!(messages.hold(early(3, "{}"), HERE, &options).is_err());
        assert!(!messages.are_due(HERE) && messages.are_due(&[StateIndex(2)]));
        assert!(messages.has(&2.into()) && !messages.has(&3.into()));
        let ids: Vec<_> = messages.take().into_iter().map(|message| message.id).collect();
        assert_eq!(ids, [Some(1.into()), Some(2.into())]);
        assert!(messages.is_empty() && messages.bytes == 0);
    }

    #[test]
    fn bytes_count_too() {
        let options = Options::new().max_early_bytes(2 * OVERHEAD);
        let mut messages = EarlyMessages::default();
        assert!(messages.hold(early(1, &"x".repeat(2 * OVERHEAD)), HERE, &options).is_err());
        assert!(messages.hold(early(1, &"x".repeat(OVERHEAD / 2)), HERE, &options).is_ok());
        assert!(messages.hold(early(2, ""), HERE, &options).is_err());
        assert_eq!(messages.take().len(), 1);
        assert!(messages.hold(early(2, ""), HERE, &options).is_ok());
    }
}
