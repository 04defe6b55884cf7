//! Requests that this side has announced a capability for, and has no handler for.

use mcp_protocol_machine::protocol::{Holder, Message, MessageIndex, Text};

use super::engine::Engine;
use crate::report::Report;

/// The requests that the handler of this side leaves to its default methods, and that were not reported yet.
#[derive(Debug, Default)]
pub(crate) struct Unhandled {
    requests: Vec<MessageIndex>,
}

impl Engine {
    /// A handler begins, and leaves these requests to its default methods.
    pub(crate) fn handler_began(&mut self, unhandled: Vec<MessageIndex>) {
        self.unhandled = Unhandled { requests: unhandled };
        self.report_unhandled();
    }

    /// A handler has begun, or this side has announced what it can do: reports each capability that was announced and
    /// that lacks handlers, with all requests that lack one. Each is reported once.
    pub(super) fn report_unhandled(&mut self) {
        let mut found: Vec<(String, Vec<Text>)> = Vec::new();
        let mut waiting = Vec::new();
        for request in std::mem::take(&mut self.unhandled.requests) {
            let Some(table) = self.message(request) else { continue };
            let Some(capability) = self.announced_for(table) else {
                waiting.push(request);
                continue;
            };
            let method = table.method.clone();
            match found.iter_mut().find(|(known, _)| *known == capability) {
                Some((_, methods)) => methods.push(method),
                None => found.push((capability, vec![method])),
            }
        }
        self.unhandled.requests = waiting;
        for (capability, methods) in found {
            self.report(Report::Unhandled { capability, methods });
        }
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
