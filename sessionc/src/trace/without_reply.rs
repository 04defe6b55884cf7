//! What a side sends in a sub-session without the reply for which it has to wait there.

use mcp_runtime::observer::Observer;
use mcp_runtime::protocol::{Kind, RequestId, Side};
use mcp_runtime::{Violation, ViolationKind};

use super::finding::Finding;

/// How many findings wait for a reply.
const WAITING: usize = 16;

/// Findings that say that a side has not waited for a reply, while that has not come. If it never comes, that is the cause.
///
/// Invariant: no two of them wait for the same reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct WithoutReply(Vec<(Side, RequestId, Finding)>);

impl WithoutReply {
    /// The request for whose reply a side has to wait before it sends what it has sent, if it is known which. The request
    /// that opens a session is not one of these.
    pub(crate) fn awaited(violation: &Violation, observer: &Observer) -> Option<RequestId> {
        if violation.kind != ViolationKind::NotPermitted {
            return None;
        }
        let asked = violation.awaited.iter().find_map(|awaited| match awaited.kind {
            Kind::Reply { request } => Some(request).filter(|request| !observer.begins_session(*request)),
            _ => None,
        })?;
        let mut running = observer.running(violation.sender).filter(|(_, request)| *request == asked);
        let (only, other) = (running.next(), running.next());
        only.filter(|_| other.is_none()).map(|(id, _)| id.clone())
    }

    /// A side has gone on without the reply to its request. Returns the finding if it cannot wait.
    pub(crate) fn hold(&mut self, asker: Side, id: RequestId, finding: Finding) -> Option<Finding> {
        if self.0.len() >= WAITING || self.place(asker, &id).is_some() {
            return Some(finding);
        }
        self.0.push((asker, id, finding));
        None
    }

    /// What has waited for the reply to a request: the reply has come, or is known to be missing.
    pub(crate) fn take(&mut self, asker: Side, id: &RequestId) -> Option<Finding> {
        let place = self.place(asker, id)?;
        Some(self.0.remove(place).2)
    }

    /// What still waits.
    pub(crate) fn drain(&mut self) -> Vec<(Side, RequestId, Finding)> {
        std::mem::take(&mut self.0)
    }

    fn place(&self, asker: Side, id: &RequestId) -> Option<usize> {
        self.0.iter().position(|(side, known, _)| (*side, known) == (asker, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_finding_waits_for_each_reply() {
        let mut early = WithoutReply::default();
        let mut hold = |number, what| {
            let held = early.hold(Side::Client, RequestId::Number(number), Finding::example(what));
            held.map(|finding| finding.message)
        };
        assert_eq!(hold(1, "first"), None);
        assert_eq!(hold(1, "second"), Some("second".to_owned()));
        let held = (2..40).filter(|number| hold(*number, "other").is_none()).count();
        assert_eq!(held, WAITING - 1);
        let mut take = |side| early.take(side, &RequestId::Number(1)).map(|finding| finding.message);
        assert_eq!(take(Side::Server), None);
        assert_eq!(take(Side::Client), Some("first".to_owned()));
        assert_eq!(take(Side::Client), None);
    }
}
