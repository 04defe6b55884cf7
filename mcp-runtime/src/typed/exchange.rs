//! A linear request and its reply in one step.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_protocol_machine::protocol::{MessageIndex, StateIndex};
use serde::Serialize;

use super::cancelling::{Cancellable, Canceller, Cancelling, Uncancellable, locked};
use super::failure::StepFailure;
use super::generated::InState;
use super::inputs::{Input, Taken, Wanted};
use super::payload_text::written;
use super::reply::ReadReply;
use super::session::Session;
use super::timer::Timer;
use super::unread::Unread;
use crate::error::{Error, TimeoutKind};

/// How far an exchange is.
#[derive(Debug)]
enum ExchangeStage {
    /// Nothing was written yet.
    New(Result<String, Error>),
    /// Written, under this id.
    Waiting(i64),
    Over,
}

/// A linear request whose reply leads back to the state before it, as a future.
///
/// It is sent when it is first polled. Dropping it, or its timeout, cancels the request if `C` says that the protocol
/// allows it. If the request still gets its reply, that is abandoned: it is awaited and dropped before the next step is
/// written.
///
/// ```
/// use std::time::Duration;
/// use mcp_runtime::{Error, call::ReadReply, session::Exchange};
///
/// /// `within(calculator.total())`: the calculator is ready again afterwards, whatever the result.
/// async fn within<T: ReadReply, C>(total: Exchange<'_, T, C>) -> Result<T, Error> {
///     total.timeout(Duration::from_secs(2)).await
/// }
/// ```
///
/// # Errors
/// As those of a [`Call`](crate::call::Call).
#[must_use = "a request is sent when it is awaited"]
pub struct Exchange<'s, T, C = Uncancellable> {
    session: &'s mut Session,
    request: MessageIndex,
    stage: ExchangeStage,
    before: StateIndex,
    timer: Timer,
    cancelling: Option<Arc<Mutex<Cancelling>>>,
    marker: PhantomData<fn() -> (T, C)>,
}

impl<T, C> Exchange<'_, T, C> {
    /// Fails with [`Error::Timeout`] if the reply has not come within `timeout` of the first poll. The session
    /// continues.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timer.limit(timeout);
        self
    }

    /// The reply is not awaited any more.
    fn leave(&mut self, why: Option<&Error>) {
        let ExchangeStage::Waiting(id) = std::mem::replace(&mut self.stage, ExchangeStage::Over) else {
            return;
        };
        let is_cancelled = self.is_cancelled();
        let channel = &mut self.session.channel;
        let (request, sub_session) = (self.request, channel.sub_session);
        if !is_cancelled {
            let abandoned = channel
                .link
                .speak(|engine, caller| engine.abandon_exchange(caller, request, id, sub_session, why));
            self.session.open.abandon(abandoned);
        }
        // The reply leads back to here, whatever it says.
        channel.state = self.before;
    }

    fn is_cancelled(&self) -> bool {
        self.cancelling.as_deref().is_some_and(|shared| matches!(*locked(shared), Cancelling::Cancelled))
    }

    /// The request was written. If it was cancelled meanwhile, this sends the cancellation.
    fn was_written(&mut self, id: i64) {
        self.stage = ExchangeStage::Waiting(id);
        let Some(shared) = self.cancelling.as_deref() else { return };
        self.session.channel.link.speak(|engine, caller| {
            // Locked inside of the engine's lock, as cancellers do it.
            let mut cancelling = locked(shared);
            if let Cancelling::Cancelled = std::mem::replace(&mut *cancelling, Cancelling::Sent(id))
                && let Ok(outcome) = engine.cancel(caller, id, None)
            {
                cancelling.sent(outcome);
            }
        });
    }
}

impl<T> Exchange<'_, T, Cancellable> {
    /// Returns a handle that cancels the request from any task. The value then stays in its state.
    pub fn canceller(&mut self) -> Canceller {
        let state = match self.stage {
            ExchangeStage::New(_) => Cancelling::Unsent,
            ExchangeStage::Waiting(id) => Cancelling::Sent(id),
            ExchangeStage::Over => Cancelling::Cancelled,
        };
        Canceller::of(&self.session.channel.link, &mut self.cancelling, state)
    }
}

