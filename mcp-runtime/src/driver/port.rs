//! [`MessagePort`]: a session as a transport of whole messages sees it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::time::Instant;

use super::clock::Clocked;
use super::delivery::Delivery;
use super::endpoint::{Endpoint, Finish, TransportEvent};
use super::outlet::{Outgoing, Outlet, OutletNotice};
use crate::error::{End, Outcome};

/// A session as a transport sees it that carries whole messages, one after another in both directions.
///
/// [`MessageStream`](crate::transport::MessageStream) is such a transport over a stream and a sink; `docs/transports.md` has one
/// that is written with a port.
///
/// Dropping it ends the session with [`DisconnectReason::TransportDropped`](crate::DisconnectReason::TransportDropped).
///
/// ```
/// use std::{io, sync::Arc};
/// use mcp_runtime::Outcome;
/// use mcp_runtime::driver::{End, Endpoint, MessagePort, PortEvent, Transport};
/// use tokio::sync::mpsc::{Receiver, Sender};
///
/// /// A session over two queues of messages.
/// struct Queues {
///     incoming: Receiver<Vec<u8>>,
///     outgoing: Sender<Vec<u8>>,
/// }
///
/// impl Transport for Queues {
///     async fn run(self, endpoint: Arc<dyn Endpoint>) {
///         let Queues { mut incoming, outgoing } = self;
///         let mut port = MessagePort::new(endpoint);
///         let (mut open, mut message) = (true, None);
///         loop {
///             tokio::select! {
///                 event = port.next() => match event {
///                     PortEvent::Message(next) => message = Some(next),
///                     PortEvent::Complete | PortEvent::Abandoned => break,
///                 },
///                 // Goes on reading while there is no room for what is to be sent.
///                 permit = outgoing.reserve(), if message.is_some() => {
///                     match (permit, message.take()) {
///                         (Ok(permit), Some(message)) => permit.send(message),
///                         _ => port.output_failed(io::ErrorKind::BrokenPipe.into()),
///                     }
///                     port.sent();
///                 }
///                 received = incoming.recv(), if open => match received {
///                     Some(received) => port.deliver(&received),
///                     None => {
///                         open = false;
///                         port.input_ended(End::Eof);
///                     }
///                 },
///             }
///         }
///         port.terminate(Outcome::Closed);
///     }
/// }
/// ```
#[derive(Debug)]
pub struct MessagePort {
    session: Clocked,
    queue: MessageQueue,
    /// The session has said everything.
    complete: bool,
}

/// What a session wants of its transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortEvent {
    /// Send this message, and call [`MessagePort::sent`] then. The next one comes after that.
    Message(Vec<u8>),
    /// The session has said everything, and all messages were sent: close the connection. Late messages are still
    /// welcome.
    Complete,
    /// Nothing is wanted any more: drop the connection at once.
    Abandoned,
}

/// Messages that wait for the transport.
#[derive(Clone, Debug, Default)]
struct MessageQueue(Arc<Mutex<QueuedMessages>>);

#[derive(Debug, Default)]
struct QueuedMessages {
    messages: VecDeque<Vec<u8>>,
    /// How many bytes they have.
    bytes: usize,
    /// How many bytes the message has that the transport is sending.
    sending: usize,
    transport: Option<Waker>,
}

impl QueuedMessages {
    fn waiting(&self) -> usize {
        self.bytes.saturating_add(self.sending)
    }

    fn is_sent(&self) -> bool {
        self.messages.is_empty() && self.sending == 0
    }
}

impl MessageQueue {
    fn lock(&self) -> MutexGuard<'_, QueuedMessages> {
        // What is done under the lock does not panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet for MessageQueue {
    fn take(&mut self, outgoing: Outgoing<'_>, wake: &mut dyn FnMut(Waker)) -> usize {
        let mut queued = self.lock();
        queued.bytes = queued.bytes.saturating_add(outgoing.message.len());
        queued.messages.push_back(outgoing.message.to_vec());
        queued.transport.take().into_iter().for_each(wake);
        queued.waiting()
    }

    fn note(&mut self, notice: OutletNotice, _: &mut dyn FnMut(Waker)) {
        if notice == OutletNotice::Discarded {
            let mut queued = self.lock();
            queued.messages.clear();
            queued.bytes = 0;
        }
    }

    fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    fn routes(&self) -> bool {
        false
    }
}

impl MessagePort {
    /// Takes the part of the transport in a session.
    pub fn new(endpoint: Arc<dyn Endpoint>) -> MessagePort {
        let queue = MessageQueue::default();
        endpoint.attach(Box::new(queue.clone()));
        MessagePort { session: Clocked::new(endpoint), queue, complete: false }
    }

    /// Waits for what the session wants next, and tells it the time. Poll it also while a message is being sent: timeouts
    /// pass, and the session may be abandoned. [`PortEvent::Complete`] comes once, and after it only
    /// [`PortEvent::Abandoned`].
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> PortEvent {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// As [`next`](Self::next).
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<PortEvent> {
        let (complete, queue) = (self.complete, &self.queue);
        let finish = |finish| match finish {
            // Messages go first, those too that were said with the last words.
            Finish::Complete if complete || !queue.lock().is_sent() => None,
            finish => Some(finish),
        };
        let finish = match self.session.poll(context, finish) {
            Poll::Ready(Finish::Abandoned) => return Poll::Ready(PortEvent::Abandoned),
            finish => finish,
        };
        let mut queued = self.queue.lock();
        if queued.sending == 0
            && let Some(message) = queued.messages.pop_front()
        {
            queued.bytes = queued.bytes.saturating_sub(message.len());
            queued.sending = message.len();
            return Poll::Ready(PortEvent::Message(message));
        }
        queued.transport = Some(context.waker().clone());
        drop(queued);
        let Finish::Complete = ready!(finish) else { return Poll::Pending };
        self.complete = true;
        Poll::Ready(PortEvent::Complete)
    }

    /// Tells the session that the message that [`next`](Self::next) has returned last was sent. A session that has said
    /// too much that was not sent waits.
    pub fn sent(&mut self) {
        let mut queued = self.queue.lock();
        queued.sending = 0;
        let transport = queued.transport.take();
        drop(queued);
        transport.into_iter().for_each(Waker::wake);
        self.session.endpoint().notify(TransportEvent::Wrote);
    }

    /// Hands a message of the peer to the session.
    pub fn deliver(&mut self, message: &[u8]) {
        self.session.endpoint().receive(Delivery::message(message), Instant::now().into_std());
    }

    /// Tells the session that no more messages will come. Only the first call counts.
    pub fn input_ended(&mut self, why: End) {
        self.session.endpoint().notify(TransportEvent::InputEnded(why));
    }

    /// Tells the session that messages cannot be sent any more. Only the first call counts.
    pub fn output_failed(&mut self, error: io::Error) {
        self.session.endpoint().notify(TransportEvent::OutputFailed(error));
    }

    /// Tells the session how the transport has ended.
    pub fn terminate(self, outcome: Outcome) {
        self.session.terminate(outcome);
    }
}
