//! What a session value sends.
//!
//! In: a linear output, or the answer to a linear request. Out: the value in its next state, or the value as it was
//! with the reason. Refuses what its state does not permit; generated code never asks for that.
//!
//! A step that is dropped while it waits ends the session if it has consumed the value. An exchange that leads back
//! to the same state is cancelled if it may be; else its reply is a debt, taken before the next step.

use std::future::{Future, poll_fn};

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, StateIndex};
use mcp_protocol_machine::{About, Meant};
use serde::Serialize;

use super::call::written;
use super::inputs::{Input, Unread, Wanted};
use super::reply::ReadReply;
use super::session::Session;
use crate::error::{Error, StepError};
use crate::jsonrpc::RpcError;

impl Session {
    /// Sends a linear notification, request or reply.
    pub(super) async fn send_written(
        mut self,
        message: MessageIndex,
        written: Result<String, Error>,
    ) -> Result<Session, StepError<Session>> {
        match self.put(message, written).await {
            Ok(_) => Ok(self),
            Err(error) => Err(self.not_sent(error)),
        }
    }

    /// Sends a linear notification that leads back to the same state.
    pub fn send_here<P: Serialize + ?Sized>(
        &mut self,
        message: MessageIndex,
        payload: &P,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<'_, P> {
        let written = written(&self.seat.link, message, payload);
        async move { self.put(message, written).await.map(drop) }
    }

    /// Refuses a linear request that was taken; the session is then where it was before the request.
    pub(super) async fn refuse(
        mut self,
        request: MessageIndex,
        error: RpcError,
    ) -> Result<Session, StepError<Session>> {
        let refusal = self.seat.link.with(|engine| engine.refusal_of(request));
        let target = refusal.and_then(|refusal| self.seat.target(Direction::Send, refusal));
        let place = self.open.iter().position(|(open, _)| *open == request);
        let (Some(target), Some(place)) = (target, place) else {
            let error = self.not_here(refusal.unwrap_or(request));
            return Err(self.not_sent(error));
        };
        let (_, id) = self.open.remove(place);
        match self.seat.link.with(|engine| engine.reply_error(&id, &error)) {
            Ok(()) => {
                self.seat.state = target;
                Ok(self)
            }
            Err(error) => Err(self.not_sent(error)),
        }
    }

    /// Sends a linear request and takes its reply.
    pub fn exchange<P: Serialize + ?Sized, T: ReadReply>(
        self,
        request: MessageIndex,
        params: &P,
    ) -> impl Future<Output = Result<(T, Session), StepError<Session>>> + Send + use<P, T> {
        let written = written(&self.seat.link, request, params);
        async move {
            let mut session = self;
            match session.put(request, written).await {
                Ok(_) => session.receive_wanted(Wanted::ReplyTo(request)).await,
                Err(error) => Err(session.not_sent(error)),
            }
        }
    }

