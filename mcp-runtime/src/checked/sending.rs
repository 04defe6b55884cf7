//! Sends the messages of a checked session.

use std::future::poll_fn;
use std::task::Poll;

use mcp_protocol_machine::protocol::{Action, Direction, Kind, MessageIndex, Origin};
use mcp_protocol_machine::{About, Awaiting, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::named::Name;
use super::session::CheckedSession;
use crate::clock::now;
use crate::engine::{Caller, CancelOutcome, Engine, Moved};
use crate::error::{Error, MismatchError, TimeoutKind};
use crate::jsonrpc::{RpcError, write};
use crate::rules::method::with_method;
use crate::rules::names::id_at;
use crate::rules::{alternatives, judge};
use crate::typed::{Call, LazyTimer, Uncancellable, Wanted, checker_at, permits, room, sub_sessions};

/// Where a message goes.
enum SendTarget {
    /// On the linear channel of this part.
    Linear(usize),
    /// On a replicated channel.
    Replicated,
    /// It opens a sub-session that has steps of its own.
    Opens,
}

impl CheckedSession {
    /// Sends a request and returns its id. Its outcome comes with [`next`](Self::next):
    /// [`Event::Reply`](super::Event::Reply), [`Event::Refused`](super::Event::Refused), or
    /// [`Event::Failed`](super::Event::Failed). Its progress comes as [`Event::Progress`](super::Event::Progress), if
    /// its parameters carry a token.
    ///
    /// ```
    /// use mcp_runtime::{CheckedSession, Error, Event};
    /// use serde_json::{Value, json};
    ///
    /// async fn forecast(session: &mut CheckedSession) -> Result<Option<Value>, Error> {
    ///     let asked = session.request("weather/forecast", &json!({ "city": "Oslo" })).await?;
    ///     loop {
    ///         match session.next().await? {
    ///             Event::Reply { id, result, .. } if id == asked => return Ok(result.read().ok()),
    ///             Event::Refused { id, error } if id == asked => return Err(error.into()),
    ///             other => println!("{other:?}"),
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotPermitted`](crate::Error::NotPermitted) if the state or a capability does not permit it,
    /// [`Error::Payload`](crate::Error::Payload) if the payload cannot be written, and why the session has ended, if it has. [`Error::Opens`](crate::Error::Opens)
    /// if the request opens a sub-session: send it with [`open`](Self::open).
    pub async fn request<'m, P: Serialize + ?Sized>(
        &mut self,
        request: impl Into<Name<'m>>,
        params: &P,
    ) -> Result<RequestId, Error> {
        let (message, written) = self.named(request.into(), Kind::Request, params)?;
        match self.way(message)? {
            SendTarget::Linear(place) => {
                return self
                    .put(place, message, written, &mut LazyTimer::default())
                    .await
                    .map(|id| RequestId::Number(id.unwrap_or_default()));
            }
            SendTarget::Opens => return Err(self.opens(message)),
            SendTarget::Replicated => {}
        }
        let key = self.channel.as_ref().map(|channel| channel.key);
        let started = now();
        room(&self.link, message).await?;
        let (timeouts, within) = (self.link.options().call_timeouts(), self.within.as_deref());
        let id = self.link.speak(|engine, caller| {
            alternatives::check_within(engine.rules(), message, &written, within)?;
            let id = engine.request(caller, message, &written, false, true)?;
            if let Some(key) = key {
                engine.calls().asked_by(id, key);
            }
            engine.calls().limit_call(id, started, timeouts);
            Ok::<_, Error>(id)
        })?;
        if let Some(own) = &mut self.exchanges {
            own.ask(id);
        }
        Ok(RequestId::Number(id))
    }

    /// Sends a request and waits for its reply. The timeouts of the [`Options`](crate::Options) apply.
    ///
    /// Dropping the future cancels a request of a replicated channel, if the protocol allows it. The reply to a linear
    /// request that was dropped or timed out comes with [`next`](Self::next).
    ///
    /// ```
    /// use mcp_runtime::{CheckedSession, Error};
    /// use serde_json::{Value, json};
    ///
    /// async fn open(session: &mut CheckedSession) -> Result<Value, Error> {
    ///     session.call("weather/open", &json!({ "name": "a client" })).await
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotPermitted`](crate::Error::NotPermitted) if the state or a capability does not permit it,
    /// [`Error::Payload`](crate::Error::Payload) if the payload cannot be written, and why the session has ended, if it has.
    /// [`Error::Refused`](crate::Error::Refused) if the peer answers with an error, and
    /// [`Error::Timeout`](crate::Error::Timeout) if it does not answer in time.
    pub async fn call<'m, P: Serialize + ?Sized, T: DeserializeOwned>(
        &mut self,
        request: impl Into<Name<'m>>,
        params: &P,
    ) -> Result<T, Error> {
        let (message, written) = self.named(request.into(), Kind::Request, params)?;
        match self.way(message)? {
            SendTarget::Linear(place) => {
                let mut timer = LazyTimer::default();
                self.put(place, message, written, &mut timer).await?;
                return self.reply_to(place, message, &mut timer).await;
            }
            SendTarget::Opens => return Err(self.opens(message)),
            SendTarget::Replicated => {}
        }
        let link = self.link.clone();
        let call: Call<'static, T, Uncancellable, ()> = Call::of_written(link, message, Ok(written));
        call.within(self.within.clone()).await
    }

    async fn reply_to<T: DeserializeOwned>(
        &mut self,
        place: usize,
        request: MessageIndex,
        timer: &mut LazyTimer,
    ) -> Result<T, Error> {
        poll_fn(|context| {
            let Some(part) = self.parts.get_mut(place) else { return Poll::Ready(Err(Error::Closed)) };
            match part.poll_take_here(context, Wanted::ReplyTo(request)) {
                Poll::Pending => {
                    timer.poll_overdue(context, &self.link, request, TimeoutKind::Reply).map(Err)
                }
                taken => taken,
            }
        })
        .await
    }

    /// Sends a notification. One that cancels a request, or reports progress on one, names it in its parameters.
    ///
    /// ```
    /// use mcp_runtime::{CheckedSession, Error};
    /// use serde_json::json;
    ///
    /// async fn observe(session: &mut CheckedSession, celsius: f64) -> Result<(), Error> {
    ///     session.notify("weather/observe", &json!({ "city": "Oslo", "celsius": celsius })).await
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotPermitted`](crate::Error::NotPermitted) if the state or a capability does not permit it,
    /// [`Error::Payload`](crate::Error::Payload) if the payload cannot be written, and why the session has ended, if it has.
    pub async fn notify<'m, P: Serialize + ?Sized>(
        &mut self,
        notification: impl Into<Name<'m>>,
        params: &P,
    ) -> Result<(), Error> {
        let (message, written) = self.named(notification.into(), Kind::Notification, params)?;
        let protocol = self.link.with(|engine| engine.rules().protocol().clone());
        let Some(table) = protocol.message(message) else { return Err(self.not_here(message)) };
        if let Some(cancels) = &table.cancels {
            return match id_at(Some(written.as_str()), &cancels.id) {
                Some(id) => self.send_cancel(message, &id, &written),
                // The checker says what is wrong with that.
                None => self
                    .link
                    .speak(|engine, caller| engine.notification(caller, message, &written, About::Nothing))
                    .map(drop),
            };
        }
        let token = table.reports.as_ref().and_then(|reports| id_at(Some(written.as_str()), &reports.token));
        // A report goes with its request, wherever the session stands.
        if !self.link.with(|engine| judge::is_report(engine.rules(), message, token.as_ref(), &written)) {
            match self.way(message) {
                Ok(SendTarget::Linear(place)) => {
                    return self.put(place, message, written, &mut LazyTimer::default()).await.map(drop);
                }
                Ok(SendTarget::Opens) => return Err(self.opens(message)),
                Ok(SendTarget::Replicated) => {}
                // That its token belongs to no request is what is wrong with it: the checker says so.
                Err(_) if token.is_some() => {}
                Err(error) => return Err(error),
            }
        }
        room(&self.link, message).await?;
        let about = token.as_ref().map_or(About::Nothing, About::Token);
        let within = self.within.as_deref();
        self.link.speak(|engine, caller| {
            alternatives::check_within(engine.rules(), message, &written, within)?;
            engine.notification(caller, message, &written, about).map(drop)
        })
    }

    /// Cancels a request of this side, where the protocol allows it. A request of a replicated channel then ends with
    /// [`Event::Failed`](super::Event::Failed). If the protocol says that the reply follows a cancel, the reply comes with
    /// [`next`](Self::next) as any other. Does nothing if the reply has come already.
    ///
    /// ```
    /// use mcp_runtime::{CheckedSession, Error};
    /// use serde_json::json;
    ///
    /// async fn never_mind(session: &mut CheckedSession) -> Result<(), Error> {
    ///     let asked = session.request("weather/forecast", &json!({ "city": "Oslo" })).await?;
    ///     session.cancel(&asked)
    /// }
    /// ```
    ///
    /// # Errors
    /// If the protocol does not permit the cancel, or the session has ended.
    pub fn cancel(&mut self, id: &RequestId) -> Result<(), Error> {
        match self.link.with(|engine| engine.rules().cancel_message()) {
            Some(message) => self.send_cancel(message, id, "{}"),
            None => Ok(()),
        }
    }

    fn send_cancel(&mut self, message: MessageIndex, id: &RequestId, extra: &str) -> Result<(), Error> {
        let number = match id {
            RequestId::Number(number) => *number,
            // No request of this side has such an id: the checker says so.
            RequestId::Text(_) => {
                return self
                    .link
                    .speak(|engine, caller| engine.notification(caller, message, extra, About::Request(id)))
                    .map(drop);
            }
        };
        let outcome = self.link.speak(|engine, caller| engine.cancel(caller, number, Some(extra)))?;
        if outcome == CancelOutcome::Ended
            && let Some(part) =
                self.parts.iter_mut().find_map(|part| part.open.replied(number).then_some(part))
            && let Some(target) = part.channel.target(Direction::Send, message)
        {
            // It leads back to where the request was sent.
            part.channel.move_to(target, Moved::Sent(message));
        }
        Ok(())
    }

    /// Opens a sub-session with its first message. Returns a session that stands for the sub-session alone.
    ///
    /// ```
    /// use mcp_runtime::{CheckedSession, Error};
    /// use serde_json::json;
    ///
    /// /// Opens a note of a notebook: what is said about it from here on belongs to the returned session.
    /// async fn open_note(notebook: &mut CheckedSession) -> Result<CheckedSession, Error> {
    ///     notebook.open("notes/open", &json!({ "title": "shopping" })).await
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotPermitted`](crate::Error::NotPermitted) if the state or a capability does not permit it,
    /// [`Error::Payload`](crate::Error::Payload) if the payload cannot be written, and why the session has ended, if it has.
    /// [`Error::OpensNothing`](crate::Error::OpensNothing) if the message does not open a sub-session.
    pub async fn open<'m, P: Serialize + ?Sized>(
        &mut self,
        message: impl Into<Name<'m>>,
        params: &P,
    ) -> Result<CheckedSession, Error> {
        let name = message.into();
        let (message, written) = match self.named(name, Kind::Request, params) {
            Err(Error::NotPermitted(_)) => self.named(name, Kind::Notification, params)?,
            found => found?,
        };
        let SendTarget::Opens = self.way(message)? else {
            return Err(Error::OpensNothing { message: self.name_of(message) });
        };
        sub_sessions::open_written(self.link.clone(), self.within.clone(), message, &written)
            .await
            .map(CheckedSession::of)
    }

    /// Answers a request that came with [`next`](Self::next) with a result. If the peer has cancelled the request, nothing
    /// is sent, unless the protocol says that the reply follows a cancel.
    ///
    /// ```
    /// use mcp_runtime::{CheckedSession, Error, Event};
    /// use serde_json::json;
    ///
    /// async fn serve(mut session: CheckedSession) -> Result<(), Error> {
    ///     loop {
    ///         match session.next().await? {
    ///             Event::Request { id, .. } => session.respond(&id, &json!({ "celsius": 4 })).await?,
    ///             Event::Closed => return Ok(()),
    ///             other => println!("{other:?}"),
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotHeld`](crate::Error::NotHeld) if this value holds no request with the id,
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the result fits none of the replies,
    /// [`Error::Payload`](crate::Error::Payload) if it cannot be written, and why the session has ended, if it has.
    pub async fn respond<R: Serialize + ?Sized>(&mut self, id: &RequestId, result: &R) -> Result<(), Error> {
        let Some((place, request)) = self.linear_request(id) else {
            let written =
                write::payload(result).map_err(|error| Error::payload(&"the result".into(), error))?;
            return self.answer(id, |engine, caller| engine.reply_result(caller, id, &written));
        };
        let written =
            write::payload(result).map_err(|error| Error::payload(&self.name_of(request), error))?;
        let Some(reply) = self.link.with(|engine| engine.rules().reply_of(request, written.as_str())) else {
            let replies =
                self.protocol().messages.iter().filter(|reply| reply.kind == Kind::Reply { request });
            let problem =
                MismatchError::FitsNone(replies.filter_map(|reply| reply.condition.clone()).collect());
            return Err(Error::Mismatch { message: self.name_of(request), problem });
        };
        self.put(place, reply, written, &mut LazyTimer::default()).await.map(drop)
    }

    /// Answers a request of the peer with an error.
    ///
    /// ```
    /// use mcp_runtime::{CheckedSession, Error, RpcError};
    /// use mcp_runtime::protocol::RequestId;
    ///
    /// fn unknown_city(session: &mut CheckedSession, request: &RequestId) -> Result<(), Error> {
    ///     session.refuse(request, &RpcError::invalid_params("unknown city"))
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotHeld`](crate::Error::NotHeld) if this value holds no request with the id, and why the session has ended, if
    /// it has.
    pub fn refuse(&mut self, id: &RequestId, error: &RpcError) -> Result<(), Error> {
        match self.linear_request(id) {
            Some((place, request)) => match self.parts.get_mut(place) {
                Some(part) => part.refuse_now(request, error),
                None => Ok(()),
            },
            None => self.answer(id, |engine, caller| engine.reply_error(caller, id, error)),
        }
    }

    /// Answers a request of a replicated channel, if this value holds it. It still does if the answer is one that the
    /// protocol does not permit.
    fn answer(
        &mut self,
        id: &RequestId,
        answer: impl FnOnce(&mut Engine, Caller) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let key = self.channel.as_ref().map(|channel| channel.key);
        let is_exchange = self.exchanges.as_ref().is_some_and(|own| own.holds(id));
        let (answered, is_open) = self.link.speak(|engine, caller| {
            let may_answer =
                is_exchange || key.is_some_and(|key| engine.owed().may_answer(engine.rules(), id, key));
            let answered = match may_answer {
                true => answer(engine, caller),
                false => Err(engine
                    .lifecycle()
                    .closed(caller)
                    .unwrap_or_else(|| Error::NotHeld { id: id.clone() })),
            };
            let lifecycle = engine.lifecycle();
            let may_follow = answered.is_err() && !lifecycle.is_over() && !lifecycle.is_lost(caller);
            let awaiting = || engine.rules().checker().awaiting(Direction::Send, id);
            (answered, may_follow && matches!(awaiting(), Awaiting::Request(_)))
        });
        if !is_open && let Some(own) = &mut self.exchanges {
            own.release(id);
        }
        answered
    }

    /// The part that holds a linear request, and which it is.
    pub(super) fn linear_request(&self, id: &RequestId) -> Option<(usize, MessageIndex)> {
        self.parts
            .iter()
            .enumerate()
            .find_map(|(place, part)| part.open.message_of(id).map(|request| (place, request)))
    }

    /// The message that is meant, and its payload as JSON.
    fn named<P: Serialize + ?Sized>(
        &self,
        name: Name<'_>,
        kind: Kind,
        params: &P,
    ) -> Result<(MessageIndex, String), Error> {
        let written = write::payload(params).map_err(|error| {
            let message = name.any(&self.link).map(|message| self.name_of(message));
            Error::payload(&message.unwrap_or_default(), error)
        })?;
        let message = name.find(&self.link, kind, Some(&written))?;
        let is_pattern = self.protocol().message(message).is_some_and(|table| table.pattern().is_some());
        match name {
            // By its index, the payload says which method is meant.
            Name::Method(method) if is_pattern => Ok((message, with_method(method, &written))),
            _ => Ok((message, written)),
        }
    }

    pub(super) fn name_of(&self, message: MessageIndex) -> mcp_protocol_machine::protocol::Text {
        self.protocol().message(message).map(|message| message.name.clone()).unwrap_or_default()
    }

    /// Where a message goes from the states of this value.
    fn way(&mut self, message: MessageIndex) -> Result<SendTarget, Error> {
        self.split_forks();
        if self.is_over() {
            return Err(Error::Closed);
        }
        for (place, part) in self.parts.iter().enumerate() {
            let edge = part.channel.table().and_then(|state| state.edge(Direction::Send, message));
            match edge.filter(|edge| edge.origin != Origin::Closure).map(|edge| edge.action) {
                Some(Action::Step(_)) => return Ok(SendTarget::Linear(place)),
                Some(Action::Spawn(start)) => {
                    let opens = self.link.with(|engine| engine.rules().checker().has_steps(start));
                    return Ok(if opens { SendTarget::Opens } else { SendTarget::Replicated });
                }
                None => {}
            }
        }
        Err(self.not_here(message))
    }

    async fn put(
        &mut self,
        place: usize,
        message: MessageIndex,
        written: String,
        timer: &mut LazyTimer,
    ) -> Result<Option<i64>, Error> {
        let Some(part) = self.parts.get_mut(place) else { return Err(Error::Closed) };
        let id = part.put_within(message, &Ok(written), timer).await?;
        if let Some(id) = id {
            part.open.asked(id);
        }
        Ok(id)
    }

    /// The error for a message that is not permitted.
    fn not_here(&self, message: MessageIndex) -> Error {
        let capabilities = self.capabilities();
        if let Err(violation) = permits(&self.link, &self.states(), message, &capabilities) {
            return Error::NotPermitted(violation);
        }
        if let Some(error) = self.link.speak(|engine, caller| engine.lifecycle().closed(caller)) {
            return error;
        }
        // It is one of a sub-session, or goes with a request, and not of this value.
        let here = checker_at(&self.link, &self.states());
        let judged = here.map(|here| here.permits_if(Direction::Send, message, &capabilities, |_| false));
        judged.and_then(Result::err).map_or(Error::Closed, Error::NotPermitted)
    }

    fn opens(&self, message: MessageIndex) -> Error {
        Error::Opens { message: self.name_of(message) }
    }
}
