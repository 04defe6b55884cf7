//! Requests that this side has announced a capability for, and has no handler for.

use mcp_protocol_machine::protocol::MessageIndex;

use super::state::Engine;
use crate::report::Report;

impl Engine {
    /// A handler of the session, or of a sub-session, begins: each request that needs a capability, and whether the
    /// handler leaves it to its default method.
    pub(crate) fn handler_began(&mut self, requests: &[(MessageIndex, bool)]) {
        self.unhandled.begin(requests);
        self.report_unhandled();
    }

    /// A handler has begun, or this side has announced what it can do: reports each capability that was announced and of
    /// which no request has a handler. Each is reported once.
    pub(super) fn report_unhandled(&mut self) {
        let is_announced = |request: &MessageIndex| {
            self.rules.message(*request).is_some_and(|table| self.rules.announced_for(table).is_some())
        };
        if !self.unhandled.waiting().iter().any(is_announced) {
            return;
        }
        let mut found: Vec<(String, Vec<MessageIndex>)> = Vec::new();
        let mut waiting = Vec::new();
        for request in self.unhandled.take() {
            let Some(table) = self.rules.message(request) else { continue };
            let Some(capability) = self.rules.announced_for(table) else {
                waiting.push(request);
                continue;
            };
            match found.iter_mut().find(|(known, _)| *known == capability) {
                Some((_, requests)) => requests.push(request),
                None => found.push((capability, vec![request])),
            }
        }
        self.unhandled.keep(waiting);
        let needs = |request: MessageIndex, capability: &str| {
            let announced = self.rules.message(request).and_then(|table| self.rules.announced_for(table));
            announced.is_some_and(|announced| announced == capability)
        };
        found.retain(|(capability, requests)| {
            !self.rules.handles_some(capability, requests)
                && !self.unhandled.implements(|request| needs(request, capability))
        });
        found.retain(|(capability, _)| self.unhandled.report(capability));
        for (capability, requests) in found {
            let methods = requests.into_iter().map(|request| self.rules.method(request)).collect();
            self.report(Report::Unhandled { capability, methods });
        }
    }
}
