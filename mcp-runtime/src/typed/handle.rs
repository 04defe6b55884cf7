//! [`Handle`]: makes calls from any task.

use std::future::Future;
use std::sync::Arc;

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{Capabilities, Violation};
use serde::Serialize;

use super::call::Call;
use super::generated::InState;
use super::notify::Notify;
use super::reply::ReadReply;
use super::session::Session;
use super::within::Within;
use crate::engine::Link;
use crate::error::Error;

/// Sends messages of replicated channels from any task. It does not keep the session open.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) link: Link,
    pub(super) within: Within,
}

impl Handle {
    pub(super) fn new(link: Link, within: Within) -> Handle {
        Handle { link, within }
    }

    /// Returns a handle that may use only these capabilities, of those that this handle may use. Values that are made
    /// with it, such as sub-sessions, are restricted in the same way.
    pub fn restrict(&self, capabilities: &Capabilities) -> Handle {
        let within = match self.within.as_deref() {
            Some(within) => within.meet(capabilities),
            None => capabilities.clone(),
        };
        Handle { link: self.link.clone(), within: Some(Arc::new(within)) }
    }

    /// Returns whether a message may be sent now, or the violation: first of the state of the session, then of the
    /// negotiated capabilities, then of the handle's restriction.
    ///
    /// # Errors
    /// The violation that sending the message would be.
    pub fn permits(&self, message: MessageIndex) -> Result<(), Violation> {
        self.link.with(|engine| engine.permits(message, self.within.as_deref()))
    }

    /// Returns the messages of replicated channels that may be sent now.
    pub fn permitted(&self) -> Vec<MessageIndex> {
        let messages = self.link.protocol().indexed().map(|(index, _)| index);
        let within = self.within.as_deref();
        self.link.with(|engine| {
            let may = |message: &MessageIndex| {
                engine.rules().checker().is_replicated(Direction::Send, *message)
                    && engine.permits(*message, within).is_ok()
            };
            messages.filter(may).collect()
        })
    }

    /// A request, sent when the call is first polled.
    pub fn call<P, T, C, G>(&self, request: MessageIndex, params: &P) -> Call<'static, T, C, G>
    where
        P: Serialize + ?Sized,
        T: ReadReply,
    {
        Call::new(self.link.clone(), request, params).within(self.within.clone())
    }

    /// Opens a sub-session and returns its value.
    pub fn open<P: Serialize + ?Sized>(
        &self,
        message: MessageIndex,
        params: &P,
    ) -> impl Future<Output = Result<Session, Error>> + Send + use<P> {
        super::sub_sessions::open(self.link.clone(), self.within.clone(), message, params)
    }

    /// Opens a sub-session with a request. The call returns the reply and the value.
    pub fn open_exchange<P, T, S, C, G>(
        &self,
        request: MessageIndex,
        params: &P,
    ) -> Call<'static, (T, S), C, G>
    where
        P: Serialize + ?Sized,
        T: ReadReply,
        S: InState,
    {
        Call::opening(self.link.clone(), request, params).within(self.within.clone())
    }

    /// The same where the reply carries nothing.
    pub fn open_exchange_empty<P, S, C, G>(&self, request: MessageIndex, params: &P) -> Call<'static, S, C, G>
    where
        P: Serialize + ?Sized,
        S: InState,
    {
        Call::opening_empty(self.link.clone(), request, params).within(self.within.clone())
    }

    /// A notification, sent when the future is first polled.
    pub fn notify<P: Serialize + ?Sized>(&self, message: MessageIndex, params: &P) -> Notify<'static> {
        Notify::new(self.link.clone(), message, params).within(self.within.clone())
    }
}
