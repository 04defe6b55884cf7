//! Receives the linear inputs of a session value.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, Origin, StateIndex, StateKind};
use serde::de::DeserializeOwned;

use super::channel::Channel;
use super::failure::StepFailure;
use super::incoming::Arrival;
use super::payload_text::{read, report_undecodable, text};
use super::reply::{ReadReply, Reply};
use super::responder::Responder;
use super::session::Session;
use super::timer::{Timer, limit_of};
use super::unread::{Left, Unread};
use super::within::Within;
use crate::engine::{Arrived, Body, LinearInput, Link, Moved, Verdict};
use crate::error::{DisconnectReason, Error, TimeoutKind};
use crate::jsonrpc::{RpcError, undecodable};
use crate::rules::version;

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// One message.
    Message(MessageIndex),
    /// Any reply to a request, but its refusal.
    ReplyTo(MessageIndex),
    /// Whatever the state accepts.
    Any,
}

impl Session {
    /// Takes one message, past inputs that change no state; these stay for later.
    pub(super) async fn receive<T: DeserializeOwned>(
        self,
        message: MessageIndex,
    ) -> Result<(T, Session), StepFailure> {
        self.receive_wanted(Wanted::Message(message)).await
    }

    /// Takes one message that leads back to the same state.
    ///
    /// # Errors
    /// Why the session has ended, if it has, and [`Error::Unexpected`] if another message came.
    pub async fn receive_here<T: DeserializeOwned>(&mut self, message: MessageIndex) -> Result<T, Error> {
        self.settle_abandoned().await?;
        self.take_here(Wanted::Message(message)).await
    }

