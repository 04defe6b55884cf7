//! [`Client`]: a client of a server of either era.

use std::fmt;
use std::sync::Arc;

use mcp_runtime::Error;
use mcp_runtime::session::Outcome;
use tokio::sync::watch;

use super::super::era::Era;
use super::super::handler::Offer;
use super::answerers::RunningCalls;
use super::watching::Session;
use crate::mcp_2026_07_28 as requests;
use crate::mcp_2026_07_28::types::RequestMeta;
use crate::rounds::Answering;

/// A client that is connected to a server, of whichever era. A [`Connector`](super::Connector) makes it.
///
/// Its calls have the payloads of the latest revision. `params.meta` is what [`meta`](Self::meta) returns, to which a
/// program may add metadata of its own.
pub struct Client<U> {
    pub(super) way: Way,
    pub(super) answering: Answering<Arc<U>>,
    /// The calls in which the server may ask.
    pub(super) calls: Arc<RunningCalls>,
    pub(super) meta: RequestMeta,
    pub(super) offer: Offer,
    /// Whether messages arrive in the order in which they are sent, as they do over one connection.
    pub(super) is_ordered: bool,
    /// Whether the client is closed: the tasks of its subscriptions end then.
    pub(super) closing: watch::Sender<bool>,
    /// Closed when the connection is gone.
    pub(super) over: watch::Receiver<()>,
}

/// How the client speaks with its server.
pub(super) enum Way {
    Requests(requests::McpClient<requests::Start>),
    Session(Session),
}

impl<U> Client<U> {
    /// Whether the server has sessions.
    pub fn era(&self) -> Era {
        match self.way {
            Way::Requests(_) => Era::Requests,
            Way::Session(_) => Era::Handshake,
        }
    }

    /// The revision that the client and the server have agreed on.
    pub fn version(&self) -> &str {
        &self.meta.protocol_version
    }

    /// What the server is, and what it can do.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Whether the client goes on with another server that takes the place of this one, as one that is restarted
    /// does: over HTTP without a session each request may meet another. Such a server ends a subscription when it
    /// stops, so [`listen`](Self::listen) again.
    pub fn outlives_server(&self) -> bool {
        !self.is_ordered && self.era() == Era::Requests
    }

    /// The metadata of each request: the revision, what the client can do, and who it is. In a session the server has learnt
    /// this from the handshake, and it is not sent again.
    pub fn meta(&self) -> RequestMeta {
        self.meta.clone()
    }

    /// Waits until the connection is gone: it has broken off, the server has ended it, or the process of the server has
    /// ended. Over HTTP without a session there is no connection to be lost.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn ended(&self) {
        gone(self.over.clone()).await;
    }

    /// Closes the connection: ends the subscriptions, waits until all is written, and for the server to close its side.
    ///
    /// # Errors
    /// If the connection has broken off before.
    pub async fn close(self) -> Result<Outcome, Error> {
        match self.way {
            Way::Requests(client) => {
                // The end of the input ends them as well, but some servers wait for those that are not cancelled.
                self.closing.send_replace(true);
                self.closing.closed().await;
                client.close().await
            }
            Way::Session(session) => session.client.close().await,
        }
    }
}

/// Waits until the connection is gone.
pub(super) async fn gone(mut over: watch::Receiver<()>) {
    // Nothing is ever sent.
    let _ = over.changed().await;
}

impl<U> fmt::Debug for Client<U> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Client");
        shown.field("era", &self.era()).field("version", &self.version()).finish_non_exhaustive()
    }
}
