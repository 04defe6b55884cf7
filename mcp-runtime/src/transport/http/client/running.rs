//! Ends a POST before its answer does, once its caller does not wait any more or the session is lost.

use std::collections::HashMap;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

use super::conversation::Conversation;
use super::message::PostMessage;

/// Why there is nothing to be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Over {
    /// The server has lost the session in which the request was made, and another was begun.
    Reconnected,
    /// The reply is not awaited any more.
    NotAwaited,
}

/// Notifies one request that it is over.
#[derive(Debug, Default)]
struct Signal {
    over: Option<Over>,
    waker: Option<Waker>,
}

impl Signal {
    fn tell(&mut self, over: Over) -> Option<Waker> {
        // `NotAwaited` is final.
        if self.over == Some(Over::NotAwaited) {
            return None;
        }
        self.over = Some(over);
        self.waker.take()
    }
}

/// The requests of this side that are not done with.
#[derive(Debug, Default)]
pub(super) struct Requests(HashMap<i64, Signal>);

impl Requests {
    /// The session has made requests.
    pub(super) fn made(&mut self, ids: &[i64]) {
        self.0.extend(ids.iter().map(|id| (*id, Signal::default())));
    }

    /// Requests are made in the session that there is now, perhaps once more.
    pub(super) fn made_here(&mut self, ids: &[i64]) {
        for id in ids {
            if let Some(signal) = self.0.get_mut(id).filter(|signal| signal.over == Some(Over::Reconnected)) {
                signal.over = None;
            }
        }
    }

    /// Whether a task waits for the reply to a request.
    pub(super) fn is_awaited(&self, id: i64) -> bool {
        self.0.get(&id).is_some_and(|signal| signal.over != Some(Over::NotAwaited))
    }

    /// No task waits for the reply to a request any more.
    pub(super) fn not_awaited(&mut self, id: i64) -> Option<Waker> {
        self.0.get_mut(&id)?.tell(Over::NotAwaited)
    }

    /// The same is so for all requests.
    pub(super) fn all(&mut self, over: Over) -> Vec<Waker> {
        self.0.values_mut().filter_map(|signal| signal.tell(over)).collect()
    }
}

/// What works on a message. One without requests is never over before it is delivered.
pub(super) struct RunningPost<'a> {
    conversation: &'a Conversation,
    ids: &'a [i64],
}

impl<'a> RunningPost<'a> {
    pub(super) fn new(conversation: &'a Conversation, message: &'a PostMessage) -> RunningPost<'a> {
        RunningPost { conversation, ids: message.asks() }
    }

    /// Does something until it is done, or the request is over and the time is past that `left` then still gives it.
    pub(super) async fn until_over<T>(
        &self,
        work: impl Future<Output = T>,
        left: impl Fn(Over) -> Duration,
    ) -> Result<T, Over> {
        let mut work = std::pin::pin!(work);
        let mut known: Option<(Over, Option<Instant>)> = None;
        loop {
            let before = known.map(|(over, _)| over);
            let end = async {
                match known {
                    Some((_, Some(end))) => tokio::time::sleep_until(end).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                over = poll_fn(|context| self.poll_over(context, before)) => {
                    let left = left(over);
                    if left.is_zero() {
                        return Err(over);
                    }
                    known = Some((over, Instant::now().checked_add(left)));
                }
                done = &mut work => return Ok(done),
                () = end => return Err(before.unwrap_or(Over::NotAwaited)),
            }
        }
    }

    /// Waits for the word that all its requests are over, if it is another one than that.
    fn poll_over(&self, context: &Context<'_>, known: Option<Over>) -> Poll<Over> {
        let mut state = self.conversation.state();
        let signals = &mut state.requests.0;
        // Of several requests the last one counts that is not awaited any more; but a reconnect counts for all of them.
        let over = self.ids.iter().map(|id| signals.get(id).and_then(|signal| signal.over)).min().flatten();
        if let Some(over) = over.filter(|_| over != known) {
            return Poll::Ready(over);
        }
        let mut replaced = Vec::new();
        for id in self.ids {
            let Some(signal) = signals.get_mut(id) else { continue };
            match &signal.waker {
                Some(waker) if waker.will_wake(context.waker()) => {}
                _ => replaced.extend(signal.waker.replace(context.waker().clone())),
            }
        }
        drop(state);
        // Dropping a waker may run foreign code, so it is not done under the lock.
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for RunningPost<'_> {
    fn drop(&mut self) {
        let mut state = self.conversation.state();
        let gone: Vec<_> = self.ids.iter().filter_map(|id| state.requests.0.remove(id)).collect();
        drop(state);
        drop(gone);
    }
}
