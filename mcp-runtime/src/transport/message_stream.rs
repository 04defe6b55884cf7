//! [`MessageStream`]: a stream and a sink of whole messages, such as those of a WebSocket.

use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use futures_sink::Sink;
use tokio::time::{Sleep, sleep};

use crate::driver::{End, Endpoint, Limits, MessagePort, Outcome, PortEvent, Transport};

/// How long the end of a session waits unless [`MessageStream::limits`] says otherwise: 2 s for the peer to read the last
/// messages, and 2 s for it to close its side.
const LIMITS: Limits = Limits::new(Duration::from_secs(2), Duration::from_secs(2));

/// How many messages are taken before others on the same thread have their turn.
const AT_ONCE: usize = 32;

/// A session over a stream and a sink of whole messages: a WebSocket, or queues.
///
/// The program opens the connection, and says which of what comes is a message. `docs/transports.md` has a WebSocket.
///
/// The end of the stream is the end of the connection: what the peer has asked and is not answered is given up, and its
/// handlers are dropped. Where the peer may still read then, say so with [`allow_half_close`](MessageStream::allow_half_close).
///
/// ```
/// use std::convert::Infallible;
/// use futures_core::Stream;
/// use mcp_runtime::transport::{MessageStream, Transport};
///
/// /// A transport that hears nothing but these, and whose own messages go nowhere.
/// fn replay(messages: impl Stream<Item = Result<Vec<u8>, Infallible>> + Send + 'static) -> impl Transport {
///     MessageStream::<_, _, String>::new(messages, futures_util::sink::drain())
/// }
/// ```
pub struct MessageStream<R, W, M> {
    incoming: R,
    outgoing: W,
    limits: Limits,
    half_close: bool,
    /// What the sink takes.
    messages: PhantomData<fn(M)>,
}

impl<R, W, M> MessageStream<R, W, M>
where
    R: Stream,
    W: Sink<M>,
    M: From<String>,
{
    /// A transport that takes the messages of the peer from a stream, and puts those of this side into a sink.
    pub fn new(incoming: R, outgoing: W) -> Self {
        MessageStream { incoming, outgoing, limits: LIMITS, half_close: false, messages: PhantomData }
    }

    /// Sets how long the end of the session waits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        MessageStream { limits, ..self }
    }

    /// A peer whose stream has ended still reads its replies, for as long as
    /// [`Options::answer_grace`](crate::Options::answer_grace) says.
    ///
    /// A WebSocket closes both directions at once; two queues, for example, do not.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use futures_util::{sink, stream};
    /// use mcp_runtime::transport::{MessageStream, Transport};
    ///
    /// /// Has a session answer these, and shows what it says.
    /// fn answered(requests: Vec<String>) -> impl Transport {
    ///     let show = sink::unfold((), |(), reply: String| async move { Ok::<(), Infallible>(println!("{reply}")) });
    ///     MessageStream::new(stream::iter(requests.into_iter().map(Ok::<_, Infallible>)), show).allow_half_close()
    /// }
    /// ```
    #[must_use]
    pub fn allow_half_close(self) -> Self {
        MessageStream { half_close: true, ..self }
    }
}

impl<R, W, M> fmt::Debug for MessageStream<R, W, M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MessageStream").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl<R, W, M, T, E> Transport for MessageStream<R, W, M>
where
    R: Stream<Item = Result<T, E>> + Send + 'static,
    W: Sink<M> + Send + 'static,
    M: From<String> + Send + 'static,
    T: AsRef<[u8]>,
    E: Into<Box<dyn StdError + Send + Sync>>,
    W::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    fn run(self, endpoint: Arc<dyn Endpoint>) -> impl Future<Output = ()> + Send {
        let mut carried = CarriedMessages {
            port: MessagePort::new(endpoint),
            incoming: Some(Box::pin(self.incoming)),
            outgoing: Some(Box::pin(self.outgoing)),
            sending: SinkProgress::Nothing,
            complete: false,
            limits: self.limits,
            half_close: self.half_close,
            waiting: None,
        };
        async move {
            poll_fn(|context| carried.poll(context)).await;
            carried.port.terminate(Outcome::Closed);
        }
    }
}

/// A session on its way over a stream and a sink.
struct CarriedMessages<R, W, M> {
    port: MessagePort,
    /// `None` once nothing more comes.
    incoming: Option<Pin<Box<R>>>,
    /// `None` once it is closed, or has failed.
    outgoing: Option<Pin<Box<W>>>,
    sending: SinkProgress<M>,
    /// The session has said everything.
    complete: bool,
    limits: Limits,
    /// The peer may read on when its stream has ended.
    half_close: bool,
    /// How long is still waited for what stands last.
    waiting: Option<Pin<Box<Sleep>>>,
}

