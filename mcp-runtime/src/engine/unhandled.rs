//! Requests that this side has announced a capability for, and has no handler for.

use mcp_protocol_machine::protocol::{Holder, Kind, Message, MessageIndex};

use super::state::Engine;
use crate::report::Report;

impl Engine {
    /// A handler begins, and leaves these requests to its default methods.
    pub(crate) fn handler_began(&mut self, unhandled: Vec<MessageIndex>) {
        self.unhandled = unhandled;
        self.report_unhandled();
    }

    /// A handler has begun, or this side has announced what it can do: reports each capability that was announced and of
    /// which no request has a handler. Each is reported once.
    pub(super) fn report_unhandled(&mut self) {
        let mut found: Vec<(String, Vec<MessageIndex>)> = Vec::new();
        let mut waiting = Vec::new();
        for request in std::mem::take(&mut self.unhandled) {
            let Some(table) = self.message(request) else { continue };
            let Some(capability) = self.announced_for(table) else {
                waiting.push(request);
                continue;
            };
            match found.iter_mut().find(|(known, _)| *known == capability) {
                Some((_, requests)) => requests.push(request),
                None => found.push((capability, vec![request])),
            }
        }
        self.unhandled = waiting;
        found.retain(|(capability, requests)| !self.handles_some(capability, requests));
        for (capability, requests) in found {
            let methods = requests.into_iter().map(|request| self.method(request)).collect();
            self.report(Report::Unhandled { capability, methods });
        }
    }

    /// Whether a request of a capability has a handler, where these have none. A server that lists resources need not
    /// have templates of them. What belongs to a sub-session by a key says nothing: its value may be what handles it.
    fn handles_some(&self, capability: &str, unhandled: &[MessageIndex]) -> bool {
        (0..=u16::MAX).map(MessageIndex).zip(self.protocol.messages.iter()).any(|(index, table)| {
            table.kind == Kind::Request
                && table.keys.is_empty()
                && !unhandled.contains(&index)
                && self.announced_for(table).is_some_and(|known| known == capability)
        })
    }

    /// The capability by which this side has said that it handles a request; nothing if it needs none, or if one that it
    /// always needs was not announced. Of several it is the last one, which says most.
    fn announced_for(&self, request: &Message) -> Option<String> {
        let always = request.requires.iter().filter(|requirement| requirement.condition.is_none());
        let own = always.filter(|requirement| match requirement.holder {
            Holder::Side(side) => side == self.side,
            Holder::Receiver => true,
            Holder::Sender => false,
        });
        let granted = self.checker.capabilities(self.side);
        let mut last = None;
        for requirement in own {
            if !granted.grants(requirement.gate) {
                return None;
            }
            last = Some(requirement.gate);
        }
        let gate = self.protocol.gate(last?)?;
        Some(gate.path.join("."))
    }
}
