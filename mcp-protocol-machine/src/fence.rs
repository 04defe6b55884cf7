//! Fences: until when a step of one side excuses what the other side sends.
//!
//! A step of one side can make messages of the other side impermissible that are already on their way: the end of a
//! sub-session, a cancel, a state that is left. Over one FIFO per direction this excuse ends with the reply to the
//! first request that was written with the step or after it: who answers that request has received the step before.
//! What a side shows to have received by its steps is in [`trail`](crate::trail).

use crate::protocol::Direction;

/// Ends the lateness that a step has caused: the reply to this request of the side that took the step, or to a later
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fence(u64);

/// One thing for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BothWays<T> {
    send: T,
    receive: T,
}

impl Fence {
    /// No reply proves that the step was received.
    pub(crate) const NEVER: Fence = Fence(u64::MAX);
}

impl<T> BothWays<T> {
    pub(crate) const fn new(send: T, receive: T) -> BothWays<T> {
        BothWays { send, receive }
    }

    pub(crate) const fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::Send => &self.send,
            Direction::Receive => &self.receive,
        }
    }

    pub(crate) const fn get_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Send => &mut self.send,
            Direction::Receive => &mut self.receive,
        }
    }
}

/// How much of what one side wrote the other side is known to have received.
///
/// Invariant: `answered` never exceeds `written`. Requests are numbered from 1 in the order in which they are written,
/// so an answered request proves the receipt of all that have a lower number, and of whatever was written between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receipts {
    /// How many requests the side has written.
    written: u64,
    /// The highest number of those that were answered.
    answered: u64,
}

impl Receipts {
    /// The side writes a request. Returns what its reply proves.
    pub(crate) fn request(&mut self) -> Fence {
        self.written = self.written.saturating_add(1);
        Fence(self.written)
    }

    /// The fence of a step that is taken now and is not a request: the next request that is written.
    pub(crate) fn next(&self) -> Fence {
        Fence(self.written.saturating_add(1))
    }

    /// The fence of the request that was written last.
    pub(crate) fn last(&self) -> Fence {
        Fence(self.written)
    }

    /// The reply to a request has come.
    pub(crate) fn reply(&mut self, request: Fence) {
        self.answered = self.answered.max(request.0.min(self.written));
    }

    /// Whether the other side is known to have received the step that has this fence.
    pub(crate) fn is_past(&self, fence: Fence) -> bool {
        self.answered >= fence.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reply_to_an_earlier_request_proves_nothing() {
        let mut receipts = Receipts::default();
        let before = receipts.request();
        let step = receipts.next();
        assert!(!receipts.is_past(step));
        receipts.reply(before);
        assert!(!receipts.is_past(step));
        let after = receipts.request();
        assert!(!receipts.is_past(step), "a request alone proves nothing");
        receipts.reply(after);
        assert!(receipts.is_past(step));
        assert!(!receipts.is_past(receipts.next()), "what is written now is not received yet");
    }

    #[test]
    fn a_request_is_proven_by_its_own_reply_and_by_that_of_a_later_one() {
        let mut receipts = Receipts::default();
        let (first, second) = (receipts.request(), receipts.request());
        receipts.reply(second);
        assert!(receipts.is_past(first) && receipts.is_past(second));
        receipts.reply(first);
        assert!(receipts.is_past(second), "an older reply changes nothing");
    }

    #[test]
    fn no_reply_proves_what_was_never_written() {
        let mut receipts = Receipts::default();
        let (first, mut other) = (receipts.request(), Receipts::default());
        other.reply(first);
        assert!(!other.is_past(other.next()));
    }
}