impl<T: ReadReply, C> Future for Exchange<'_, T, C> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let exchange = self.get_mut();
        loop {
            if exchange.is_cancelled() && !matches!(exchange.stage, ExchangeStage::Over) {
                exchange.leave(None);
                exchange.stage = ExchangeStage::Over;
                return Poll::Ready(Err(Error::Cancelled));
            }
            match &exchange.stage {
                ExchangeStage::New(written) => {
                    match exchange.session.poll_put(context, exchange.request, written) {
                        Poll::Ready(Ok(Some(id))) => exchange.was_written(id),
                        Poll::Ready(Ok(None)) => return Poll::Ready(Err(Error::Closed)),
                        Poll::Ready(Err(error)) => {
                            exchange.stage = ExchangeStage::Over;
                            return Poll::Ready(Err(error));
                        }
                        Poll::Pending if exchange.timer.poll(context).is_ready() => {
                            exchange.stage = ExchangeStage::Over;
                            let what = exchange.session.held_up_by();
                            return Poll::Ready(Err(exchange.timer.overdue(exchange.request, what)));
                        }
                        Poll::Pending => return Poll::Pending,
                    }
                }
                ExchangeStage::Waiting(_) => {
                    return match exchange.session.poll_take_here(context, Wanted::ReplyTo(exchange.request)) {
                        Poll::Ready(outcome) => {
                            exchange.stage = ExchangeStage::Over;
                            Poll::Ready(outcome)
                        }
                        Poll::Pending if exchange.timer.poll(context).is_ready() => {
                            let error = exchange.timer.overdue(exchange.request, TimeoutKind::Reply);
                            exchange.leave(Some(&error));
                            Poll::Ready(Err(error))
                        }
                        Poll::Pending => Poll::Pending,
                    };
                }
                ExchangeStage::Over => return Poll::Ready(Err(Error::Closed)),
            }
        }
    }
}

impl<T, C> Drop for Exchange<'_, T, C> {
    fn drop(&mut self) {
        self.leave(None);
    }
}

impl<T, C> fmt::Debug for Exchange<'_, T, C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Exchange")
            .field("request", &self.request)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}

/// A linear request whose reply leads to another state, as a future. Returns `Out`, or the session as `Back` if its
/// state has not changed.
///
/// It is sent when it is first polled. Dropping it while it waits, or its timeout, ends the session, because the state
/// of the session is unknown.
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use std::time::Duration;
/// use mcp_runtime::Error;
/// use serde_json::json;
/// use weather::{Active, Start, WeatherClient};
///
/// async fn open(client: WeatherClient<Start>) -> Result<WeatherClient<Active>, Error> {
///     let opening = client.open(json!({ "name": "a client" }));
///     let (_opened, client) = opening.timeout(Duration::from_secs(10)).await?;
///     Ok(client)
/// }
/// ```
///
/// # Errors
/// A [`StepError`](crate::StepError), which returns the session if it can go on.
#[must_use = "a request is sent when it is awaited"]
pub struct Advance<Out, Back> {
    /// `None` once it is over.
    session: Option<Session>,
    request: MessageIndex,
    stage: ExchangeStage,
    wanted: Wanted,
    read: fn(Input) -> Result<Out, Unread>,
    timer: Timer,
    marker: PhantomData<fn() -> Back>,
}

