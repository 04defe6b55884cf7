//! How a session over HTTP ends.
//!
//! In: the word that the session has said everything. Out: its last messages delivered, and the session deleted at the
//! server. Refuses to invent an input: messages come with answers, so the stream of bytes is silent for ever.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

use super::conversation::Conversation;

/// An input that says nothing and does not end.
#[derive(Debug)]
pub(super) struct Silence;

impl AsyncRead for Silence {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncBufRead for Silence {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Pending
    }

    fn consume(self: Pin<&mut Self>, _: usize) {}
}

/// An output that is closed by ending the conversation.
pub(super) struct Closing {
    conversation: Arc<Conversation>,
    ending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Closing {
    pub(super) fn new(conversation: Arc<Conversation>) -> Closing {
        Closing { conversation, ending: None }
    }
}

impl AsyncWrite for Closing {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // There are none; messages leave by the outlet.
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.ending.is_none() {
            self.conversation.state().drained = Some(context.waker().clone());
            if !self.conversation.is_drained() {
                return Poll::Pending;
            }
            let conversation = Arc::clone(&self.conversation);
            self.ending = Some(Box::pin(async move { conversation.end().await }));
        }
        match &mut self.ending {
            Some(ending) => ending.as_mut().poll(context).map(Ok),
            None => Poll::Ready(Ok(())),
        }
    }
}
