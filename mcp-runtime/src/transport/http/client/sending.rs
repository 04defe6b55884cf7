//! Streams a long message as the body of a request, and frees its room in the outbox as it is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::conversation::Conversation;

/// A message from this length on is sent in pieces. What is shorter counts as waiting until it is answered, which is
/// not worth the trouble.
pub(super) const LONG: usize = 16 * 1024;

/// A message on its way.
pub(super) struct MessageBody {
    pub(super) conversation: Arc<Conversation>,
    pub(super) rest: Bytes,
    /// Where it is counted how much has been taken, if it is.
    pub(super) taken: Option<Arc<SentBytes>>,
}

/// How much of a message the connection has taken, until counting stops.
#[derive(Debug, Default)]
pub(super) struct SentBytes(AtomicUsize);

impl SentBytes {
    /// Counting has stopped.
    const OVER: usize = usize::MAX;

    /// So much more; `false` if that counts no more.
    fn add(&self, length: usize) -> bool {
        let add = |now| if now == SentBytes::OVER { None } else { usize::checked_add(now, length) };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// All that was taken. From here on nothing counts.
    pub(super) fn all(&self) -> usize {
        self.0.swap(SentBytes::OVER, Ordering::Relaxed)
    }
}

impl Body for MessageBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(LONG);
        let piece = self.rest.split_to(length);
        if self.taken.as_ref().is_some_and(|taken| taken.add(length)) {
            self.conversation.taken(length);
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
