//! The reply that opens a session: what waits for it, and a client that does not.

use mcp_runtime::observer::{Observed, ObservedKind};
use mcp_runtime::protocol::{RequestId, Side};

use super::finding::Finding;

/// How many findings wait for the reply.
const WAITING: usize = 16;

/// What is known of the reply that opens a session, before it has come.
///
/// Invariant: where the session goes on as if the reply had come, no finding waits for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpeningReply {
    /// What a side has not announced, while the reply that may announce it has not come. If it never comes, that is the cause.
    waiting: Vec<Finding>,
    /// The client has gone on without the reply, and it has not come so far.
    assumed: Option<AssumedReply>,
    /// The server has refused the request that opens the session, and the client has sent no other one.
    is_refused: bool,
}

/// A reply that opens the session, as if it had come: it is not in the log, or the client has not waited for it.
#[derive(Clone, Debug)]
pub(crate) struct AssumedReply {
    pub(crate) request: RequestId,
    /// What is found if it never comes.
    pub(crate) never_came: Finding,
    /// What is found if it comes late.
    pub(crate) too_early: Finding,
}

impl OpeningReply {
    /// A finding that the reply may explain, if it never comes. Returns it if too many wait, or the reply is assumed.
    pub(crate) fn hold(&mut self, finding: Finding) -> Option<Finding> {
        if self.assumed.is_some() || self.waiting.len() >= WAITING {
            return Some(finding);
        }
        self.waiting.push(finding);
        None
    }

    /// What has waited: the reply has come, or the session is over.
    pub(crate) fn release(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.waiting)
    }

    /// The session goes on as if the reply had come. What has waited for it has that cause.
    pub(crate) fn assume(&mut self, reply: AssumedReply) {
        self.waiting.clear();
        self.assumed = Some(reply);
    }

    /// The request that opens the session was sent, or has its reply; whether that refuses it.
    pub(crate) fn note_refused(&mut self, is_refused: bool) {
        self.is_refused = is_refused;
    }

    /// Whether the server has refused to open the session, and was not asked again.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// The session goes on although it was refused. What has waited for the reply has that cause.
    pub(crate) fn pass_over(&mut self) {
        self.waiting.clear();
    }

    /// Whether the client has gone on without the reply, and it has not come so far.
    pub(crate) fn is_assumed(&self) -> bool {
        self.assumed.is_some()
    }

    /// Whether the reply without which the client has gone on is among these messages. Then the client was too early,
    /// and that is found.
    pub(crate) fn comes_late(&mut self, observed: &[Observed]) -> Option<Finding> {
        let assumed = self.assumed.as_ref()?;
        let is_reply = |one: &Observed| {
            let is_answer = matches!(one.kind, ObservedKind::Result | ObservedKind::Error);
            one.sender == Side::Server && is_answer && one.id.as_ref() == Some(&assumed.request)
        };
        observed.iter().any(is_reply).then(|| self.assumed.take())?.map(|assumed| assumed.too_early)
    }

    /// The session is over: what is found if the client has gone on without a reply that never came.
    pub(crate) fn never_came(&mut self) -> Option<Finding> {
        self.assumed.take().map(|assumed| assumed.never_came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply() -> AssumedReply {
        AssumedReply {
            request: RequestId::Number(1),
            never_came: Finding::example("never came"),
            too_early: Finding::example("too early"),
        }
    }

    #[test]
    fn what_waits_is_found_once() {
        let mut opening = OpeningReply::default();
        assert!(opening.hold(Finding::example("first")).is_none());
        assert_eq!(opening.release().len(), 1);
        assert_eq!(opening.release().len(), 0);
    }

    #[test]
    fn no_more_waits_than_there_is_room_for() {
        let mut opening = OpeningReply::default();
        let held = (0..WAITING + 1).filter(|_| opening.hold(Finding::example("one")).is_none()).count();
        assert_eq!(held, WAITING);
    }

    #[test]
    fn where_the_reply_is_assumed_nothing_waits_for_it() {
        let mut opening = OpeningReply::default();
        assert!(opening.hold(Finding::example("before")).is_none());
        opening.assume(reply());
        assert!(opening.hold(Finding::example("after")).is_some());
        assert_eq!(opening.release().len(), 0);
        assert_eq!(opening.never_came().map(|finding| finding.message), Some("never came".to_owned()));
        assert!(opening.never_came().is_none());
    }
}
