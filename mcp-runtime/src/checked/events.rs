//! Events of a checked session: what it receives, in wire order.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, Text};
use serde::de::DeserializeOwned;

use super::session::CheckedSession;
use crate::engine::{Answer, Arrived, Body, LinearInput, MailboxId, Notice, Sent, Turn, Verdict};
use crate::error::{DisconnectReason, Error};
use crate::jsonrpc::RpcError;
use crate::rules::cancelling;
use crate::rules::method::Opening;
use crate::rules::names::to_be_read;
use crate::typed::{Session, Wanted, checker_at};

/// An event of a checked session.
///
/// ```
/// use mcp_runtime::{CheckedSession, Error, Event, RpcError};
/// use serde_json::json;
///
/// /// Answers each request with a forecast, until the peer has left.
/// async fn serve(mut session: CheckedSession) -> Result<(), Error> {
///     loop {
///         match session.next().await? {
///             Event::Request { id, method, .. } if &*method == "weather/forecast" => {
///                 session.respond(&id, &json!({ "celsius": 21.5 })).await?;
///             }
///             Event::Request { id, method, .. } => {
///                 session.refuse(&id, &RpcError::method_not_found(&*method))?;
///             }
///             Event::Closed => return Ok(()),
///             _ => {}
///         }
///     }
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A request of the peer: answer it with [`respond`](CheckedSession::respond) or
    /// [`refuse`](CheckedSession::refuse).
    Request {
        /// The id with which it is answered.
        id: RequestId,
        /// Which message it is.
        message: MessageIndex,
        /// Its wire method.
        method: Text,
        /// What it carries.
        params: Payload,
    },
    /// A notification of the peer.
    Notification {
        /// Which message it is.
        message: MessageIndex,
        /// Its wire method.
        method: Text,
        /// What it carries.
        params: Payload,
    },
    /// The reply to a request of this side.
    Reply {
        /// The request of this side.
        id: RequestId,
        /// Which of its replies it is.
        message: MessageIndex,
        /// What it carries.
        result: Payload,
    },
    /// The peer has refused a request.
    Refused {
        /// The request of this side.
        id: RequestId,
        /// What the peer said.
        error: RpcError,
    },
    /// A request of this side will have no reply: it was cancelled, took too long, its reply cannot be accepted, or the
    /// session is over.
    Failed {
        /// The request of this side.
        id: RequestId,
        /// Why.
        error: Error,
    },
    /// Progress of a request of this side.
    Progress {
        /// The request of this side.
        id: RequestId,
        /// The payload of the notification.
        params: Payload,
    },
    /// The peer has cancelled a request that [`next`](CheckedSession::next) returned before. It needs no answer, unless the
    /// protocol says that the reply follows a cancel. In a sub-session it comes once no message waits there.
    Cancelled {
        /// The request of the peer.
        id: RequestId,
    },
    /// The peer has opened a sub-session that has steps of its own.
    Opened {
        /// The message that opened it.
        message: MessageIndex,
        /// Its id, if it is a request; the new session answers it.
        id: Option<RequestId>,
        /// What it carries.
        params: Payload,
        /// The session that stands for the sub-session.
        session: CheckedSession,
    },
    /// The session accepts a message, but this side cannot work with what the peer announces in it. The session is in
    /// the state behind the message.
    NegotiationFailed {
        /// The request of this side that it answers, if it is a reply.
        id: Option<RequestId>,
        /// What is wrong: [`Error::Version`] or [`Error::MissingCapabilities`].
        error: Error,
    },
    /// The peer has closed the session, as the protocol permits here. No more events follow.
    Closed,
}

/// What a message carries, as JSON.
///
/// ```
/// use mcp_runtime::session::Payload;
///
/// #[derive(serde::Deserialize)]
/// struct Forecast {
///     celsius: f64,
/// }
///
/// fn celsius(payload: &Payload) -> Option<f64> {
///     Some(payload.read::<Forecast>().ok()?.celsius)
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(Box<str>);

