//! [`Outlet`]: where a session hands over its outgoing messages.

use std::fmt;
use std::task::Waker;

use super::delivery::RequestTag;
use crate::epoch::Epoch;
use crate::jsonrpc::LookedUp;

/// Takes the messages that one session sends.
///
/// The transport delivers each message that is handed over. Messages that the outlet holds back count as unwritten. The
/// outlet is called while the session is locked, and must not call the session. It wakes tasks with `wake`, once the
/// session is unlocked.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use std::task::Waker;
/// use mcp_runtime::driver::{Outgoing, Outlet, OutletNotice};
///
/// /// Keeps what a session says, for a test.
/// #[derive(Clone, Debug, Default)]
/// struct Said(Arc<Mutex<Vec<Vec<u8>>>>);
///
/// impl Outlet for Said {
///     fn take(&mut self, outgoing: Outgoing<'_>, _: &mut dyn FnMut(Waker)) -> usize {
///         self.0.lock().unwrap().push(outgoing.message.to_vec());
///         0
///     }
///
///     fn note(&mut self, _: OutletNotice, _: &mut dyn FnMut(Waker)) {}
///
///     fn waiting(&self) -> usize {
///         0
///     }
///
///     fn routes(&self) -> bool {
///         false
///     }
/// }
/// ```
pub trait Outlet: Send + fmt::Debug {
    /// Takes one message, and returns how many bytes wait then, as [`waiting`](Self::waiting) does.
    fn take(&mut self, outgoing: Outgoing<'_>, wake: &mut dyn FnMut(Waker)) -> usize;

    /// Takes note of something about messages. All but [`OutletNotice::Discarded`] go only to an outlet that
    /// [routes](Self::routes).
    fn note(&mut self, notice: OutletNotice, wake: &mut dyn FnMut(Waker));

    /// Returns how many bytes wait to be taken by the peer. When the number falls, the transport reports it with
    /// [`TransportEvent::Wrote`](super::TransportEvent::Wrote); until then the session counts with the larger one.
    fn waiting(&self) -> usize;

    /// Whether each message finds its way by itself, as over HTTP. Where the input of such a transport has ended, the
    /// peer still reads what it has asked for.
    fn routes(&self) -> bool;
}

/// One message that the session says.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
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
    /// What a request says, where the session has read that.
    #[cfg_attr(not(feature = "http-client"), allow(dead_code, reason = "only clients over HTTP repeat it"))]
    pub(crate) request: Option<RequestText<'a>>,
}

/// What a request says. It stands in its message, too, whose last member the params are.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "http-client"), allow(dead_code, reason = "only clients over HTTP repeat it"))]
pub(crate) struct RequestText<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Option<LookedUp<'a>>,
}

impl<'a> Outgoing<'a> {
    /// Returns a message that is in reply to nothing in particular, for an [`Endpoint`](super::Endpoint) that is not an
    /// engine.
    pub const fn new(message: &'a [u8], kind: MessageKind, epoch: Epoch) -> Outgoing<'a> {
        Outgoing { message, kind, in_reply_to: None, epoch, request: None }
    }
}

/// What an outlet should know beyond the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutletNotice {
    /// A request that came in with this tag was accepted: it will be settled.
    Accepted(RequestTag),
    /// A request that came in with this tag has been answered, or never will be.
    Settled(RequestTag),
    /// No task waits for the reply to this request of this side any more: the reply has come, the request was
    /// cancelled, or it has failed.
    NotAwaited(i64),
    /// The session is over: no task waits for any reply any more.
    NoneAwaited,
    /// The handler of a request that came in with this tag asks to end the connection on which the peer waits for the
    /// answer: the answer takes a while, and the peer can come back for it.
    ReleaseConnection(RequestTag),
    /// The peer has taken a step of a linear channel that is not a reply.
    PeerStepped,
    /// The session was disconnected: messages of which nothing is written yet need not be written.
    Discarded,
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
    /// A notification that cancels a request of this side.
    Cancel {
        /// The id of the request.
        id: i64,
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
    /// Requests and notifications of this side, as a list. All of them belong to replicated channels.
    Several {
        /// Whether they belong to one epoch: they mean nothing in another one.
        bound: bool,
    },
}

/// Where a message stands in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a replicated channel.
    Replicated,
    /// Within something that began before: in a sub-session that goes on, or about a request. It means nothing in any
    /// other session.
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
    /// Whether the message belongs to the epoch in which it was sent: it means nothing after a reconnect.
    pub fn is_bound(&self) -> bool {
        match self {
            MessageKind::Request { place, .. }
            | MessageKind::Notification { place }
            | MessageKind::Cancel { place, .. } => *place == Place::Within,
            MessageKind::Result { .. } | MessageKind::Error | MessageKind::Batch => true,
            MessageKind::Several { bound } => *bound,
        }
    }

    /// Whether it answers something.
    pub fn is_reply(self) -> bool {
        matches!(self, MessageKind::Result { .. } | MessageKind::Error | MessageKind::Batch)
    }
}
