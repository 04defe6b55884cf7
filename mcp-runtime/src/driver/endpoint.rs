//! [`Endpoint`]: the interface that an engine offers to its transport.

use std::io;
use std::task::Context;
use std::time::Instant;

use mcp_protocol_machine::protocol::{Dialect, Text};

use super::delivery::{Delivery, Received};
use super::outlet::Outlet;
use crate::error::{DisconnectReason, End, Error, Outcome};
use crate::report::Report;

/// What the engine of one session offers the transport that carries it.
///
/// Whole messages go in with [`receive`](Self::receive) and come out of the [`Outlet`] that the transport has attached.
/// All methods may be called from any thread, and none of them blocks. The instants are the transport's clock:
/// `tokio::time::Instant::now().into_std()`, so that tests can hold the time still.
///
/// Most transports do not call it themselves: [`MessagePort`](super::MessagePort) does for transports of messages, and
/// [`ByteStream`](crate::transport::ByteStream) for streams of bytes.
pub trait Endpoint: Send + Sync + 'static {
    /// Hands every message of this side to `outlet` from here on, and those first that wait already. Called once.
    fn attach(&self, outlet: Box<dyn Outlet>);

    /// Takes messages of the peer. Each of the requests that were accepted is settled once.
    ///
    /// It takes all of them, always: the transport never waits for a slow consumer.
    fn receive(&self, delivery: Delivery<'_>, now: Instant) -> Received;

    /// Takes note of something that has happened to the transport.
    fn notify(&self, event: TransportEvent<'_>);

    /// Returns what the session wants of its transport now.
    ///
    /// The waker is kept, and woken when the session was finished or abandoned, and when the deadline became sooner
    /// than it was.
    fn status(&self, context: &mut Context<'_>) -> SessionStatus;

    /// Tells the time, at or after the [deadline](SessionStatus::deadline); the next one is then later, or there is none.
    fn tick(&self, now: Instant);

    /// Returns what a transport has to know to name the session to its peer.
    fn info(&self) -> SessionInfo;

    /// Reads a message of a handshake that is repeated with a peer that has lost the session, before
    /// [`TransportEvent::Reconnected`]: it is not part of the session yet.
    fn read_aside(&self, message: &[u8]) -> Aside;
}

/// What happened to a transport.
#[derive(Debug)]
#[non_exhaustive]
pub enum TransportEvent<'a> {
    /// Fewer bytes wait to be written: [`Outlet::waiting`] says how many.
    Wrote,
    /// Nothing more will come in. Said once at most, and nothing is received after it.
    InputEnded(End),
    /// Writing failed, and what waited to be written is lost. Said once at most.
    OutputFailed(io::Error),
    /// The session cannot go on.
    Failed(DisconnectReason),
    /// A request of this side could not be delivered, or no reply to it will come.
    RequestFailed {
        /// Its id.
        id: i64,
        /// Why.
        error: Error,
    },
    /// Something that does not end the session.
    Noticed(Report),
    /// The peer has lost the session, and the transport has reconnected. A new epoch begins. Of the running requests
    /// only those go on that the transport sends again; [`OutletNotice::NotAwaited`](super::OutletNotice::NotAwaited)
    /// names the others.
    Reconnected {
        /// The first request of the handshake; empty if it has none.
        request: &'a [u8],
        /// The reply to it.
        reply: &'a [u8],
    },
    /// The transport is gone. Said last and exactly once, also when the transport's future is dropped before it has run
    /// to its end.
    Terminated(Outcome),
}

/// What a session wants of its transport.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionStatus {
    /// Whether the session is over as far as the transport is concerned. [`Finish::Complete`] stays, unless the session
    /// is abandoned later; [`Finish::Abandoned`] is final.
    pub finish: Option<Finish>,
    /// When [`Endpoint::tick`] wants to be called, if time matters to the session at all.
    pub deadline: Option<Instant>,
}

impl SessionStatus {
    /// Returns the status of a session that is not over and waits for no time, for an [`Endpoint`] that is not an engine.
    pub const fn new() -> SessionStatus {
        SessionStatus { finish: None, deadline: None }
    }

    /// Says whether the session is over.
    #[must_use]
    pub const fn with_finish(self, finish: Option<Finish>) -> SessionStatus {
        SessionStatus { finish, ..self }
    }

    /// Says when the session wants to be told the time.
    #[must_use]
    pub const fn with_deadline(self, deadline: Option<Instant>) -> SessionStatus {
        SessionStatus { deadline, ..self }
    }
}

/// How a session ends as its transport sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The session has said everything: write what is left, then close the write side. Late input is still welcome.
    Complete,
    /// What is left to be written, or may still come, is not wanted any more: drop both directions at once.
    Abandoned,
}

/// What names a session to its peer.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Another program has opened the session, so that nothing will be said here that could name it.
    pub resumed: bool,
    /// The version of the protocol that was agreed on, once it was; in a resumed session, from the start.
    pub agreed_version: Option<String>,
    /// The version of the program's protocol, if it has one.
    pub program_version: Option<Text>,
    /// Whether each request announces what the client can do during this request. Such a protocol has no handshake, and
    /// what a transport carries of it needs no session: each request stands for itself.
    pub is_stateless: bool,
    /// Whether a request may have the id of one that is over, so that a reply which comes twice could be taken for that
    /// of another request.
    pub reuses_ids: bool,
    /// Which JSON-RPC its messages are.
    pub dialect: Dialect,
}

/// What a message says that is not part of the session.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Aside {
    /// What to answer, if it is a request.
    pub answer: Option<Vec<u8>>,
    /// The version of the protocol that it announces, if it is a reply that announces one.
    pub version: Option<String>,
    /// The version of the protocol that it asks for, if it is a request whose reply announces one.
    pub requested: Option<String>,
}
