//! The requests whose POSTs are not done with, and what ends one before its answer does.

use std::task::{Context, Poll, Waker};

use mcp_protocol_machine::IdTable;

/// Why there is nothing to be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Over {
    /// The server has not accepted the message in time.
    Late,
    /// The server has lost the session in which the request was made, and another was begun.
    Reconnected,
    /// The reply is not awaited any more.
    NotAwaited,
    /// The same, and the end of the request is what cancels it.
    Cancelled,
}

impl Over {
    /// Whether no task waits for the reply.
    fn is_final(self) -> bool {
        matches!(self, Over::NotAwaited | Over::Cancelled)
    }
}

/// Notifies one request that it is over.
#[derive(Debug, Default)]
struct Signal {
    over: Option<Over>,
    waker: Option<Waker>,
}

impl Signal {
    fn tell(&mut self, over: Over) -> Option<Waker> {
        // `Cancelled` is final, and `NotAwaited` gives way to it alone.
        if self.over.is_some_and(|before| before.is_final() && before >= over) {
            return None;
        }
        self.over = Some(over);
        self.waker.take()
    }
}

/// The requests of this side whose POSTs are not done with: which POST asks for which answer is known over HTTP alone.
///
/// Invariants: a request stands here once, from when the session hands its message over until the delivery of the
/// message is done or dropped. It is over at most for one reason: `Cancelled` is final, `NotAwaited` gives way to it alone, and `Reconnected` is taken
/// back where the message is posted once more in the new session.
#[derive(Debug, Default)]
pub(super) struct RunningRequests {
    signals: IdTable<i64, Signal>,
}

impl RunningRequests {
    /// The session has handed over a message with these requests.
    pub(super) fn begin(&mut self, ids: &[i64]) {
        self.signals.extend(ids.iter().map(|id| (*id, Signal::default())));
    }

    /// The message is posted in the present session, perhaps once more.
    pub(super) fn posted_here(&mut self, ids: &[i64]) {
        for id in ids {
            if let Some(signal) =
                self.signals.get_mut(id).filter(|signal| signal.over == Some(Over::Reconnected))
            {
                signal.over = None;
            }
        }
    }

    /// Whether a task waits for the reply to a request.
    pub(super) fn is_awaited(&self, id: i64) -> bool {
        self.signals.get(&id).is_some_and(|signal| !signal.over.is_some_and(Over::is_final))
    }

    /// No task waits for the reply to a request any more. Returns the waker of the task that posts it.
    #[must_use]
    pub(super) fn not_awaited(&mut self, id: i64) -> Option<Waker> {
        self.signals.get_mut(&id)?.tell(Over::NotAwaited)
    }

    /// The request is cancelled by the end of its POST.
    #[must_use]
    pub(super) fn cancelled(&mut self, id: i64) -> Option<Waker> {
        self.signals.get_mut(&id)?.tell(Over::Cancelled)
    }

    /// All requests are over.
    #[must_use]
    pub(super) fn all_over(&mut self, over: Over) -> Vec<Waker> {
        self.signals.values_mut().filter_map(|signal| signal.tell(over)).collect()
    }

    /// Waits until all the requests of a message are over for another reason than the known one. A waker that was
    /// replaced goes to `replaced`, to be dropped without the lock.
    pub(super) fn poll_over(
        &mut self,
        context: &Context<'_>,
        ids: &[i64],
        known: Option<Over>,
        replaced: &mut Vec<Waker>,
    ) -> Poll<Over> {
        // Of several requests the last one counts that is not awaited any more; but a reconnect counts for all of them.
        let over = ids.iter().map(|id| self.signals.get(id).and_then(|signal| signal.over)).min().flatten();
        if let Some(over) = over.filter(|_| over != known) {
            return Poll::Ready(over);
        }
        for id in ids {
            let Some(signal) = self.signals.get_mut(id) else { continue };
            match &signal.waker {
                Some(waker) if waker.will_wake(context.waker()) => {}
                _ => replaced.extend(signal.waker.replace(context.waker().clone())),
            }
        }
        Poll::Pending
    }

