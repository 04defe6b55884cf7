//! Sends the linear outputs of a session value.
//!
//! A step that is dropped while it waits ends the session if it has consumed the value. What `exchange.rs` leaves
//! behind is settled before the next step is written.

use std::future::{Future, poll_fn};
use std::task::{Context, Poll, ready};

use mcp_protocol_machine::Meant;
use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex};
use serde::Serialize;

use super::failure::StepFailure;
use super::payload_text::written;
use super::session::Session;
use super::timer::LazyTimer;
use crate::engine::Moved;
use crate::error::Error;
use crate::jsonrpc::RpcError;
use crate::rules::alternatives;

impl Session {
    /// Sends a linear notification, request or reply.
    pub(super) async fn send_written(
        mut self,
        message: MessageIndex,
        written: Result<String, Error>,
    ) -> Result<Session, StepFailure> {
        match self.put(message, written).await {
            Ok(_) => Ok(self),
            Err(error) => Err(self.not_sent(error)),
        }
    }

    /// Sends a linear notification that leads back to the same state.
    ///
    /// # Errors
    /// If nothing could be written: the protocol does not permit it, or the session has ended.
    pub fn send_here<P: Serialize + ?Sized>(
        &mut self,
        message: MessageIndex,
        payload: &P,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<'_, P> {
        let written = written(&self.channel.link, message, payload);
        async move { self.put(message, written).await.map(drop) }
    }

    /// Refuses a linear request that was taken; the session is then where it was before the request.
    pub(super) async fn refuse(
        mut self,
        request: MessageIndex,
        error: RpcError,
    ) -> Result<Session, StepFailure> {
        match self.refuse_now(request, &error) {
            Ok(()) => Ok(self),
            Err(error) => Err(self.not_sent(error)),
        }
    }

    /// The same for a value that is not given away.
    pub(crate) fn refuse_now(&mut self, request: MessageIndex, error: &RpcError) -> Result<(), Error> {
        let refusal = self.channel.link.with(|engine| engine.rules().refusal_of(request));
        let target = refusal.and_then(|refusal| self.channel.target(Direction::Send, refusal));
        let (Some(target), Some(_)) = (target, self.open.id_of(request)) else {
            return Err(self.not_here(refusal.unwrap_or(request)));
        };
        if let Some(error) = self.channel.sub_session_over() {
            return Err(error);
        }
        let link = &self.channel.link;
        let refuse = |id: &_| link.speak(|engine, caller| engine.reply_error(caller, id, error));
        self.open.answer(request, refuse).unwrap_or(Ok(()))?;
        self.channel.move_to(target, Moved::Sent(refusal.unwrap_or(request)));
        Ok(())
    }

    /// Waits until the peer cancels a request that this value has to answer, or the session ends. Answer it all the
    /// same to move the value on; unless the protocol says that the reply follows a cancel, the peer ignores the answer.
    pub async fn cancelled(&self, request: MessageIndex) {
        let open = self.open.id_of(request);
        let (link, sub_session) = (&self.channel.link, self.channel.sub_session);
        let waits = link.wait_as(|engine, caller, context, waiter| {
            match sub_session.and_then(|sub_session| engine.inbox().sub_session_over(sub_session)) {
                // Another session may have a request with the same id.
                Some(_) => Poll::Ready(()),
                None => engine.poll_cancelled(caller, context, waiter, open),
            }
        });
        waits.await;
    }

    pub(crate) async fn put(
        &mut self,
        message: MessageIndex,
        written: Result<String, Error>,
    ) -> Result<Option<i64>, Error> {
        self.put_within(message, &written, &mut LazyTimer::default()).await
    }

    /// The same within the time of something that goes on behind it.
    pub(crate) async fn put_within(
        &mut self,
        message: MessageIndex,
        written: &Result<String, Error>,
        timer: &mut LazyTimer,
    ) -> Result<Option<i64>, Error> {
        poll_fn(|context| match self.poll_put(context, message, written) {
            Poll::Ready(outcome) => Poll::Ready(outcome),
            Poll::Pending => {
                let what = self.held_up_by();
                timer.poll_overdue(context, &self.channel.link, message, what).map(Err)
            }
        })
        .await
    }

