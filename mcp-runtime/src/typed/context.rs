//! [`Context`]: what a handler can do in addition to answering.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use mcp_protocol_machine::protocol::MessageIndex;
use mcp_protocol_machine::{RequestId, Token};
use serde::Serialize;

use super::handle::Handle;
use super::payload_text::written;
use super::timer::room;
use super::within::Within;
use crate::driver::{Extension, PeerIdentity};
use crate::engine::{Engine, Link};
use crate::error::Error;
use crate::jsonrpc::RpcError;
use crate::rules::alternatives;
use crate::rules::cancelling;

/// The context of a handler: calls back to the peer, progress, and cancellation.
#[derive(Clone)]
pub struct Context {
    pub(super) link: Link,
    pub(super) id: Option<RequestId>,
    pub(super) token: Option<Token>,
    /// What the session is restricted to that the message came to, if it is.
    pub(super) within: Within,
    pub(super) extension: Option<Arc<dyn Extension>>,
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Context").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Context {
    /// Returns a handle for calls back to the peer, restricted like the session that received the message. Messages of
    /// this handle belong to the request: over HTTP they are sent on the stream of its answer.
    pub fn handle(&self) -> Handle {
        Handle::new(self.link.about(self.id.clone()), self.within.clone())
    }

    /// Returns whether the peer wants progress of the request.
    pub fn wants_progress(&self) -> bool {
        self.token.is_some()
    }

    /// Reports progress of the request, with the token that it carried. Sends nothing if it carried no token, or is
    /// over. A notification whose number in [`Options::progress_field`](crate::Options::progress_field) is not greater
    /// than the one before is refused.
    ///
    /// # Errors
    /// [`Error::Payload`] if the params cannot be written, [`Error::Mismatch`] if the report says no more than the one before,
    /// and why the session has ended, if it has.
    pub async fn report<P: Serialize + ?Sized>(
        &self,
        message: MessageIndex,
        params: &P,
    ) -> Result<(), Error> {
        let Some(token) = &self.token else { return Ok(()) };
        let written = written(&self.link, message, params)?;
        room(&self.link, message).await?;
        self.link.speak_about(self.id.as_ref(), |engine, caller| {
            match alternatives::check_within(engine.rules(), message, &written, self.within.as_deref()) {
                Err(violation) if violation.missing_capability().is_some() => return Err(violation.into()),
                // Whether there is anything left to report on is judged next.
                _ => {}
            }
            engine.report_on(caller, message, &written, token, self.id.as_ref())
        })
    }

    /// Ends the connection on which the peer waits for the answer. This applies to transports with a connection for
    /// each request, such as HTTP, where the peer returns for the rest after the server's retry time. The request goes
    /// on, and no message about it is lost.
    pub fn release_connection(&self) {
        if let Some(id) = &self.id {
            self.link.with(|engine| engine.release_connection(id));
        }
    }

    /// Returns the transport's data on the message, if it has this type: over HTTP, its `transport::http::RequestHead`.
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let extension: Arc<dyn Any + Send + Sync> = self.extension.clone()?;
        extension.downcast().ok()
    }

    /// Returns which peer sent the message, as far as the transport knows.
    pub fn peer_identity(&self) -> PeerIdentity {
        self.extension.as_ref().map(|extension| extension.peer_identity()).unwrap_or_default()
    }

    /// Returns the id of the request; a notification has none.
    pub fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// Waits until the peer cancels the request, or the session ends. For a notification, waits until the session ends.
    pub async fn cancelled(&self) {
        let id = self.id.as_ref();
        let link = &self.link;
        link.wait_as(|engine, caller, context, waiter| engine.poll_cancelled(caller, context, waiter, id))
            .await;
    }

    /// Waits until the peer has closed its side, or the session ends. A peer that has closed its side cancels nothing any more,
    /// and reads replies alone: notifications to it are dropped.
    pub async fn peer_closed(&self) {
        self.link.wait(Engine::poll_peer_closed).await;
    }

    /// Returns the error with which a handler answers that has given up because the peer has cancelled the request: with
    /// the code that the protocol has for that, if the reply follows a cancel.
    pub fn cancelled_error(&self) -> RpcError {
        self.link.with(|engine| cancelling::error(engine.rules()))
    }

    /// Returns whether the peer has cancelled the request, or the session has ended.
    pub fn is_cancelled(&self) -> bool {
        self.link.speak(|engine, caller| engine.is_cancelled(caller, self.id.as_ref()))
    }
}