impl<Out, Back> Advance<Out, Back> {
    /// Ends the session with [`Error::Timeout`] if the reply has not come within `timeout` of the first poll.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timer.limit(timeout);
        self
    }

    pub(crate) fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<Result<Out, StepFailure>> {
        let Some(mut session) = self.session.take() else {
            return Poll::Ready(Err(StepFailure::Ended(Error::Closed)));
        };
        let overdue = loop {
            match &self.stage {
                ExchangeStage::New(written) => match session.poll_put(context, self.request, written) {
                    Poll::Ready(Ok(Some(id))) => self.stage = ExchangeStage::Waiting(id),
                    Poll::Ready(Ok(None)) => return Poll::Ready(Err(StepFailure::Ended(Error::Closed))),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(session.not_sent(error))),
                    Poll::Pending if self.timer.poll(context).is_ready() => {
                        let error = self.timer.overdue(self.request, session.held_up_by());
                        return Poll::Ready(Err(StepFailure::NotSent { error, session }));
                    }
                    Poll::Pending => break false,
                },
                ExchangeStage::Waiting(_) | ExchangeStage::Over => {
                    match session.poll_next(context, self.wanted, self.read) {
                        Taken::Read(outcome) => return Poll::Ready(outcome),
                        Taken::Waits(back) => {
                            session = back;
                            break self.timer.poll(context).is_ready();
                        }
                    }
                }
            }
        };
        if overdue {
            // The session goes with the value.
            return Poll::Ready(Err(StepFailure::Ended(
                self.timer.overdue(self.request, TimeoutKind::Reply),
            )));
        }
        self.session = Some(session);
        Poll::Pending
    }
}

impl<Out, Back> fmt::Debug for Advance<Out, Back> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Advance")
            .field("request", &self.request)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Sends a linear request and takes its reply, which leads on.
    pub fn exchange_on<P, T, S, Back>(self, request: MessageIndex, params: &P) -> Advance<(T, S), Back>
    where
        P: Serialize + ?Sized,
        T: ReadReply,
        S: InState,
    {
        let read = |input: Input| input.then(|result, session| (result, S::at(session)));
        self.advance(request, params, Wanted::ReplyTo(request), read)
    }

    /// The same where the reply carries nothing.
    pub fn exchange_empty<P, S, Back>(self, request: MessageIndex, params: &P) -> Advance<S, Back>
    where
        P: Serialize + ?Sized,
        S: InState,
    {
        let read = |input: Input| input.then(|(), session| S::at(session));
        self.advance(request, params, Wanted::ReplyTo(request), read)
    }

    /// The same where the reply is the last message of a sub-session.
    pub fn exchange_last<P, T, Back>(self, request: MessageIndex, params: &P) -> Advance<T, Back>
    where
        P: Serialize + ?Sized,
        T: ReadReply,
    {
        let read = |input: Input| input.then(|result, _over| result);
        self.advance(request, params, Wanted::ReplyTo(request), read)
    }

    /// Sends a linear request and takes its reply, which says how the value goes on.
    pub fn exchange_next<P: Serialize + ?Sized, Out, Back>(
        self,
        request: MessageIndex,
        params: &P,
        read: fn(Input) -> Result<Out, Unread>,
    ) -> Advance<Out, Back> {
        self.advance(request, params, Wanted::Any, read)
    }

    /// What keeps a step from being written.
    pub(super) fn held_up_by(&self) -> TimeoutKind {
        if self.open.abandoned().is_some() { TimeoutKind::EarlierReply } else { TimeoutKind::Write }
    }

    fn advance<P: Serialize + ?Sized, Out, Back>(
        self,
        request: MessageIndex,
        params: &P,
        wanted: Wanted,
        read: fn(Input) -> Result<Out, Unread>,
    ) -> Advance<Out, Back> {
        let stage = ExchangeStage::New(written(&self.channel.link, request, params));
        let timer = Timer::of_session(&self.channel.link);
        Advance { session: Some(self), request, stage, wanted, read, timer, marker: PhantomData }
    }

    /// Sends a linear request and takes its reply, where that leads back to the state that the request was sent in.
    pub fn exchange_here<P: Serialize + ?Sized, T: ReadReply, C>(
        &mut self,
        request: MessageIndex,
        params: &P,
    ) -> Exchange<'_, T, C> {
        let stage = ExchangeStage::New(written(&self.channel.link, request, params));
        let (before, timer) = (self.channel.state, Timer::of_session(&self.channel.link));
        Exchange { session: self, request, stage, before, timer, cancelling: None, marker: PhantomData }
    }
}
