//! Requests that stay open, such as a subscription, and how their receiver ends them: with the reply, or with a cancel.

use std::collections::VecDeque;

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Side};
use mcp_protocol_machine::{Awaiting, RequestId, Step, Violation};

use super::cancelling::{is_cancellable, stays_open};
use super::{Rules, judge, members};

/// How many requests are remembered.
const REMEMBERED: usize = 256;
/// How long the text of an id is that is remembered, in bytes.
const LONGEST_ID: usize = 512;

/// How the receiver of a request has ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndedBy {
    /// With its reply.
    Reply,
    /// With a cancel.
    Cancel,
}

/// Requests that stayed open, and that their receivers have ended in one of the two ways. The other one may follow.
///
/// Invariant: at most [`REMEMBERED`], oldest first, each request once, and no text of an id is longer than [`LONGEST_ID`].
#[derive(Clone, Debug, Default)]
pub(crate) struct EndedRequests(VecDeque<(Side, RequestId, EndedBy)>);

impl EndedRequests {
    fn note(&mut self, asker: Side, id: &RequestId, by: EndedBy) {
        if matches!(id, RequestId::Text(text) if text.len() > LONGEST_ID) {
            return;
        }
        // The reply that a cancel stands for is not another end.
        self.0.retain(|ended| (ended.0, &ended.1) != (asker, id));
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((asker, id.clone(), by));
    }

    /// Whether a request was ended in this way, and the other one has not followed yet. From here on it has.
    fn take(&mut self, asker: Side, id: &RequestId, by: EndedBy) -> bool {
        let is_it = |ended: &(Side, RequestId, EndedBy)| ended.0 == asker && ended.1 == *id && ended.2 == by;
        let place = self.0.iter().rposition(is_it);
        place.and_then(|place| self.0.remove(place)).is_some()
    }
}

/// What a cancel does that the receiver of a request sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiverCancels {
    /// It ends this request, which is over as after an error. The other side may have cancelled it, too.
    Ends(MessageIndex),
    /// Nothing: its sender has ended the request with the reply. Peers may do both.
    Again,
}

/// What a notification in this direction does to the request of the other side that it names, if it cancels one that stays
/// open until its receiver ends it, such as a subscription.
pub(crate) fn receiver_cancels(
    rules: &mut Rules,
    direction: Direction,
    message: MessageIndex,
    id: &RequestId,
) -> Option<ReceiverCancels> {
    rules.message(message)?.cancels.as_ref()?;
    if matches!(rules.checker.awaiting(direction.flip(), id), Awaiting::Request(_)) {
        return None;
    }
    let asks = direction.flip();
    let request = match rules.checker.awaiting(direction, id) {
        Awaiting::Request(request) => Some(request),
        _ => rules.checker.retired(direction, id),
    };
    match request {
        Some(request) => (is_cancellable(rules, request) && stays_open(rules, asks, request))
            .then_some(ReceiverCancels::Ends(request)),
        None => {
            let asker = rules.sender(asks);
            rules.ended.take(asker, id, EndedBy::Reply).then_some(ReceiverCancels::Again)
        }
    }
}

/// The receiver of a request has ended it with a cancel in this direction.
pub(crate) fn note_cancel(rules: &mut Rules, direction: Direction, id: &RequestId) {
    let asker = rules.sender(direction.flip());
    rules.ended.note(asker, id, EndedBy::Cancel);
}

/// A reply in this direction was accepted: it may have ended a request that stayed open.
pub(crate) fn note_reply(
    rules: &mut Rules,
    direction: Direction,
    request: MessageIndex,
    id: &RequestId,
    step: &Step,
) {
    // Few replies end a sub-session.
    if step.sub_session.is_some() && stays_open(rules, direction.flip(), request) {
        let asker = rules.sender(direction.flip());
        rules.ended.note(asker, id, EndedBy::Reply);
    }
}

/// Whether a reply in this direction, to a request that does not run, is that of one which its receiver has ended with a
/// cancel. Peers may do both.
pub(crate) fn is_reply_after_cancel(rules: &mut Rules, direction: Direction, id: &RequestId) -> bool {
    let asker = rules.sender(direction.flip());
    rules.ended.take(asker, id, EndedBy::Cancel)
}

/// Judges the cancel with which the receiver of a request ends it: it does what an error would do in its place, late or not.
///
/// # Errors
/// If an error is not permitted.
pub(crate) fn end_request(
    rules: &mut Rules,
    direction: Direction,
    request: MessageIndex,
    id: &RequestId,
) -> Result<Step, Violation> {
    let is_running = matches!(rules.checker.awaiting(direction, id), Awaiting::Request(_));
    let step = match rules.refusal_of(request).filter(|_| is_running) {
        Some(refusal) => judge::reply(rules, direction, id, refusal, members::NOTHING),
        None => judge::stray_reply(rules, direction, id, None::<&str>),
    }?;
    note_cancel(rules, direction, id);
    Ok(step)
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
