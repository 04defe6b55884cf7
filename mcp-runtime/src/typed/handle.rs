//! [`Handle`]: makes calls from any task.

use std::future::Future;
use std::sync::Arc;

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, StateIndex};
use mcp_protocol_machine::{Capabilities, Violation};
use serde::Serialize;

use super::call::Call;
use super::generated::InState;
use super::notify::Notify;
use super::permissions::{permits, permitted};
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
        match self.sub_session_states() {
            Some(states) if states.is_empty() => {
                Err(self.link.with(|engine| engine.rules().checker().over(message)))
            }
            Some(states) => permits(&self.link, &states, message, &self.capabilities()),
            None => self
                .link
                .with(|engine| engine.lifecycle().permits(engine.rules(), message, self.within.as_deref())),
        }
    }

    /// Returns the messages that may be sent now: those of replicated channels, and the steps of a sub-session.
    pub fn permitted(&self) -> Vec<MessageIndex> {
        let opens = |message: &MessageIndex| {
            let table = self.link.protocol().message(*message);
            table.is_some_and(|table| {
                matches!(table.kind, Kind::Request | Kind::Notification) && table.cancels.is_none()
            })
        };
        if let Some(states) = self.sub_session_states() {
            let mut permitted = permitted(&self.link, &states, &self.capabilities());
            permitted.retain(opens);
            return permitted;
        }
        let messages = self.link.protocol().indexed().map(|(index, _)| index);
        let within = self.within.as_deref();
        self.link.with(|engine| {
            let may = |message: &MessageIndex| {
                engine.rules().checker().is_replicated(Direction::Send, *message)
                    && engine.lifecycle().permits(engine.rules(), *message, within).is_ok()
            };
            messages.filter(may).collect()
        })
    }

    /// The states of the sub-session that the handle belongs to, one for each channel; empty once that is over.
    fn sub_session_states(&self) -> Option<Vec<StateIndex>> {
        let sub_session = self.link.sub_session()?;
        Some(self.link.with(|engine| engine.rules().checker().sub_session_states(sub_session).to_vec()))
    }

    /// The capabilities that the handle may use, as far as it is restricted.
    fn capabilities(&self) -> Capabilities {
        self.within.as_deref().cloned().unwrap_or_else(Capabilities::unknown)
    }

    /// A request, sent when the call is first polled.
    pub fn call<P, T, C, G>(&self, request: MessageIndex, params: &P) -> Call<'static, T, C, G>
    where
        P: Serialize + ?Sized,
        T: ReadReply,
    {
        Call::new(self.link.clone(), request, params).within(self.within.clone())
    }

    /// A request that is a step of the sub-session, which its value does not take.
    pub fn call_step<P, T, C, G>(&self, request: MessageIndex, params: &P) -> Call<'static, T, C, G>
    where
        P: Serialize + ?Sized,
        T: ReadReply,
    {
        self.call(request, params).step_of_sub_session()
    }

    /// The same for a notification.
    pub fn notify_step<P: Serialize + ?Sized>(&self, message: MessageIndex, params: &P) -> Notify<'static> {
        self.notify(message, params).step_of_sub_session()
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
