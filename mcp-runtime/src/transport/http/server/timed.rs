//! A connection that fails if the peer does not read for too long.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A connection on which writing fails once nothing could be written for so long. Reading is as it was.
#[derive(Debug)]
pub(super) struct Timed<S> {
    inner: S,
    within: Duration,
    /// Runs while something waits to be written.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> Timed<S> {
    pub(super) fn new(inner: S, within: Duration) -> Timed<S> {
        Timed { inner, within, timer: None }
    }

    /// What writing came to, unless it has been waiting for too long.
    fn in_time<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.timer = None;
            return written;
        }
        let within = self.within;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(within)));
        if timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        let problem = "the client takes nothing of what is written to it";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, problem)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.in_time(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, bytes);
        self.in_time(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn writing_fails_once_nothing_was_taken_for_so_long() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut near = Timed::new(near, Duration::from_secs(10));
        let begun = Instant::now();
        let reading = tokio::spawn(async move {
            // Slowly, and then not at all.
            for _ in 0..5 {
                sleep(Duration::from_secs(9)).await;
                far.read_exact(&mut [0; 4]).await.unwrap();
            }
            far
        });
        let error = near.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!((error.kind(), begun.elapsed().as_secs()), (io::ErrorKind::TimedOut, 55));
        drop(reading.await.unwrap());
    }
}