/// How far the message has come that is being sent. It is kept between two polls, so that no message is put into the sink
/// twice.
enum SinkProgress<M> {
    Nothing,
    Waits(M),
    IsFlushed,
}

impl<R, W, M, T, E> CarriedMessages<R, W, M>
where
    R: Stream<Item = Result<T, E>>,
    W: Sink<M>,
    M: From<String>,
    T: AsRef<[u8]>,
    E: Into<Box<dyn StdError + Send + Sync>>,
    W::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    /// Works until the connection is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.poll_incoming(context);
        loop {
            if self.poll_outgoing(context).is_ready() && self.complete && self.outgoing.take().is_some() {
                self.waiting = self.limits.drain.map(|most| Box::pin(sleep(most)));
            }
            match self.port.poll_next(context) {
                Poll::Ready(PortEvent::Message(message)) => {
                    self.sending = SinkProgress::Waits(String::from_utf8_lossy(&message).into_owned().into());
                }
                Poll::Ready(PortEvent::Complete) => {
                    self.complete = true;
                    // A sink that has failed is closed already.
                    let most = if self.outgoing.is_some() { self.limits.flush } else { self.limits.drain };
                    self.waiting = most.map(|most| Box::pin(sleep(most)));
                }
                Poll::Ready(PortEvent::Abandoned) => return Poll::Ready(()),
                // The session has something to answer.
                Poll::Pending if self.is_cut_off() => {
                    self.outgoing = None;
                    self.port.output_failed(io::Error::new(
                        io::ErrorKind::BrokenPipe,
                        "the peer has closed the connection",
                    ));
                }
                Poll::Pending => break,
            }
        }
        if self.complete && self.outgoing.is_none() && self.incoming.is_none() {
            return Poll::Ready(());
        }
        let Some(waiting) = &mut self.waiting else { return Poll::Pending };
        ready!(waiting.as_mut().poll(context));
        if self.outgoing.take().is_some() {
            // The sink does not close. What the peer still says is not waited for, either.
            self.port.output_failed(io::Error::new(
                io::ErrorKind::TimedOut,
                "the peer did not read the last messages in time: see `Limits::flush`",
            ));
        }
        self.port.input_ended(End::GaveUp);
        Poll::Ready(())
    }

    /// Whether the session goes on, and the peer has closed the connection.
    fn is_cut_off(&self) -> bool {
        self.incoming.is_none() && self.outgoing.is_some() && !self.complete && !self.half_close
    }

    /// Delivers what has come.
    fn poll_incoming(&mut self, context: &mut Context<'_>) {
        for _ in 0..AT_ONCE {
            let Some(incoming) = &mut self.incoming else { return };
            let end = match incoming.as_mut().poll_next(context) {
                Poll::Ready(Some(Ok(message))) => {
                    self.port.deliver(message.as_ref());
                    continue;
                }
                Poll::Ready(Some(Err(error))) => End::Failed(io::Error::other(error)),
                Poll::Ready(None) => End::Eof,
                Poll::Pending => return,
            };
            self.incoming = None;
            self.port.input_ended(end);
            return;
        }
        context.waker().wake_by_ref();
    }

    /// Sends the message that is due, and closes the sink once there are no more. Ready if nothing is left to do.
    fn poll_outgoing(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let is_sending = !matches!(self.sending, SinkProgress::Nothing);
        if let Some(sink) = &mut self.outgoing
            && let Err(error) = ready!(poll_sink(sink.as_mut(), &mut self.sending, self.complete, context))
            && !self.complete
        {
            // One that fails to close has taken all messages before: it is taken for closed.
            self.outgoing = None;
            self.port.output_failed(io::Error::other(error));
        }
        if is_sending {
            self.sending = SinkProgress::Nothing;
            self.port.sent();
        }
        Poll::Ready(())
    }
}

/// Puts a message into a sink and flushes it, or closes the sink. Ready once that is done.
fn poll_sink<W: Sink<M>, M>(
    mut sink: Pin<&mut W>,
    sending: &mut SinkProgress<M>,
    complete: bool,
    context: &mut Context<'_>,
) -> Poll<Result<(), W::Error>> {
    if complete {
        return sink.poll_close(context);
    }
    if let SinkProgress::Waits(_) = sending {
        ready!(sink.as_mut().poll_ready(context))?;
        if let SinkProgress::Waits(message) = std::mem::replace(sending, SinkProgress::IsFlushed) {
            sink.as_mut().start_send(message)?;
        }
    }
    if let SinkProgress::IsFlushed = sending {
        ready!(sink.poll_flush(context))?;
        *sending = SinkProgress::Nothing;
    }
    Poll::Ready(Ok(()))
}
