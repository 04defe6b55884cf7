//! What a handler knows besides the message.
//!
//! In: the request that is worked on. Out: calls back to the peer, reports, and whether the answer is still wanted.
//! Refuses to answer; that is the responder's.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use mcp_protocol_machine::protocol::MessageIndex;
use mcp_protocol_machine::{RequestId, Token};
use serde::Serialize;

use super::call::{Within, written};
use super::handle::Handle;
use super::timer::room;
use crate::driver::Extension;
use crate::engine::Link;
use crate::error::Error;

/// What a handler knows besides the message.
#[derive(Clone)]
pub struct Context {
    pub(super) link: Link,
    pub(super) id: Option<RequestId>,
    pub(super) token: Option<Token>,
    /// What the session is restricted to that the message came to, if it is.
    pub(super) within: Within,
    pub(super) extension: Option<Extension>,
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Context").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Context {
    /// Calls back to the peer, restricted as the session is that the message came to. What is said by this handle is
    /// about the request: over HTTP it takes the same way as its answer.
    pub fn handle(&self) -> Handle {
        Handle::new(self.link.about(self.id.clone()), self.within.clone())
    }

    /// Whether the peer wants reports on the request.
    pub fn wants_progress(&self) -> bool {
        self.token.is_some()
    }

    /// Reports on the request, under the token that it carried; nothing is sent if it carried none, or is over. A
    /// report whose number in [`Options::progress_field`](crate::Options::progress_field) is not more than the one before is
    /// refused.
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
            match engine.check_within(message, &written, self.within.as_deref()) {
                Err(violation) if violation.missing_capability().is_some() => return Err(violation.into()),
                // Whether there is anything left to report on is judged next.
                _ => {}
            }
            engine.report_on(caller, message, &written, token, self.id.as_ref())
        })
    }

    /// Ends the connection on which the peer waits for the answer, where the transport has one for each request and
    /// the peer can come back for the rest: over HTTP, after the time that the server's options give for it. The
    /// request goes on, and nothing that is said about it is lost.
    pub fn release_connection(&self) {
        if let Some(id) = &self.id {
            self.link.with(|engine| engine.release_connection(id));
        }
    }

    /// Returns what the transport knows of the message, if that is of this type: over HTTP, its
    /// `transport::http::RequestHead`.
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.extension.clone().and_then(|extension| extension.downcast().ok())
    }

    /// The id of the request on the wire; a notification has none.
    pub fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// Waits until the peer takes the request back, or the session ends. For a notification, until the session ends.
    pub async fn cancelled(&self) {
        let id = self.id.as_ref();
        let link = &self.link;
        link.wait_as(|engine, caller, context, waiter| engine.poll_cancelled(caller, context, waiter, id))
            .await;
    }

    /// Whether the peer has taken the request back, or the session has ended.
    pub fn is_cancelled(&self) -> bool {
        self.link.speak(|engine, caller| engine.is_cancelled(caller, self.id.as_ref()))
    }
}
