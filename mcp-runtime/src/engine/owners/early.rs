//! Messages of the peer that came too early.

use std::collections::VecDeque;
use std::sync::Arc;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{Direction, MessageIndex, StateIndex};

use super::context::Inbound;
use crate::driver::{Extension, RequestTag};
use crate::jsonrpc::OwnMembers;
use crate::options::Options;
use crate::rules::Rules;
use crate::rules::alternatives;
use crate::rules::names::id_at;

/// What a held message takes in addition to its text.
const OVERHEAD: usize = 128;

/// A message of the peer that came too early.
#[derive(Debug)]
pub(crate) struct EarlyMessage {
    /// The id, if it is a request.
    pub(crate) id: Option<RequestId>,
    pub(crate) method: Box<str>,
    pub(crate) params: Option<Box<str>>,
    /// What the transport calls the message that it came in.
    pub(crate) tag: Option<RequestTag>,
    /// What its handler may ask for.
    pub(crate) extension: Option<Arc<dyn Extension>>,
    /// The members of its envelope that the protocol has of its own.
    pub(crate) members: OwnMembers,
}

impl EarlyMessage {
    /// About how many bytes it takes to hold it.
    fn cost(&self) -> usize {
        let text = |id: &RequestId| match id {
            RequestId::Text(text) => text.len(),
            RequestId::Number(_) => 0,
        };
        let id = self.id.as_ref().map_or(0, text);
        let members: usize = self.members.iter().map(|(_, value)| text(value)).sum();
        let params = self.params.as_ref().map_or(0, |params| params.len());
        OVERHEAD
            .saturating_add(id)
            .saturating_add(members)
            .saturating_add(self.method.len())
            .saturating_add(params)
    }
}

/// The messages of the peer that came too early, oldest first.
///
/// `bytes` is what they take together; neither that nor their number is above its limit. `states` are those of the
/// linear channels in which they were found to be early; as long as these last, so does that.
#[derive(Debug, Default)]
pub(crate) struct EarlyMessages {
    held: VecDeque<EarlyMessage>,
    bytes: usize,
    states: Vec<StateIndex>,
}

impl EarlyMessages {
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether a request comes too early, or has the id of one that did.
    pub(crate) fn is_early_request(
        &self,
        rules: &Rules,
        inbound: Inbound<'_>,
        message: MessageIndex,
        id: &RequestId,
    ) -> bool {
        // The replies of a batch wait for one another, so what is too early in one is refused at once.
        inbound.batch.is_none() && (self.has(id) || rules.checker().is_early(Direction::Receive, message))
    }

    /// Whether a notification comes too early, or cancels a request that did.
    pub(crate) fn is_early_notification(
        &self,
        rules: &Rules,
        inbound: Inbound<'_>,
        message: MessageIndex,
        cancels: Option<&RequestId>,
    ) -> bool {
        inbound.batch.is_none()
            && (cancels.is_some_and(|id| self.has(id))
                || rules.checker().is_early(Direction::Receive, message))
    }

    /// Whether a message that was held is early still.
    pub(crate) fn is_early_still(&self, rules: &Rules, inbound: Inbound<'_>, early: &EarlyMessage) -> bool {
        let EarlyMessage { id, method, params, .. } = early;
        let params = params.as_deref();
        let Some(message) = alternatives::read_as(rules, Direction::Receive, id.is_some(), method, params)
        else {
            return false;
        };
        match id {
            Some(id) => self.is_early_request(rules, inbound, message, id),
            None => {
                let cancels = rules.message(message).and_then(|table| table.cancels.as_ref());
                let cancelled = cancels.and_then(|cancels| id_at(params, &cancels.id));
                self.is_early_notification(rules, inbound, message, cancelled.as_ref())
            }
        }
    }

    /// Whether a request with this id is held.
    pub(crate) fn has(&self, id: &RequestId) -> bool {
        self.held.iter().any(|message| message.id.as_ref() == Some(id))
    }

    /// Holds one more that is early in these states, if there is room.
    pub(crate) fn hold(
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

    /// None is wanted any more.
    pub(crate) fn clear(&mut self) {
        *self = EarlyMessages::default();
    }

    /// Whether there are any that may not be early any more.
    pub(crate) fn are_due(&self, states: &[StateIndex]) -> bool {
        !self.held.is_empty() && self.states != states
    }

    /// Takes all of them.
    pub(crate) fn take(&mut self) -> VecDeque<EarlyMessage> {
        std::mem::take(self).held
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
            members: OwnMembers::default(),
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