    /// The answer to a message is there, and read in one go: what ends its requests before is not waited for any more.
    /// Returns what is to be dropped without the lock.
    #[must_use]
    pub(super) fn answered(&mut self, ids: &[i64]) -> Vec<Waker> {
        ids.iter().filter_map(|id| self.signals.get_mut(id)?.waker.take()).collect()
    }

    /// The delivery of a request is done. Returns what is to be dropped without the lock.
    #[must_use]
    pub(super) fn end(&mut self, id: i64) -> Option<Waker> {
        self.signals.remove(&id)?.waker
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(requests: &mut RunningRequests, ids: &[i64], known: Option<Over>) -> Poll<Over> {
        requests.poll_over(&Context::from_waker(Waker::noop()), ids, known, &mut Vec::new())
    }

    #[test]
    fn a_request_is_over_once_no_task_waits_for_it() {
        let mut requests = RunningRequests::default();
        requests.begin(&[1, 2]);
        assert!(requests.is_awaited(1) && requests.is_awaited(2) && !requests.is_awaited(3));
        assert_eq!(poll(&mut requests, &[1], None), Poll::Pending);
        // The task that posts it waits, and is woken once.
        assert!(requests.not_awaited(1).is_some());
        assert!(requests.not_awaited(1).is_none());
        assert_eq!(poll(&mut requests, &[1], None), Poll::Ready(Over::NotAwaited));
        assert!(!requests.is_awaited(1) && requests.is_awaited(2));
        // A list is over with its last request.
        assert_eq!(poll(&mut requests, &[1, 2], None), Poll::Pending);
        assert!(requests.not_awaited(2).is_some());
        assert_eq!(poll(&mut requests, &[1, 2], None), Poll::Ready(Over::NotAwaited));
    }

    #[test]
    fn a_request_goes_on_where_it_is_posted_again() {
        let mut requests = RunningRequests::default();
        requests.begin(&[1, 2]);
        assert_eq!(poll(&mut requests, &[1], None), Poll::Pending);
        drop(requests.not_awaited(2));
        assert_eq!(requests.all_over(Over::Reconnected).len(), 1);
        assert_eq!(poll(&mut requests, &[1], None), Poll::Ready(Over::Reconnected));
        // Known already, it is waited for what comes after it.
        assert_eq!(poll(&mut requests, &[1], Some(Over::Reconnected)), Poll::Pending);
        assert!(requests.is_awaited(1), "it may be posted once more");
        requests.posted_here(&[1, 2]);
        assert_eq!(poll(&mut requests, &[1], None), Poll::Pending);
        // That no task waits is final.
        assert_eq!(poll(&mut requests, &[2], None), Poll::Ready(Over::NotAwaited));
    }

    #[test]
    fn a_cancel_is_heard_of_also_when_no_task_waits_any_more() {
        let mut requests = RunningRequests::default();
        requests.begin(&[1]);
        drop(requests.not_awaited(1));
        assert_eq!(poll(&mut requests, &[1], None), Poll::Ready(Over::NotAwaited));
        assert_eq!(poll(&mut requests, &[1], Some(Over::NotAwaited)), Poll::Pending);
        assert!(requests.cancelled(1).is_some() && !requests.is_awaited(1));
        assert_eq!(poll(&mut requests, &[1], Some(Over::NotAwaited)), Poll::Ready(Over::Cancelled));
        drop((requests.not_awaited(1), requests.all_over(Over::Reconnected)));
        assert_eq!(poll(&mut requests, &[1], None), Poll::Ready(Over::Cancelled));
    }

    #[test]
    fn nothing_is_kept_of_a_request_that_is_done_with() {
        let mut requests = RunningRequests::default();
        requests.begin(&[1, 2]);
        assert_eq!(poll(&mut requests, &[1, 2], None), Poll::Pending);
        assert!(requests.end(1).is_some() && requests.end(2).is_some());
        assert!(requests.signals.is_empty());
        assert!(requests.not_awaited(1).is_none());
        // A message without requests is never over.
        assert_eq!(poll(&mut requests, &[], None), Poll::Pending);
    }
}