    /// The same where the reply leads back to the state that the request was sent in.
    pub fn exchange_here<P: Serialize + ?Sized, T: ReadReply>(
        &mut self,
        request: MessageIndex,
        params: &P,
    ) -> impl Future<Output = Result<T, Error>> + Send + use<'_, P, T> {
        let written = written(&self.seat.link, request, params);
        async move {
            let before = self.seat.state;
            let id = self.put(request, written).await?;
            let mut exchange = Exchange { session: self, request, before, id, done: false };
            let outcome = exchange.session.take_here(Wanted::ReplyTo(request)).await;
            exchange.done = true;
            outcome
        }
    }

    /// Sends a linear request and takes its reply, which says how the value goes on.
    pub fn exchange_next<P: Serialize + ?Sized, I, R>(
        self,
        request: MessageIndex,
        params: &P,
        read: R,
    ) -> impl Future<Output = Result<I, StepError<Session>>> + Send + use<P, I, R>
    where
        R: FnMut(Input) -> Result<I, Unread> + Send,
        I: Send,
    {
        let written = written(&self.seat.link, request, params);
        async move {
            let mut session = self;
            match session.put(request, written).await {
                Ok(_) => session.next(read).await,
                Err(error) => Err(session.not_sent(error)),
            }
        }
    }

    /// Writes a linear message and moves the value. Gives the id of a request.
    async fn put(
        &mut self,
        message: MessageIndex,
        written: Result<String, Error>,
    ) -> Result<Option<i64>, Error> {
        let written = written?;
        self.settle_debt().await?;
        poll_fn(|context| self.seat.link.with(|engine| engine.poll_room(context))).await;
        let Some(target) = self.seat.target(Direction::Send, message) else {
            return Err(self.not_here(message));
        };
        if let Some(error) =
            self.seat.copy.and_then(|copy| self.seat.link.with(|engine| engine.copy_over(copy)))
        {
            return Err(error);
        }
        let kind = self.seat.link.protocol().message(message).map(|message| message.kind);
        let meant = self.seat.copy.map_or(Meant::Anything, Meant::Copy);
        let link = &self.seat.link;
        let mut id = None;
        match kind {
            Some(Kind::Request) => {
                id = Some(link.with(|engine| engine.ask(message, &written, false, false, meant))?.0);
            }
            Some(Kind::Reply { request } | Kind::Refusal { request }) => {
                let Some(place) = self.open.iter().position(|(open, _)| *open == request) else {
                    return Err(self.not_here(message));
                };
                let (_, open) = self.open.remove(place);
                let refusal = matches!(kind, Some(Kind::Refusal { .. }));
                let answered = if refusal {
                    let error = serde_json::from_str(&written)
                        .unwrap_or_else(|_| RpcError::internal_error("the request was refused"));
                    link.with(|engine| engine.reply_error(&open, &error))
                } else {
                    link.with(|engine| engine.reply_with(&open, Some(message), &written))
                };
                if let Err(error) = answered {
                    self.open.push((request, open));
                    return Err(error);
                }
            }
            _ => {
                link.with(|engine| engine.tell(message, &written, About::Nothing, meant))?;
            }
        }
        self.seat.state = target;
        Ok(id)
    }

    /// Takes the reply that a dropped exchange has left behind.
    pub(super) async fn settle_debt(&mut self) -> Result<(), Error> {
        let Some(request) = self.debt else { return Ok(()) };
        // Whatever the reply says, nobody wants to know; only the end of the session matters.
        match self.take_here::<serde::de::IgnoredAny>(Wanted::ReplyTo(request)).await {
            Ok(_) | Err(Error::Refused(_) | Error::Payload { .. }) => {
                self.debt = None;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// The error for a message that the value's state does not have.
    fn not_here(&self, message: MessageIndex) -> Error {
        match self.permits(message) {
            Err(violation) => Error::NotPermitted(violation),
            Ok(()) => self.seat.link.with(|engine| engine.closed()).unwrap_or(Error::Closed),
        }
    }

    /// Nothing was written: the value can go on, if there is a session to go on with.
    pub(super) fn not_sent(self, error: Error) -> StepError<Session> {
        match error {
            Error::Closed | Error::Disconnected { .. } => StepError::Ended(error),
            error => StepError::NotSent { error, session: self },
        }
    }
}

/// An exchange that runs; what is left of it if it is dropped.
struct Exchange<'s> {
    session: &'s mut Session,
    request: MessageIndex,
    before: StateIndex,
    id: Option<i64>,
    done: bool,
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let seat = &mut self.session.seat;
        let table = seat.link.protocol().message(self.request);
        let cancellable = table.is_some_and(|request| request.cancellable);
        let cancelled = cancellable
            && self.id.is_some_and(|id| matches!(seat.link.with(|engine| engine.cancel(id, None)), Ok(true)));
        if cancelled {
            seat.state = self.before;
        } else {
            self.session.debt = Some(self.request);
        }
    }
}
