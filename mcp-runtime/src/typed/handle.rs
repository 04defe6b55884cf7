//! Calls for tasks that outlive the session value.
//!
//! In: requests and notifications beside the linear channels. Out: calls that borrow nothing. Refuses at run time what
//! the session does not permit at that moment.

use std::future::Future;
use std::sync::Arc;

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{Capabilities, Violation};
use serde::Serialize;

use super::call::{Call, Within};
use super::notify::Notify;
use super::reply::ReadReply;
use super::session::Session;
use super::step::InState;
use crate::engine::Link;
use crate::error::Error;

/// Makes calls beside the linear channels, from any task. Does not keep the session open.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) link: Link,
    pub(super) within: Within,
}

impl Handle {
    pub(super) fn new(link: Link, within: Within) -> Handle {
        Handle { link, within }
    }

    /// A handle that sends nothing for which it needs other capabilities than these: of what this one could send, what
    /// needs no others. What is made with it, such as the sub-sessions that it opens, is restricted in the same way.
    pub fn restrict(&self, capabilities: &Capabilities) -> Handle {
        let within = match self.within.as_deref() {
            Some(within) => within.meet(capabilities),
            None => capabilities.clone(),
        };
        Handle { link: self.link.clone(), within: Some(Arc::new(within)) }
    }

    /// Whether a message may be sent now, and if not, why: first the state of the session, then what was negotiated,
    /// then what the handle is restricted to.
    ///
    /// # Errors
    /// The violation that sending the message would be.
    pub fn permits(&self, message: MessageIndex) -> Result<(), Violation> {
        self.link.with(|engine| engine.permits(message, self.within.as_deref()))
    }

    /// What may be sent now beside the linear channels.
    pub fn permitted(&self) -> Vec<MessageIndex> {
        let messages = self.link.protocol().indexed().map(|(index, _)| index);
        let within = self.within.as_deref();
        self.link.with(|engine| {
            let may = |message: &MessageIndex| {
                engine.checker().is_replicated(Direction::Send, *message)
                    && engine.permits(*message, within).is_ok()
            };
            messages.filter(may).collect()
        })
    }

    /// A request; sent when the call is first polled.
    pub fn call<P, T, C, G>(&self, request: MessageIndex, params: &P) -> Call<'static, T, C, G>
    where
        P: Serialize + ?Sized,
        T: ReadReply,
    {
        Call::new(self.link.clone(), request, params).within(self.within.clone())
    }

    /// Opens a sub-session; the value stands for it.
    pub fn open<P: Serialize + ?Sized>(
        &self,
        message: MessageIndex,
        params: &P,
    ) -> impl Future<Output = Result<Session, Error>> + Send + use<P> {
        super::sub_sessions::open(self.link.clone(), self.within.clone(), message, params)
    }

    /// Opens a sub-session by a request; the call gives the reply and the value.
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

    /// A notification; sent when the future is first polled.
    pub fn notify<P: Serialize + ?Sized>(&self, message: MessageIndex, params: &P) -> Notify<'static> {
        Notify::new(self.link.clone(), message, params).within(self.within.clone())
    }
}