    /// Takes the next input that the state accepts and `read` can read.
    pub(super) async fn next<I>(
        mut self,
        mut read: impl FnMut(Input) -> Result<I, Unread>,
    ) -> Result<I, StepFailure> {
        self.settle_abandoned().await.map_err(StepFailure::Ended)?;
        let mut waiting = Some(self);
        poll_fn(|context| {
            let Some(session) = waiting.take() else {
                return Poll::Ready(Err(StepFailure::Ended(Error::Closed)));
            };
            match session.poll_next(context, Wanted::Any, &mut read) {
                Taken::Read(outcome) => Poll::Ready(outcome),
                Taken::Waits(session) => {
                    waiting = Some(session);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Takes what is wanted, of which `read` makes something together with the value in its next state.
    pub(super) fn poll_next<I>(
        mut self,
        context: &Context<'_>,
        wanted: Wanted,
        mut read: impl FnMut(Input) -> Result<I, Unread>,
    ) -> Taken<I> {
        loop {
            let before = self.channel.state;
            let taken = match self.poll_take(context, wanted) {
                Poll::Pending => return Taken::Waits(self),
                Poll::Ready(Err(error)) => return Taken::Read(Err(StepFailure::Ended(error))),
                Poll::Ready(Ok(taken)) => taken,
            };
            let taken = match taken {
                Some(LinearInput { id, negotiation: Some(error), .. }) => {
                    match self.channel.cannot_work_with(id, before, *error) {
                        Ok(()) => continue,
                        Err(error) => return Taken::Read(Err(self.negotiation_failed(error))),
                    }
                }
                // A refusal without a branch of its own undoes the request, and is not a branch of the choice.
                Some(LinearInput { message, body: Body::Refusal(error), .. })
                    if matches!(wanted, Wanted::ReplyTo(_)) || self.channel.is_implied(before, message) =>
                {
                    return Taken::Read(Err(self.refused(error)));
                }
                Some(LinearInput { body: Body::Rejected(error), .. }) => {
                    return Taken::Read(Err(StepFailure::Ended(error)));
                }
                taken => taken,
            };
            let (link, within) = (self.channel.link.clone(), self.channel.within.clone());
            let input = Input { link, taken, before, session: Some(self), within };
            match read(input) {
                Ok(input) => return Taken::Read(Ok(input)),
                Err(Unread(left)) => match left.map(|left| *left) {
                    Some(Left::Session(session)) => self = session,
                    Some(Left::Error(error)) => return Taken::Read(Err(StepFailure::Ended(error))),
                    // Only an input that was thrown away leaves nothing, and the value went with it.
                    None => return Taken::Read(Err(StepFailure::Ended(Error::Closed))),
                },
            }
        }
    }

    /// The same where every input leads back to the same state.
    ///
    /// # Errors
    /// Why the session has ended, if it has.
    pub async fn next_here<I>(
        &mut self,
        mut read: impl FnMut(Input) -> Result<I, Unread>,
    ) -> Result<I, Error> {
        self.settle_abandoned().await?;
        loop {
            let before = self.channel.state;
            let taken = poll_fn(|context| self.poll_take(context, Wanted::Any)).await?;
            let taken = match taken {
                Some(LinearInput { id, negotiation: Some(error), .. }) => {
                    self.channel.cannot_work_with(id, before, *error)?;
                    continue;
                }
                Some(LinearInput { body: Body::Rejected(error), .. }) => return Err(error),
                taken => taken,
            };
            let (link, within) = (self.channel.link.clone(), self.channel.within.clone());
            let input = Input { link, taken, before, session: None, within };
            match read(input) {
                Ok(input) => return Ok(input),
                Err(Unread(left)) => {
                    if let Some(Left::Error(error)) = left.map(|left| *left) {
                        return Err(error);
                    }
                }
            }
        }
    }

    pub(super) async fn receive_wanted<T: ReadReply>(
        mut self,
        wanted: Wanted,
    ) -> Result<(T, Session), StepFailure> {
        self.settle_abandoned().await.map_err(StepFailure::Ended)?;
        let mut timer = self.timer_for(wanted);
        let taken = poll_fn(|context| match self.poll_take_here(context, wanted) {
            Poll::Pending => match &mut timer {
                Some((request, timer)) => {
                    timer.poll(context).map(|()| Err(timer.overdue(*request, TimeoutKind::Reply)))
                }
                None => Poll::Pending,
            },
            taken => taken,
        })
        .await;
        match taken {
            Ok(payload) => Ok((payload, self)),
            Err(Error::Refused(error)) => Err(self.refused(error)),
            Err(error) => Err(self.negotiation_failed(error)),
        }
    }

    /// The time that a reply may take that is waited for in a step of its own, if the settings limit it.
    fn timer_for(&self, wanted: Wanted) -> Option<(MessageIndex, Timer)> {
        let link = &self.channel.link;
        let limit = limit_of(link)?;
        let request = match wanted {
            Wanted::ReplyTo(request) => request,
            Wanted::Message(message) => match link.protocol().message(message)?.kind {
                Kind::Reply { request } => request,
                _ => return None,
            },
            Wanted::Any => return None,
        };
        Some((request, Timer::new(link.clone(), Some(limit))))
    }

    /// The error of a step that was not taken as it should have been: what was announced with it may still be looked
    /// past, anything else ends the session.
    fn negotiation_failed(self, error: Error) -> StepFailure {
        match error {
            error @ (Error::Version { .. } | Error::MissingCapabilities { .. }) => {
                StepFailure::NegotiationFailed { error, session: self }
            }
            error => StepFailure::Ended(error),
        }
    }

    /// The request was refused. A sub-session that the refusal has ended leaves nothing to go on with.
    fn refused(self, error: RpcError) -> StepFailure {
        if self.channel.is_over() {
            return StepFailure::Ended(Error::Refused(error));
        }
        StepFailure::Refused { error, session: self }
    }

    async fn take_here<T: ReadReply>(&mut self, wanted: Wanted) -> Result<T, Error> {
        poll_fn(|context| self.poll_take_here(context, wanted)).await
    }

    /// Takes what is wanted and moves the value. A refusal moves it, too, and is the error.
    pub(crate) fn poll_take_here<T: ReadReply>(
        &mut self,
        context: &Context<'_>,
        wanted: Wanted,
    ) -> Poll<Result<T, Error>> {
        loop {
            let before = self.channel.state;
            let Some(input) = ready!(self.poll_take(context, wanted))? else {
                return Poll::Ready(Err(Error::Disconnected { reason: DisconnectReason::PeerClosed }));
            };
            let message = input.message;
            if let Some(error) = input.negotiation {
                match self.channel.cannot_work_with(input.id, before, *error) {
                    Ok(()) => continue,
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
            let written = matches!(wanted, Wanted::Message(wanted) if wanted == message);
            let payload = match input.body {
                Body::Payload(payload) => payload,
                Body::Rejected(error) => return Poll::Ready(Err(error)),
                Body::Refusal(error) if written => refusal_text(&error),
                Body::Refusal(error) => return Poll::Ready(Err(Error::Refused(error))),
                // No step waits for an exchange; should one, the exchange is answered with an error where it is dropped.
                Body::Exchange(arrived) => {
                    drop(Arrival::within(&self.channel.link, &self.channel.within, *arrived));
                    continue;
                }
            };
            let text = text(&self.channel.link, message, payload.as_deref());
            match T::read_reply(Reply::new(message, text)) {
                Ok(payload) => {
                    if let Some(id) = input.id {
                        self.open.took(message, id);
                    }
                    return Poll::Ready(Ok(payload));
                }
                Err(error) => self.channel.unreadable(message, input.id, before, error)?,
            }
        }
    }

    /// Takes an input and moves the value; `None` where the peer has closed and was permitted to. The close is returned
    /// only after all output is written.
    pub(crate) fn poll_take(
        &mut self,
        context: &Context<'_>,
        wanted: Wanted,
    ) -> Poll<Result<Option<LinearInput>, Error>> {
        let Session { channel, waiter, .. } = self;
        let judge = |input: &LinearInput| channel.judge(wanted, input);
        let taken = ready!(channel.link.speak(|engine, caller| {
            engine.inbox().poll_input(caller, context, waiter, channel.sub_session, judge)
        }))?;
        if taken.is_none() {
            // A program that learns that the peer has closed may exit at once, and the peer would not receive its
            // replies. A peer that neither reads nor disconnects can delay this.
            ready!(channel.link.with(|engine| engine.poll_drained(context, waiter)));
        }
        Poll::Ready(match taken {
            Some(input) => {
                if let Some(target) = channel.target(Direction::Receive, input.message) {
                    self.channel.move_to(target, Moved::Took);
                }
                if let Some(id) = input.answers {
                    self.open.replied(id);
                }
                Ok(Some(input))
            }
            None if channel.peer_may_close() => Ok(None),
            None => Err(Error::Disconnected { reason: DisconnectReason::PeerClosed }),
        })
    }
}

/// What became of an attempt to take an input.
pub(super) enum Taken<I> {
    /// An input was taken, or there will be none.
    Read(Result<I, StepFailure>),
    /// There is none yet.
    Waits(Session),
}

impl Channel {
    /// What to do with an input that waits.
    pub(crate) fn judge(&self, wanted: Wanted, input: &LinearInput) -> Verdict {
        if !self.is_mine(input.message) {
            return Verdict::Skip;
        }
        // What is for another state of this channel waits until the value is there.
        let Some(target) = self.target(Direction::Receive, input.message) else { return Verdict::Skip };
        let kind = self.link.protocol().message(input.message).map(|message| message.kind);
        let (message, request) = match wanted {
            Wanted::Any => return Verdict::Take,
            Wanted::Message(message) if message == input.message => return Verdict::Take,
            Wanted::Message(message) => {
                let table = self.link.protocol().message(message);
                let request = table.and_then(|message| match message.kind {
                    Kind::Reply { request } => Some(request),
                    _ => None,
                });
                (message, request)
            }
            Wanted::ReplyTo(request) => match kind {
                Some(Kind::Reply { request: answered }) if answered == request => return Verdict::Take,
                _ => (request, Some(request)),
            },
        };
        match kind {
            Some(Kind::Refusal { request: refused }) if request == Some(refused) => Verdict::Take,
            // The request that opened the sub-session is refused, whatever the value waits for.
            Some(Kind::Refusal { .. }) if self.ends_in(target) => Verdict::Take,
            _ if target == self.state => Verdict::Skip,
            _ => {
                let name =
                    |message| self.link.protocol().message(message).map(|message| message.name.clone());
                Verdict::Stop(Error::Unexpected {
                    expected: name(message).unwrap_or_default(),
                    got: name(input.message).unwrap_or_default(),
                })
            }
        }
    }

    /// Whether an input is not one that the author has written.
    fn is_implied(&self, state: StateIndex, message: MessageIndex) -> bool {
        let edge = self
            .role()
            .and_then(|role| role.state(state))
            .and_then(|state| state.edge(Direction::Receive, message));
        edge.is_some_and(|edge| edge.origin == Origin::Refusal)
    }

    /// Whether the value stands for a sub-session, or a channel of it, of which nothing is left.
    fn is_over(&self) -> bool {
        self.ends_in(self.state)
    }

    /// Whether the value stands for a sub-session, or a channel of it, of which nothing is left in a state.
    fn ends_in(&self, state: StateIndex) -> bool {
        let table = self.role().and_then(|role| role.state(state));
        self.sub_session.is_some() && table.is_none_or(|state| state.kind == StateKind::End)
    }

    fn peer_may_close(&self) -> bool {
        self.table().is_some_and(|state| {
            state.peer_may_close || matches!(state.kind, StateKind::End | StateKind::Replicated)
        })
    }

    /// An input was taken that announces what this side cannot work with. A request is refused, which undoes it, and
    /// the value goes on waiting: `Ok`.
    pub(crate) fn cannot_work_with(
        &mut self,
        id: Option<RequestId>,
        before: StateIndex,
        error: Error,
    ) -> Result<(), Error> {
        let Some(id) = id else { return Err(error) };
        self.state = before;
        self.link.speak(|engine, caller| {
            let answer = version::answer_to(engine.rules(), &error);
            engine.reply_error(caller, &id, &answer)
        })
    }

    /// An input was taken that does not have its type. `Ok`: the value can go on waiting, where it was before.
    fn unreadable(
        &mut self,
        message: MessageIndex,
        id: Option<RequestId>,
        before: StateIndex,
        error: serde_json::Error,
    ) -> Result<(), Error> {
        let unchanged = self.state == before;
        report_undecodable(&self.link, message, &error);
        match id {
            Some(id) => {
                // The refusal undoes the request.
                self.state = before;
                self.link.speak(|engine, caller| {
                    let answer = undecodable(&engine.rules().method(message), &error);
                    engine.reply_error(caller, &id, &answer)
                })
            }
            None if unchanged => Ok(()),
            None => Err(Error::payload(&self.link.with(|engine| engine.rules().name(message)), error)),
        }
    }
}

/// A refusal that is an input of its own carries the error as its payload.
fn refusal_text(error: &RpcError) -> Option<Box<str>> {
    serde_json::to_string(error).ok().map(Box::from)
}

/// A linear input, before its payload is read.
#[derive(Debug)]
pub struct Input {
    link: Link,
    /// `None`: the peer has closed the session.
    taken: Option<LinearInput>,
    before: StateIndex,
    /// The value, in the state after the input.
    session: Option<Session>,
    /// What the value is restricted to.
    within: Within,
}

impl Input {
    /// Whether the peer has closed the session, as it may here.
    pub fn is_closed(&self) -> bool {
        self.taken.is_none()
    }

    /// Which message it is.
    pub fn message(&self) -> MessageIndex {
        self.taken.as_ref().map_or(MessageIndex(u16::MAX), |input| input.message)
    }

    /// Reads the payload and makes something of it and of the value in its next state.
    ///
    /// # Errors
    /// [`Unread`], if the payload does not have its type.
    pub fn then<T: ReadReply, I>(mut self, make: impl FnOnce(T, Session) -> I) -> Result<I, Unread> {
        let (Some(input), Some(mut session)) = (self.taken.take(), self.session.take()) else {
            return Err(self.unexpected());
        };
        let body = body_text(input.body);
        let text = text(&self.link, input.message, body.as_deref());
        match T::read_reply(Reply::new(input.message, text)) {
            Ok(payload) => {
                if let Some(id) = input.id {
                    session.open.took(input.message, id);
                }
                Ok(make(payload, session))
            }
            Err(error) => match session.channel.unreadable(input.message, input.id, self.before, error) {
                Ok(()) => Err(Unread::session(session)),
                Err(error) => Err(Unread::error(error)),
            },
        }
    }

    /// Reads the payload of an input that leads back to the same state.
    ///
    /// # Errors
    /// [`Unread`], if the payload does not have its type.
    pub fn here<T: DeserializeOwned, I>(mut self, make: impl FnOnce(T) -> I) -> Result<I, Unread> {
        let Some(input) = self.taken.take() else { return Err(self.unexpected()) };
        read(&self.link, input.message, body_text(input.body).as_deref()).map(make).map_err(|error| {
            report_undecodable(&self.link, input.message, &error);
            Unread::skipped()
        })
    }

    /// Reads a request that a `*` of the sub-session's body has opened. The reply is owed by itself, and not by the value.
    ///
    /// # Errors
    /// [`Unread`], if the payload does not have its type; the peer has its answer then.
    pub fn request<P: DeserializeOwned, R, I>(
        self,
        make: impl FnOnce(P, Responder<R>, Session) -> I,
    ) -> Result<I, Unread> {
        let (arrival, session) = self.exchange()?;
        match (arrival.request(), session) {
            (Ok((params, responder)), Some(session)) => Ok(make(params, responder, session)),
            (Ok(_), None) => Err(Unread::skipped()),
            (Err(_), session) => Err(session.map_or_else(Unread::skipped, Unread::session)),
        }
    }

    /// The same where the value stays what it is, whatever comes.
    ///
    /// # Errors
    /// [`Unread`], if the payload does not have its type; the peer has its answer then.
    pub fn request_here<P: DeserializeOwned, R, I>(
        self,
        make: impl FnOnce(P, Responder<R>) -> I,
    ) -> Result<I, Unread> {
        let (arrival, _) = self.exchange()?;
        arrival.request().map(|(params, responder)| make(params, responder))
    }

    /// Reads the first message of a sub-session that a `*` of this one's body has opened.
    ///
    /// # Errors
    /// [`Unread`], if the payload does not have its type; the peer of a request has its answer then.
    pub fn opening<P: DeserializeOwned, I>(
        self,
        make: impl FnOnce(P, Session, Session) -> I,
    ) -> Result<I, Unread> {
        let (arrival, session) = self.exchange()?;
        match (arrival.open(), session) {
            (Ok((params, opened)), Some(session)) => Ok(make(params, opened, session)),
            (Ok(_), None) => Err(Unread::skipped()),
            (Err(_), session) => Err(session.map_or_else(Unread::skipped, Unread::session)),
        }
    }

    /// The same where the value stays what it is, whatever comes.
    ///
    /// # Errors
    /// [`Unread`], if the payload does not have its type; the peer of a request has its answer then.
    pub fn opening_here<P: DeserializeOwned, I>(
        self,
        make: impl FnOnce(P, Session) -> I,
    ) -> Result<I, Unread> {
        let (arrival, _) = self.exchange()?;
        arrival.open().map(|(params, opened)| make(params, opened))
    }

    /// The exchange that the input is, and the value.
    fn exchange(mut self) -> Result<(Arrival, Option<Session>), Unread> {
        match self.taken.take() {
            Some(LinearInput { body: Body::Exchange(arrived), permit, .. }) => {
                let arrived = Arrived { permit, ..*arrived };
                Ok((Arrival::within(&self.link, &self.within, arrived), self.session.take()))
            }
            taken => Err(Input { taken, ..self }.unexpected()),
        }
    }

    /// An input that generated code does not know: the tables and the code do not fit together.
    pub fn unexpected(self) -> Unread {
        let error = match &self.taken {
            Some(input) => {
                let got = self.link.with(|engine| engine.rules().name(input.message));
                Error::Unexpected { expected: "an input of this state".into(), got }
            }
            None => Error::Disconnected { reason: DisconnectReason::PeerClosed },
        };
        Unread::error(error)
    }
}

fn body_text(body: Body) -> Option<Box<str>> {
    match body {
        Body::Payload(payload) => payload,
        Body::Refusal(error) => refusal_text(&error),
        // What takes an input has looked for these before.
        Body::Rejected(_) | Body::Exchange(_) => None,
    }
}
