//! Values of sub-sessions, which are stepped like sessions.

use std::future::Future;

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, StateIndex};
use mcp_protocol_machine::{RequestId, SubSessionNumber};
use serde::Serialize;

use super::call::Call;
use super::channel::Channel;
use super::generated::InState;
use super::open_exchanges::OpenExchanges;
use super::payload_text::written;
use super::reply::ReadReply;
use super::session::Session;
use super::timer::room;
use super::within::Within;
use crate::engine::{Link, Moved, Waiter};
use crate::error::Error;
use crate::jsonrpc::RpcError;
use crate::rules::alternatives;

/// Sends the first message of a sub-session.
pub(crate) fn open<P: Serialize + ?Sized>(
    link: Link,
    within: Within,
    message: MessageIndex,
    params: &P,
) -> impl Future<Output = Result<Session, Error>> + Send + use<P> {
    let written = written(&link, message, params);
    async move { open_written(link, within, message, &written?).await }
}

/// The same of params that are JSON already, as `write::payload` gives it.
pub(crate) async fn open_written(
    link: Link,
    within: Within,
    message: MessageIndex,
    written: &str,
) -> Result<Session, Error> {
    room(&link, message).await?;
    let request = link.protocol().message(message).is_some_and(|message| message.kind == Kind::Request);
    let (sub_session, state) = link.speak(|engine, caller| {
        alternatives::check_within(engine.rules(), message, written, within.as_deref())?;
        engine.open_sub_session(caller, message, written, request)
    })?;
    Ok(Session::of_sub_session(link, within, sub_session, state, Vec::new()))
}

impl Session {
    /// The value of a sub-session, with the requests that it has to answer. It inherits the restriction of its origin.
    pub(crate) fn of_sub_session(
        link: Link,
        within: Within,
        sub_session: SubSessionNumber,
        state: StateIndex,
        open: Vec<(MessageIndex, RequestId)>,
    ) -> Session {
        let link = link.in_sub_session(Some(sub_session));
        Session {
            channel: Channel::new(link, within, Some(sub_session), state),
            open: OpenExchanges::to_answer(open),
            waiter: Waiter::default(),
        }
    }

    /// Opens a sub-session and returns its value.
    pub fn open<P: Serialize + ?Sized>(
        &self,
        message: MessageIndex,
        params: &P,
    ) -> impl Future<Output = Result<Session, Error>> + Send + use<P> {
        open(self.channel.link.clone(), self.channel.within.clone(), message, params)
    }

    /// Opens a sub-session with a request. The call returns the reply and the value.
    pub fn open_exchange<P, T, S, C, G>(&self, request: MessageIndex, params: &P) -> Call<'_, (T, S), C, G>
    where
        P: Serialize + ?Sized,
        T: ReadReply,
        S: InState,
    {
        Call::opening(self.channel.link.clone(), request, params).within(self.channel.within.clone())
    }

    /// The same where the reply carries nothing.
    pub fn open_exchange_empty<P, S, C, G>(&self, request: MessageIndex, params: &P) -> Call<'_, S, C, G>
    where
        P: Serialize + ?Sized,
        S: InState,
    {
        Call::opening_empty(self.channel.link.clone(), request, params).within(self.channel.within.clone())
    }

    /// Goes on behind an input that something else has taken.
    pub(super) fn go_on(&mut self, message: MessageIndex) {
        if let Some(target) = self.channel.target(Direction::Receive, message) {
            self.channel.move_to(target, Moved::Took);
        }
    }

    /// The id of the request that opened the sub-session; nothing once it is over.
    pub fn request_id(&self) -> Option<RequestId> {
        let sub_session = self.channel.sub_session?;
        self.channel.link.with(|engine| engine.rules().checker().sub_session_opener(sub_session).cloned())
    }

    /// Answers the open requests of this value with an error, and drops it.
    pub fn decline(self, error: RpcError) {
        if self.channel.sub_session_over().is_some() {
            return;
        }
        for id in self.open.ids() {
            // If the session has ended, the error cannot be sent.
            let _ = self.channel.link.speak(|engine, caller| engine.reply_error(caller, id, &error));
        }
    }
}
