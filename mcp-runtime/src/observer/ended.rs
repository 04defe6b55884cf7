//! Requests that stay open, such as a subscription, and how their receiver ends them: with the reply, or with a cancel.

use std::collections::VecDeque;

use mcp_protocol_machine::protocol::{MessageIndex, Side};
use mcp_protocol_machine::{Awaiting, RequestId, Step, Violation};

use super::{Observer, direction};
use crate::rules::judge;

/// How many requests are remembered.
const REMEMBERED: usize = 256;
/// How long the text of an id is that is remembered, in bytes.
const LONGEST_ID: usize = 512;

/// How the receiver of a request has ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndedBy {
    /// With its reply.
    Reply,
    /// With a cancel.
    Cancel,
}

/// Requests that stayed open, and that their receivers have ended in one of the two ways. The other one may follow.
///
/// Invariant: at most [`REMEMBERED`], oldest first, and no text of an id is longer than [`LONGEST_ID`].
#[derive(Clone, Debug, Default)]
pub(super) struct EndedRequests(VecDeque<(Side, RequestId, EndedBy)>);

impl EndedRequests {
    pub(super) fn note(&mut self, asker: Side, id: &RequestId, by: EndedBy) {
        if matches!(id, RequestId::Text(text) if text.len() > LONGEST_ID) {
            return;
        }
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((asker, id.clone(), by));
    }

    /// Whether a request was ended in this way, and the other one has not followed yet. From here on it has.
    pub(super) fn take(&mut self, asker: Side, id: &RequestId, by: EndedBy) -> bool {
        let is_it = |ended: &(Side, RequestId, EndedBy)| ended.0 == asker && ended.1 == *id && ended.2 == by;
        let place = self.0.iter().rposition(is_it);
        place.and_then(|place| self.0.remove(place)).is_some()
    }
}

impl Observer {
    /// Whether a notification cancels a request that its sender has ended with the reply: peers may do both.
    pub(super) fn ends_again(
        &mut self,
        sender: Side,
        message: MessageIndex,
        cancelled: Option<&RequestId>,
    ) -> bool {
        let cancelled = cancelled.filter(|_| self.is_cancel(message));
        cancelled.is_some_and(|id| self.ended.take(sender.other(), id, EndedBy::Reply))
    }

    /// Judges the cancel that ends a request of the other side: it does what an error would do in its place, late or not.
    ///
    /// # Errors
    /// If an error is not permitted.
    pub(super) fn end_request(
        &mut self,
        sender: Side,
        request: MessageIndex,
        id: &RequestId,
    ) -> Result<Step, Violation> {
        let (direction, no_result) = (direction(sender), None::<&str>);
        let is_running = matches!(self.rules.checker().awaiting(direction, id), Awaiting::Request(_));
        let step = match self.rules.refusal_of(request).filter(|_| is_running) {
            Some(refusal) => judge::reply(&mut self.rules, direction, id, refusal, no_result),
            None => judge::stray_reply(&mut self.rules, direction, id, no_result),
        }?;
        self.ended.note(sender.other(), id, EndedBy::Cancel);
        Ok(step)
    }

    fn is_cancel(&self, message: MessageIndex) -> bool {
        self.rules.message(message).is_some_and(|table| table.cancels.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut ended = EndedRequests::default();
        for number in 0..1_000 {
            ended.note(Side::Client, &RequestId::Number(number), EndedBy::Reply);
        }
        assert_eq!(ended.0.len(), REMEMBERED);
        assert!(!ended.take(Side::Client, &RequestId::Number(0), EndedBy::Reply));
        assert!(!ended.take(Side::Client, &RequestId::Number(999), EndedBy::Cancel));
        assert!(ended.take(Side::Client, &RequestId::Number(999), EndedBy::Reply));
        assert!(!ended.take(Side::Client, &RequestId::Number(999), EndedBy::Reply), "only once");
        let long = RequestId::from("x".repeat(LONGEST_ID + 1));
        ended.note(Side::Client, &long, EndedBy::Reply);
        assert!(!ended.take(Side::Client, &long, EndedBy::Reply));
    }
}