impl Payload {
    /// Reads it.
    ///
    /// # Errors
    /// If it does not have the type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// The JSON; `null` where the message carries nothing.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What has come about a request of this side.
fn heard(id: RequestId, sent: Sent) -> Event {
    match sent {
        Sent::Progress(params) => Event::Progress { id, params: Payload(params) },
        Sent::Done(outcome) => replied(id, outcome),
    }
}

/// What has become of a request of this side.
fn replied(id: RequestId, outcome: Result<Answer, Error>) -> Event {
    match outcome {
        Ok(answer) => Event::Reply { id, message: answer.message, result: Payload(answer.text) },
        Err(Error::Refused(error)) => Event::Refused { id, error },
        Err(error @ (Error::Version { .. } | Error::MissingCapabilities { .. })) => {
            Event::NegotiationFailed { id: Some(id), error }
        }
        Err(error) => Event::Failed { id, error },
    }
}

impl CheckedSession {
    /// Waits for the next event, and moves the session with it. Dropping the future loses nothing.
    ///
    /// Events come in the order in which the peer sent them. A message that crossed a step of this side is late: it is
    /// dropped and reported ([`Report::Late`](crate::Report::Late)). Messages of replicated channels come only while no
    /// other part of the program takes them: not while a typed `incoming` of the same session is held.
    ///
    /// ```
    /// use mcp_runtime::{CheckedSession, Error, Event};
    ///
    /// async fn print_all(mut session: CheckedSession) -> Result<(), Error> {
    ///     loop {
    ///         match session.next().await? {
    ///             Event::Notification { method, params, .. } => println!("{method}: {params}"),
    ///             Event::Closed => return Ok(()),
    ///             other => println!("{other:?}"),
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// Once the session is over: [`Error::Closed`] if this side has closed it, or why it has ended.
    pub async fn next(&mut self) -> Result<Event, Error> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The same for code that polls.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Event, Error>> {
        self.split_forks();
        for part in &mut self.parts {
            ready!(part.poll_abandoned(context))?;
        }
        loop {
            let Some(key) = self.channel.as_ref().map(|channel| channel.key) else {
                let place = self.first_to_take().unwrap_or_default();
                return match self.poll_part(context, place) {
                    Poll::Ready(Some(event)) => Poll::Ready(event),
                    Poll::Ready(None) => continue,
                    Poll::Pending => {
                        if let Poll::Ready(id) = self.poll_cancel(context) {
                            match self.cancelled(id) {
                                Some(event) => return Poll::Ready(Ok(event)),
                                None => continue,
                            }
                        }
                        let is_over = self.is_over();
                        match &mut self.exchanges {
                            Some(own) if own.asked().is_empty() && is_over => Poll::Ready(Err(Error::Closed)),
                            Some(own) => own.poll_reply(context).map(|(id, sent)| Ok(heard(id, sent))),
                            None => Poll::Pending,
                        }
                    }
                };
            };
            let parts = &self.parts;
            let judge = |input: &LinearInput| {
                let verdicts = parts.iter().map(|part| part.channel.judge(Wanted::Any, input));
                verdicts
                    .into_iter()
                    .find(|verdict| !matches!(verdict, Verdict::Skip))
                    .unwrap_or(Verdict::Skip)
            };
            let event = match ready!(self.link.with(|engine| engine.inbox().poll_turn(context, key, judge))) {
                Turn::Linear(message) => self.linear(context, message),
                // Nothing is there if somebody else was quicker.
                Turn::Replicated => {
                    let arrived = self.link.with(|engine| engine.inbox().next_incoming(None));
                    arrived.map(|arrived| Ok(self.arrived(arrived, Some(key))))
                }
                Turn::Notice => self.told(context, key).map(Ok),
                Turn::Over => match ready!(self.poll_part(context, 0)) {
                    Some(event) => Some(self.over(event)),
                    None => continue,
                },
            };
            if let Some(event) = event {
                return Poll::Ready(event);
            }
        }
    }

