//! Any pair of byte streams that the program has opened itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf, split};

use crate::driver::{Endpoint, Framing, Limits, Pump, ReadBuffer, Transport, run};

/// How long the end of a session waits unless [`ByteStream::limits`] says otherwise: 2 s for the peer to read the last
/// messages, and 2 s for it to close its side.
const LIMITS: Limits = Limits::new(Duration::from_secs(2), Duration::from_secs(2));

/// A session over a stream of bytes that is open already: a TCP connection, a Unix socket, a pair of pipes, an encrypted
/// stream.
///
/// The program opens the stream; the transport reads, writes and closes it. One message stands on each line unless
/// [`framing`](Self::framing) says otherwise. A stream that fails ends the session with
/// [`DisconnectReason::Failed`](crate::DisconnectReason::Failed).
///
/// ```no_run
/// # async fn example() -> std::io::Result<()> {
/// use mcp_runtime::transport::{ByteStream, Framing};
/// use tokio::net::TcpStream;
///
/// let connection = TcpStream::connect("127.0.0.1:4000").await?;
/// let transport = ByteStream::new(connection).framing(Framing::ContentLength);
/// // let editor = Editor::new(transport);
/// # drop(transport);
/// # Ok(())
/// # }
/// ```
pub struct ByteStream<R, W> {
    reader: R,
    writer: W,
    framing: Framing,
    limits: Limits,
}

impl<S: AsyncRead + AsyncWrite> ByteStream<ReadHalf<S>, WriteHalf<S>> {
    /// A transport over a stream that goes both ways.
    pub fn new(stream: S) -> Self {
        let (reader, writer) = split(stream);
        Self::from_parts(reader, writer)
    }
}

impl<R: AsyncRead, W: AsyncWrite> ByteStream<R, W> {
    /// A transport that reads from one stream and writes to another.
    ///
    /// ```
    /// use mcp_runtime::transport::ByteStream;
    ///
    /// let (near, far) = tokio::io::duplex(4096);
    /// let (reader, writer) = tokio::io::split(near);
    /// let transport = ByteStream::from_parts(reader, writer);
    /// # drop((transport, far));
    /// ```
    pub fn from_parts(reader: R, writer: W) -> Self {
        Self { reader, writer, framing: Framing::Lines, limits: LIMITS }
    }

    /// Sets how messages are separated. By default each stands on a line of its own.
    #[must_use]
    pub fn framing(self, framing: Framing) -> Self {
        Self { framing, ..self }
    }

    /// Sets how long the end of the session waits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }
}

impl<R, W> fmt::Debug for ByteStream<R, W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ByteStream");
        shown.field("framing", &self.framing).field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl<R, W> Transport for ByteStream<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    async fn run(self, endpoint: Arc<dyn Endpoint>) {
        let pump = Pump::new(endpoint, ReadBuffer::new(self.reader), self.writer, self.framing);
        run(pump, self.limits).await;
    }
}
