//! Whole messages instead of bytes, for transports that carry each message by itself.
//!
//! In comes each message that a session says, with what it is and what it is about; out go the tasks to be woken. A
//! transport that has several ways to the peer, such as HTTP with its one stream for each request, chooses the way by
//! that. Refuses nothing: a message that is handed over is the transport's to deliver, and what it holds back counts
//! as unwritten.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use crate::epoch::Epoch;

/// A transport's name for a message, or batch, of the peer. What the session says in reply to it carries the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestTag(pub u64);

/// What a transport knows of a message that came in, such as the head of its HTTP request, for its handler.
pub type Extension = Arc<dyn Any + Send + Sync>;

/// One message that the session says.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The message, without an end of line. It contains none either.
    pub message: &'a [u8],
    /// What it is.
    pub kind: MessageKind,
    /// What came in that it answers, or that is being worked on where it is said; `None` if it is about nothing in
    /// particular.
    pub in_reply_to: Option<RequestTag>,
    /// The epoch in which it was said.
    pub epoch: Epoch,
}

/// What became of a message, or batch, that came in.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// How many requests in it were accepted.
    pub requests: usize,
    /// Why a notification, or a reply, was refused that was in it; nothing is written about that.
    pub refused: Option<String>,
}

impl Received {
    /// The same of one more message.
    pub(crate) fn add(&mut self, other: Received) {
        self.requests = self.requests.saturating_add(other.requests);
        self.refused = other.refused.or(self.refused.take());
    }
}

/// What a message is, as far as its delivery is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageKind {
    /// A request under this id, which waits for a reply.
    Request {
        /// Its id.
        id: i64,
        /// Where it stands.
        place: Place,
    },
    /// A notification.
    Notification {
        /// Where it stands.
        place: Place,
    },
    /// A result.
    Result {
        /// Where it stands.
        place: Place,
    },
    /// An error, for a request or for what could not be read.
    Error,
    /// The replies to a batch, as a list.
    Batch,
    /// Requests and notifications of this side, as a list. All of them stand beside the linear channels.
    Several {
        /// Whether whoever says them has a part in one session only: they mean nothing in any other.
        bound: bool,
    },
}

/// Where a message stands in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Beside the linear channels.
    Beside,
    /// Within something that began before: in a copy that goes on, or about a request. It means nothing in any other
    /// session.
    Within,
    /// A step of a linear channel, and the only one that its state has.
    OnlyStep,
    /// A step of a linear channel, and one of several that its state has.
    ChosenStep,
}

impl Place {
    /// Whether it is a step of a linear channel.
    pub fn is_step(self) -> bool {
        matches!(self, Place::OnlyStep | Place::ChosenStep)
    }
}

impl MessageKind {
    /// Whether it means something in the session only that it was said in, also if that is begun anew.
    pub fn is_bound(&self) -> bool {
        match self {
            MessageKind::Request { place, .. } | MessageKind::Notification { place } => {
                *place == Place::Within
            }
            MessageKind::Result { .. } | MessageKind::Error | MessageKind::Batch => true,
            MessageKind::Several { bound } => *bound,
        }
    }

    /// Whether it answers something.
    pub fn is_reply(self) -> bool {
        matches!(self, MessageKind::Result { .. } | MessageKind::Error | MessageKind::Batch)
    }
}

/// Takes the messages of one session. It is called while the session is locked and must not call it back.
pub trait Outlet: Send + fmt::Debug {
    /// Takes one message. What is returned is woken once the session is unlocked.
    fn take(&mut self, outgoing: Outgoing<'_>) -> Option<Waker>;

    /// A request that came in under this name has been answered, or never will be.
    fn settled(&mut self, tag: RequestTag) -> Option<Waker>;

    /// Nobody waits for the reply to this request of this side any more: it has come, or the request was taken back, or
    /// it has failed.
    fn not_awaited(&mut self, id: i64) -> Option<Waker> {
        let _ = id;
        None
    }

    /// The session is over: nobody waits for any reply any more.
    fn none_awaited(&mut self) -> Vec<Waker> {
        Vec::new()
    }

    /// Whoever works on a request that came in under this name wants the connection to end on which its answer is
    /// awaited: the answer is still a while, and the peer can come back for it. Nothing is done about it where there is
    /// no such connection.
    fn hang_up(&mut self, tag: RequestTag) -> Option<Waker> {
        let _ = tag;
        None
    }

    /// What handlers may know of the message that came in under this name.
    fn extension(&self, tag: RequestTag) -> Option<Extension> {
        let _ = tag;
        None
    }

    /// The peer has taken a step of a linear channel that is no reply.
    fn stepped(&mut self) {}

    /// How many bytes wait to be taken by the peer; they count as unwritten. When they become fewer the transport says
    /// so with [`Endpoint::wrote`](super::Endpoint::wrote).
    fn waiting(&self) -> usize;
}
