//! Which requests the handlers of this side implement, of those that need a capability.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::MessageIndex;

/// What handlers of the session, and of its sub-sessions, leave to their default methods.
///
/// Invariants: nothing that some handler implements waits. A capability is reported once. Both are bounded by what the
/// protocol declares.
#[derive(Debug, Default)]
pub(crate) struct UnhandledRequests {
    implemented: BTreeSet<MessageIndex>,
    /// Those that were not reported, and may be as soon as their capability is announced.
    waiting: Vec<MessageIndex>,
    reported: BTreeSet<String>,
}

impl UnhandledRequests {
    /// A handler begins: each request that needs a capability, and whether the handler leaves it to its default method.
    pub(crate) fn begin(&mut self, requests: &[(MessageIndex, bool)]) {
        for &(request, is_default) in requests {
            if !is_default {
                self.implemented.insert(request);
            } else if !self.waiting.contains(&request) {
                self.waiting.push(request);
            }
        }
        let implemented = &self.implemented;
        self.waiting.retain(|request| !implemented.contains(request));
    }

    /// Those that were not reported.
    pub(crate) fn waiting(&self) -> &[MessageIndex] {
        &self.waiting
    }

    /// Takes those that were not reported.
    pub(crate) fn take(&mut self) -> Vec<MessageIndex> {
        std::mem::take(&mut self.waiting)
    }

    /// What was taken may still be reported later.
    pub(crate) fn keep(&mut self, waiting: Vec<MessageIndex>) {
        self.waiting = waiting;
    }

    /// Whether some handler implements a request that meets a condition.
    pub(crate) fn implements(&self, which: impl Fn(MessageIndex) -> bool) -> bool {
        self.implemented.iter().any(|request| which(*request))
    }

    /// A capability is reported. Returns whether this is the first time.
    pub(crate) fn report(&mut self, capability: &str) -> bool {
        self.reported.insert(capability.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_handler_implements_does_not_wait_for_another() {
        let [first, second, third] = [0, 1, 2].map(MessageIndex);
        let mut unhandled = UnhandledRequests::default();
        unhandled.begin(&[(first, true), (second, true)]);
        unhandled.begin(&[(first, false), (second, true), (third, true)]);
        assert!(unhandled.implements(|request| request == first));
        assert_eq!(unhandled.take(), [second, third]);
        assert_eq!(unhandled.take(), []);
        assert!(unhandled.report("tools") && !unhandled.report("tools"));
    }
}
