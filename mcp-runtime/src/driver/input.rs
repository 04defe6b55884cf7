//! A read buffer that grows and shrinks with the traffic.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};

/// The size that a buffer starts with, and below which shrinking is not worth it.
const SMALL: usize = 4 * 1024;

/// The size at which growing ends; pipes and sockets rarely hold more.
const LARGE: usize = 64 * 1024;

/// Reads from `inner` through a buffer that adapts its size.
#[derive(Debug)]
pub(crate) struct ReadBuffer<R> {
    inner: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The longest read since the stream last ran dry.
    longest: usize,
}

impl<R> ReadBuffer<R> {
    /// Buffers `inner`; nothing is allocated before the first read.
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, buffer: Vec::new(), start: 0, end: 0, longest: 0 }
    }

    /// Prepares the buffer for the next read: it doubles once a read has filled it.
    fn make_room(&mut self) {
        if self.buffer.is_empty() {
            self.buffer.resize(SMALL, 0);
        } else if self.longest == self.buffer.len() && self.buffer.len() < LARGE {
            let doubled = self.buffer.len() * 2;
            self.buffer.resize(doubled, 0);
        }
    }

    /// Gives memory back when the stream has run dry and the last burst needed little of it.
    fn settle(&mut self) {
        if self.buffer.len() > SMALL && self.longest < self.buffer.len() / 4 {
            self.buffer = Vec::new();
        }
        self.longest = 0;
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for ReadBuffer<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let bytes = match self.as_mut().poll_fill_buf(context) {
            Poll::Ready(Ok(bytes)) => bytes,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        };
        let length = bytes.len().min(into.remaining());
        into.put_slice(bytes.get(..length).unwrap_or_default());
        self.consume(length);
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncRead + Unpin> AsyncBufRead for ReadBuffer<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        if this.start >= this.end {
            this.make_room();
            let mut into = ReadBuf::new(&mut this.buffer);
            match Pin::new(&mut this.inner).poll_read(context, &mut into) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    this.settle();
                    return Poll::Pending;
                }
            }
            this.start = 0;
            this.end = into.filled().len();
            this.longest = this.longest.max(this.end);
        }
        Poll::Ready(Ok(this.buffer.get(this.start..this.end).unwrap_or_default()))
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        self.start = self.start.saturating_add(amount).min(self.end);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;

    use tokio::io::{AsyncBufReadExt, AsyncReadExt};

    use super::*;

    #[tokio::test]
    async fn grows_under_load_and_shrinks_when_dry() {
        let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let mut input = ReadBuffer::new(tokio::net::UnixStream::from_std(near).unwrap());
        far.write_all(&vec![b'x'; 40 * 1024]).unwrap();
        let mut seen = 0;
        while seen < 40 * 1024 {
            let length = input.fill_buf().await.unwrap().len();
            seen += length;
            Pin::new(&mut input).consume(length);
        }
        assert!(input.buffer.len() > SMALL, "a full read doubles the buffer");
        // Two small bursts: the first still counts the large reads, the second shows that little is needed now.
        for _ in 0..2 {
            assert!(is_dry(&mut input).await);
            far.write_all(b"y").unwrap();
            let length = input.fill_buf().await.unwrap().len();
            Pin::new(&mut input).consume(length);
        }
        assert!(is_dry(&mut input).await);
        assert!(input.buffer.len() <= SMALL, "an idle buffer is small again");
    }

    #[tokio::test]
    async fn reads_as_a_plain_stream_too() {
        let mut text = String::new();
        ReadBuffer::new(&b"hello world"[..]).read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello world");
    }

    async fn is_dry<R: AsyncRead + Unpin>(input: &mut ReadBuffer<R>) -> bool {
        std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *input).poll_fill_buf(context).is_pending()))
            .await
    }
}