    /// Writes a linear message and moves the value, once the reply has arrived that a dropped exchange has abandoned,
    /// and there is room. Gives the id of a request.
    pub(super) fn poll_put(
        &mut self,
        context: &Context<'_>,
        message: MessageIndex,
        written: &Result<String, Error>,
    ) -> Poll<Result<Option<i64>, Error>> {
        let written = written.as_deref().map_err(Error::clone)?;
        ready!(self.poll_abandoned(context))?;
        let Session { channel, waiter, .. } = self;
        ready!(channel.link.with(|engine| engine.poll_room(context, waiter)));
        Poll::Ready(self.put_now(message, written))
    }

    fn put_now(&mut self, message: MessageIndex, written: &str) -> Result<Option<i64>, Error> {
        let Some(target) = self.channel.target(Direction::Send, message) else {
            return Err(self.not_here(message));
        };
        if let Some(error) = self.channel.sub_session_over() {
            return Err(error);
        }
        if let Some(within) = self.channel.within.as_deref() {
            self.channel
                .link
                .with(|engine| alternatives::check_within(engine.rules(), message, written, Some(within)))?;
        }
        let kind = self.channel.link.protocol().message(message).map(|message| message.kind);
        let meant = self.channel.sub_session.map_or(Meant::Anything, Meant::SubSession);
        let link = &self.channel.link;
        let mut id = None;
        match kind {
            Some(Kind::Request) => {
                id = Some(
                    link.speak(|engine, caller| engine.ask(caller, message, written, false, false, meant))?.0,
                );
            }
            Some(Kind::Reply { request } | Kind::Refusal { request }) => {
                let answered = self.open.answer(request, |open| {
                    if matches!(kind, Some(Kind::Refusal { .. })) {
                        let error = serde_json::from_str(written)
                            .unwrap_or_else(|_| RpcError::internal_error("the request was refused"));
                        return link.speak(|engine, caller| engine.reply_error(caller, open, &error));
                    }
                    link.speak(|engine, caller| engine.reply_with(caller, open, Some(message), written))
                });
                answered.unwrap_or_else(|| Err(self.not_here(message)))?;
            }
            _ => {
                let (sub_session, stays) = (self.channel.sub_session, target == self.channel.state);
                link.speak(|engine, caller| {
                    engine.tell_for_value(caller, message, written, sub_session, stays)
                })?;
            }
        }
        self.channel.move_to(target, Moved::Sent(message));
        Ok(id)
    }

    /// Waits for the reply that a dropped exchange has left behind.
    pub(super) async fn settle_abandoned(&mut self) -> Result<(), Error> {
        poll_fn(|context| self.poll_abandoned(context)).await
    }

    pub(crate) fn poll_abandoned(&mut self, context: &Context<'_>) -> Poll<Result<(), Error>> {
        if let Some(id) = self.open.abandoned() {
            // The abandoned reply itself is ignored; only the end of the session matters.
            let Session { channel, waiter, .. } = &mut *self;
            ready!(
                channel
                    .link
                    .speak(|engine, caller| engine.calls().poll_abandoned(caller, context, waiter, id))
            )?;
            self.open.abandon(None);
        }
        Poll::Ready(Ok(()))
    }

    /// The error for a message that the value's state does not have.
    fn not_here(&self, message: MessageIndex) -> Error {
        match self.permits(message) {
            Err(violation) => Error::NotPermitted(violation),
            Ok(()) => self
                .channel
                .link
                .speak(|engine, caller| engine.lifecycle().closed(caller))
                .unwrap_or(Error::Closed),
        }
    }

    /// Nothing was written: the value can go on, if there is a session to go on with.
    pub(super) fn not_sent(self, error: Error) -> StepFailure {
        match error {
            Error::Closed | Error::Disconnected { .. } | Error::SessionReplaced => StepFailure::Ended(error),
            error => StepFailure::NotSent { error, session: self },
        }
    }
}