    /// Nothing comes any more. Whether the peer was allowed to close the session is for all parts to say, and is said
    /// once.
    fn over(&mut self, event: Result<Event, Error>) -> Result<Event, Error> {
        let reason = DisconnectReason::PeerClosed;
        let by_peer = match &event {
            Ok(event) => matches!(event, Event::Closed),
            Err(error) => matches!(error, Error::Disconnected { reason: DisconnectReason::PeerClosed }),
        };
        if !by_peer {
            return event;
        }
        let may = checker_at(&self.link, &self.states()).is_none_or(|checker| checker.peer_may_close());
        match may && !std::mem::replace(&mut self.closed, true) {
            true => Ok(Event::Closed),
            false => Err(Error::Disconnected { reason }),
        }
    }

    /// Takes the first linear input of the part that a message is for.
    fn linear(&mut self, context: &Context<'_>, message: MessageIndex) -> Option<Result<Event, Error>> {
        match self.poll_part(context, self.part_for(message)?) {
            Poll::Ready(event) => event,
            Poll::Pending => None,
        }
    }

    /// The part that a message is for.
    fn part_for(&self, message: MessageIndex) -> Option<usize> {
        self.parts.iter().position(|part| {
            part.channel.is_mine(message) && part.channel.target(Direction::Receive, message).is_some()
        })
    }

    /// The part of a sub-session that takes the first of the inputs that wait.
    fn first_to_take(&self) -> Option<usize> {
        let sub_session = self.parts.first()?.channel.sub_session;
        let takes = |input: &LinearInput| self.part_for(input.message).is_some();
        let message = self.link.with(|engine| engine.inbox().first_input(sub_session, takes))?;
        self.part_for(message)
    }

    /// Takes the next input of a part. `None`: there was one, and it was answered.
    fn poll_part(&mut self, context: &Context<'_>, place: usize) -> Poll<Option<Result<Event, Error>>> {
        let key = self.channel.as_ref().map(|channel| channel.key);
        let Some(part) = self.parts.get_mut(place) else { return Poll::Ready(Some(Err(Error::Closed))) };
        let before = part.state();
        let input = match ready!(part.poll_take(context, Wanted::Any)) {
            Ok(Some(input)) => input,
            Ok(None) => return Poll::Ready(Some(Ok(Event::Closed))),
            Err(error) => return Poll::Ready(Some(Err(error))),
        };
        let LinearInput { message, id, answers, body, negotiation, .. } = input;
        let asked = answers.map(RequestId::Number);
        if let Some(error) = negotiation {
            return Poll::Ready(match part.channel.cannot_work_with(id, before, *error) {
                Ok(()) => None,
                Err(error @ (Error::Version { .. } | Error::MissingCapabilities { .. })) => {
                    Some(Ok(Event::NegotiationFailed { id: asked, error }))
                }
                Err(error) => Some(Err(error)),
            });
        }
        let event = match (body, id) {
            (Body::Exchange(arrived), _) => self.arrived(*arrived, key),
            (Body::Rejected(error), _) => match asked {
                Some(id) => Event::Failed { id, error },
                None => return Poll::Ready(Some(Err(error))),
            },
            (Body::Refusal(error), _) => match asked {
                Some(id) => Event::Refused { id, error },
                // A refusal answers a request; there is no other.
                None => return Poll::Ready(None),
            },
            (Body::Payload(payload), Some(id)) => {
                part.open.took(message, id.clone());
                match (key, &mut self.exchanges) {
                    (Some(key), _) => self.link.with(|engine| engine.hold(&id, key)),
                    (None, Some(own)) => own.watch(id.clone()),
                    (None, None) => {}
                }
                let (method, params) = self.opening(message, payload);
                Event::Request { id, message, method, params }
            }
            (Body::Payload(payload), None) => match asked {
                Some(id) => Event::Reply { id, message, result: self.payload(message, payload) },
                None => {
                    let (method, params) = self.opening(message, payload);
                    Event::Notification { message, method, params }
                }
            },
        };
        Poll::Ready(Some(Ok(event)))
    }

