//! Ends a POST before its answer does, once its caller does not wait any more or the session is lost.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::conversation::Conversation;
use super::message::PostMessage;
use super::running::Over;

/// The delivery of one message. It is a part of every running call, so it is polled in place and copies no futures.
pub(super) struct RunningPost<'a> {
    conversation: &'a Conversation,
    ids: &'a [i64],
}

impl<'a> RunningPost<'a> {
    pub(super) fn new(conversation: &'a Conversation, message: &'a PostMessage) -> RunningPost<'a> {
        RunningPost { conversation, ids: message.asks() }
    }

    /// Works until that is done, or all requests of the message are over and the time is past that `left` then still
    /// gives it. A message without requests is not over before it is delivered; it has a limit instead, `post_within`.
    /// A call has the timeout of its caller.
    pub(super) fn until_over<T>(
        &self,
        mut work: Pin<&mut impl Future<Output = T>>,
        left: impl Fn(Over) -> Duration,
    ) -> impl Future<Output = Result<T, Over>> {
        let limit = self.ids.is_empty().then_some(self.conversation.options.post_within);
        let mut end = limit.map(|limit| Box::pin(tokio::time::sleep(limit)));
        let mut known: Option<Over> = None;
        poll_fn(move |context| {
            while let Poll::Ready(over) = self.poll_over(context, known) {
                let left = left(over);
                if left.is_zero() {
                    return Poll::Ready(Err(over));
                }
                known = Some(over);
                let until = Instant::now().checked_add(left);
                end = until.map(|until| Box::pin(tokio::time::sleep_until(until)));
            }
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            match end.as_mut().map(|end| end.as_mut().poll(context)) {
                Some(Poll::Ready(())) => Poll::Ready(Err(known.unwrap_or(Over::Late))),
                _ => Poll::Pending,
            }
        })
    }

    /// Waits until all its requests are over for another reason than the known one.
    fn poll_over(&self, context: &Context<'_>, known: Option<Over>) -> Poll<Over> {
        let mut replaced = Vec::new();
        let mut state = self.conversation.state();
        let over = state.requests.poll_over(context, self.ids, known, &mut replaced);
        drop(state);
        // Dropping a waker may run foreign code, so it is not done under the lock.
        drop(replaced);
        over
    }
}

impl Drop for RunningPost<'_> {
    fn drop(&mut self) {
        for id in self.ids {
            let gone = self.conversation.state().requests.end(*id);
            // The lock is released by now.
            drop(gone);
        }
    }
}