    /// A replicated input.
    fn arrived(&mut self, arrived: Arrived, key: Option<MailboxId>) -> Event {
        let Arrived { message, id, sub_session, payload, epoch, .. } = arrived;
        let (method, params) = self.opening(message, payload);
        if let Some((sub_session, state)) = sub_session {
            let open = id.iter().map(|id| (message, id.clone())).collect();
            let session = CheckedSession::of(Session::of_sub_session(
                self.link.within(epoch),
                self.within.clone(),
                sub_session,
                state,
                open,
            ));
            return Event::Opened { message, id, params, session };
        }
        match id {
            Some(id) => {
                if let Some(key) = key {
                    self.link.with(|engine| engine.hold(&id, key));
                }
                if let Some(own) = &mut self.exchanges {
                    own.hold(id.clone());
                }
                Event::Request { id, message, method, params }
            }
            None => Event::Notification { message, method, params },
        }
    }

    /// The next event for this value alone: the result of a request, progress, or a cancellation.
    fn told(&mut self, context: &Context<'_>, key: MailboxId) -> Option<Event> {
        match self.link.with(|engine| engine.inbox().next_notice(key))? {
            Notice::Answered(number) => {
                let id = RequestId::Number(number);
                // What was reported before was told before; what is left of it came in the same breath.
                let sent = loop {
                    match self.link.speak(|engine, caller| engine.calls().poll_call(caller, context, number))
                    {
                        Poll::Ready(Sent::Progress(_)) => {}
                        Poll::Ready(Sent::Done(result)) => break result,
                        Poll::Pending => return None,
                    }
                };
                Some(replied(id, sent))
            }
            Notice::Progress(number) => {
                match self.link.with(|engine| engine.calls().poll_progress(context, number)) {
                    Poll::Ready(Some(params)) => {
                        Some(Event::Progress { id: RequestId::Number(number), params: Payload(params) })
                    }
                    _ => None,
                }
            }
            Notice::Cancelled(id) => self.cancelled(id),
        }
    }

    /// The request of the peer that was cancelled, of those that the value of a sub-session has returned. What waits to be
    /// taken was looked at before.
    fn poll_cancel(&mut self, context: &Context<'_>) -> Poll<RequestId> {
        let Some(own) = &mut self.exchanges else { return Poll::Pending };
        let parts = &self.parts;
        own.poll_cancel(context, |id| parts.iter().any(|part| part.open.message_of(id).is_some()))
    }

    /// The peer has cancelled a request that was returned before.
    fn cancelled(&mut self, id: RequestId) -> Option<Event> {
        if self.link.with(|engine| cancelling::is_reply_awaited(engine.rules(), &id)) {
            return Some(Event::Cancelled { id });
        }
        match self.linear_request(&id) {
            // The peer does not wait for the answer, but the session continues in the state behind it.
            Some((place, request)) => {
                let error = RpcError::internal_error("the request was cancelled");
                self.parts.get_mut(place)?.refuse_now(request, &error).ok()?;
            }
            None => {
                self.link.with(|engine| engine.forget_cancelled(&id));
                if let Some(own) = &mut self.exchanges {
                    own.release(&id);
                }
            }
        }
        Some(Event::Cancelled { id })
    }

    /// The method and the params of a request or notification.
    fn opening(&self, message: MessageIndex, came: Option<Box<str>>) -> (Text, Payload) {
        let Some(table) = self.protocol().message(message) else {
            return (Text::default(), self.payload(message, came));
        };
        if table.pattern().is_some()
            && let Some(came) = &came
            && let Ok(Opening { method, params }) = Opening::of(table, came)
        {
            return (Text::Owned(method.into_owned()), Payload(params.unwrap_or("null").into()));
        }
        (table.method.clone(), self.payload(message, came))
    }

    fn payload(&self, message: MessageIndex, came: Option<Box<str>>) -> Payload {
        // What came is shown as it came; only what is not there at all may have something that stands for it.
        came.map(Payload).unwrap_or_else(|| match self.protocol().message(message) {
            Some(table) if matches!(table.kind, Kind::Reply { .. }) => {
                Payload(to_be_read(self.protocol(), table, None).into())
            }
            _ => Payload("null".into()),
        })
    }
}
