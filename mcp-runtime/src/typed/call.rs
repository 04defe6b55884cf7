//! [`Call`]: a request of a replicated channel, as a future.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use mcp_protocol_machine::SubSessionNumber;
use mcp_protocol_machine::protocol::{MessageIndex, StateIndex};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cancelling::{Cancellable, Canceller, Cancelling, locked};
use super::generated::InState;
use super::payload_text::written;
use super::reply::{ReadReply, Reply};
use super::session::Session;
use super::within::Within;
use crate::clock::now;
use crate::engine::{AlarmKey, Answer, Caller, Engine, Link, OnProgress, Sent, Waiter};
use crate::error::{Error, TimeoutKind};
use crate::options::CallTimeouts;
use crate::report::Report;
use crate::rules::alternatives;

/// The type parameters of a call, without values of them.
type Shape<T, C, G> = fn() -> (T, C, G);

/// Reads the result of a call from its reply, and from the value of the sub-session that it opened.
type Read<T> = fn(&Answer, Option<Session>) -> Result<T, serde_json::Error>;

/// A request of a replicated channel, as a future. It is sent when it is first polled. `T` is the type of its result,
/// `C` says whether it can be cancelled, and `G` is the type of its progress.
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use std::time::Duration;
/// use mcp_runtime::Error;
/// use serde_json::{Value, json};
/// use weather::{Active, WeatherClient};
///
/// async fn forecast(client: &WeatherClient<Active>) -> Result<Value, Error> {
///     client
///         .forecast(json!({ "city": "Oslo" }))
///         .timeout(Duration::from_secs(5))
///         .on_progress(|progress| println!("{progress}"))
///         .await
/// }
/// ```
///
/// # Errors
/// [`Error::Refused`] if the peer answers with an error, [`Error::Timeout`] if it does not answer in time,
/// [`Error::Cancelled`], [`Error::NotPermitted`] if the state or a capability does not permit the request,
/// [`Error::Payload`] if the params cannot be written or the reply cannot be read, [`Error::NotDelivered`] over HTTP, and
/// why the session has ended, if it has.
#[must_use = "a call is sent when it is awaited"]
pub struct Call<'a, T, C, G> {
    link: Link,
    message: MessageIndex,
    within: Within,
    stage: CallStage,
    /// The call asks for progress, perhaps only to extend its timeout.
    progress: bool,
    on_progress: Option<OnProgress>,
    timeouts: CallTimeouts,
    /// When the call was first polled, and what wakes it while it waits for room, if there is an end to its timeouts.
    waiting: Option<WaitingCall>,
    waiter: Waiter,
    cancelling: Option<Arc<Mutex<Cancelling>>>,
    opens: Opens,
    read: Read<T>,
    marker: PhantomData<(&'a (), Shape<T, C, G>)>,
}

/// The sub-session that a call opens.
#[derive(Clone, Copy, Debug)]
enum Opens {
    /// Nothing that outlives its reply.
    Nothing,
    /// A sub-session, once it is written.
    SubSession,
    /// This sub-session, which was in this state then; its value is still to be made.
    Opened(SubSessionNumber, StateIndex),
    /// Nothing: it is a step of the sub-session that it is sent in. No value of the sub-session takes this step.
    Step,
}

/// A call with a limit of time that could not be written yet.
#[derive(Clone, Copy, Debug)]
struct WaitingCall {
    started: Instant,
    alarm: Option<AlarmKey>,
}

enum CallStage {
    /// Nothing was written yet.
    New(Result<String, Error>),
    /// Written, under this id.
    Running(i64),
    Over,
}

impl<'a, T: ReadReply, C, G> Call<'a, T, C, G> {
    pub(crate) fn new<P: Serialize + ?Sized>(link: Link, message: MessageIndex, params: &P) -> Self {
        let written = written(&link, message, params);
        Call::of_written(link, message, written)
    }

    /// The same of params that are JSON already, as `write::payload` gives it.
    pub(crate) fn of_written(link: Link, message: MessageIndex, written: Result<String, Error>) -> Self {
        let read: Read<T> = |answer, _| T::read_reply(Reply::new(answer.message, &answer.text));
        Call::reading(link, message, written, Opens::Nothing, read)
    }

    /// Sends the call as a step of a sub-session, a step that no value of the sub-session takes.
    pub(super) fn step_of_sub_session(mut self) -> Self {
        self.opens = Opens::Step;
        self
    }
}

impl<'a, T: ReadReply, S: InState, C, G> Call<'a, (T, S), C, G> {
    /// A call that opens a sub-session, and returns its value with the reply.
    pub(super) fn opening<P: Serialize + ?Sized>(link: Link, message: MessageIndex, params: &P) -> Self {
        let written = written(&link, message, params);
        Call::reading(link, message, written, Opens::SubSession, |answer, value| {
            let (reply, session) = opened(answer, value)?;
            Ok((reply, S::at(session)))
        })
    }
}

impl<'a, S: InState, C, G> Call<'a, S, C, G> {
    /// The same where the reply carries nothing.
    pub(super) fn opening_empty<P: Serialize + ?Sized>(
        link: Link,
        message: MessageIndex,
        params: &P,
    ) -> Self {
        let written = written(&link, message, params);
        Call::reading(link, message, written, Opens::SubSession, |answer, value| {
            let ((), session) = opened(answer, value)?;
            Ok(S::at(session))
        })
    }
}

/// Reads the reply to the request that opened a sub-session, and moves the value behind it.
fn opened<T: ReadReply>(answer: &Answer, value: Option<Session>) -> Result<(T, Session), serde_json::Error> {
    let reply = Reply::new(answer.message, &answer.text);
    let Some(mut session) = value else { return Err(reply.unexpected()) };
    let reply = T::read_reply(reply)?;
    session.go_on(answer.message);
    Ok((reply, session))
}

impl<'a, T, C, G> Call<'a, T, C, G> {
    fn reading(
        link: Link,
        message: MessageIndex,
        written: Result<String, Error>,
        opens: Opens,
        read: Read<T>,
    ) -> Self {
        let timeouts = link.options().call_timeouts();
        Call {
            link,
            message,
            within: None,
            stage: CallStage::New(written),
            progress: false,
            on_progress: None,
            timeouts,
            waiting: None,
            waiter: Waiter::default(),
            cancelling: None,
            opens,
            read,
            marker: PhantomData,
        }
    }

    /// Refuses the call where it needs a capability that is not among these.
    pub(crate) fn within(mut self, within: Within) -> Self {
        self.within = within;
        self
    }

    /// Ends the call with [`Error::Timeout`] if its reply has not come within `timeout` of the first poll. The request
    /// is cancelled where the protocol allows it; otherwise the reply is dropped when it comes. Replaces the session's
    /// [`Options::timeout`](crate::Options::timeout).
    ///
    /// The timeout runs in the session: it ends the call whether or not the call is polled.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.timeout = Some(timeout);
        self
    }

    /// Ends the call as [`timeout`](Self::timeout) does, after a time that progress does not extend. Replaces the session's
    /// [`Options::max_timeout`](crate::Options::max_timeout).
    pub fn max_timeout(mut self, most: Duration) -> Self {
        self.timeouts.most = Some(most);
        self
    }

    /// Asks for progress; each notification restarts [`timeout`](Self::timeout). The peer decides how often it reports,
    /// so also set [`max_timeout`](Self::max_timeout).
    pub fn reset_on_progress(mut self) -> Self {
        self.progress = true;
        self.timeouts.reset_on_progress = true;
        self
    }

    /// Asks for progress, which [`Pending::progress`](super::Pending::progress) returns.
    pub fn with_progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// Asks for progress, and calls `on_progress` with each notification while the call is polled, before its result.
    ///
    /// Where the call opens a sub-session, progress may come until the sub-session ends or its value is dropped. After
    /// the result the task that reads the messages calls `on_progress`.
    pub fn on_progress(mut self, mut on_progress: impl FnMut(G) + Send + 'static) -> Self
    where
        G: DeserializeOwned,
    {
        self.progress = true;
        self.on_progress = Some(Box::new(move |raw| {
            on_progress(serde_json::from_str(raw)?);
            Ok(())
        }));
        self
    }

    /// Writes the request, if it is not written, and returns its id.
    pub(super) fn poll_written(&mut self, context: &Context<'_>) -> Poll<Result<i64, Error>> {
        self.poll_written_then(context, |_, _, id| id)
    }

    /// The same, and does something with the id while the engine is locked anyway.
    fn poll_written_then<R>(
        &mut self,
        context: &Context<'_>,
        then: impl FnOnce(&mut Engine, Caller, i64) -> R,
    ) -> Poll<Result<R, Error>> {
        let written = match &self.stage {
            CallStage::New(Ok(written)) => written,
            CallStage::New(Err(error)) => return Poll::Ready(Err(error.clone())),
            CallStage::Running(id) => {
                let id = *id;
                return Poll::Ready(Ok(self.link.speak(|engine, caller| then(engine, caller, id))));
            }
            CallStage::Over => return Poll::Ready(Err(Error::Closed)),
        };
        if self.waiting.is_none() && self.timeouts.is_limited() {
            self.waiting = Some(WaitingCall { started: now(), alarm: None });
        }
        let (message, progress, timeouts) = (self.message, self.progress, self.timeouts);
        let cancelling = self.cancelling.as_deref();
        let (waiting, waiter) = (&mut self.waiting, &mut self.waiter);
        let (within, opens) = (self.within.as_deref(), &mut self.opens);
        let polled = self.link.speak(|engine, caller| {
            // Locked inside of the engine's lock, always in this order, and never while other code runs.
            let mut cancelling = cancelling.map(locked);
            if matches!(cancelling.as_deref(), Some(Cancelling::Cancelled)) {
                return Poll::Ready(Err(Error::Cancelled));
            }
            if engine.poll_room(context, waiter).is_pending() {
                let Some(waiting) = waiting else { return Poll::Pending };
                let Some(at) = timeouts.deadline(waiting.started, waiting.started) else {
                    return Poll::Pending;
                };
                let alarm = *waiting.alarm.get_or_insert_with(|| engine.set_alarm(at));
                return match engine.poll_alarm(context, alarm) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(()) => {
                        let (after, _) = timeouts.reached(waiting.started, waiting.started);
                        let (message, method) =
                            (engine.rules().name(message), engine.rules().method(message));
                        Poll::Ready(Err(Error::Timeout { message, method, after, what: TimeoutKind::Write }))
                    }
                };
            }
            alternatives::check_within(engine.rules(), message, written, within)?;
            let id = opens.ask(engine, caller, message, written, progress)?;
            if let Some(waiting) = waiting {
                engine.calls().limit_call(id, waiting.started, timeouts);
            }
            if let Some(cancelling) = &mut cancelling {
                **cancelling = Cancelling::Sent(id);
            }
            Poll::Ready(Ok((id, then(engine, caller, id))))
        });
        let Poll::Ready(outcome) = polled else { return Poll::Pending };
        self.stop_waiting();
        Poll::Ready(match outcome {
            Ok((id, result)) => {
                self.stage = CallStage::Running(id);
                Ok(result)
            }
            Err(error) => {
                self.stage = CallStage::New(Err(error.clone()));
                Err(error)
            }
        })
    }

    /// The session that the call belongs to, and its request.
    pub(super) fn of(&self) -> (&Link, MessageIndex) {
        (&self.link, self.message)
    }

    /// Writes the request without waiting for room, if it is not written. An error is returned when the call is
    /// awaited.
    pub(super) fn write_now(&mut self, engine: &mut Engine, caller: Caller) {
        let CallStage::New(Ok(written)) = &self.stage else { return };
        let mut cancelling = self.cancelling.as_deref().map(locked);
        let asked = match cancelling.as_deref() {
            Some(Cancelling::Cancelled) => Err(Error::Cancelled),
            _ => alternatives::check_within(engine.rules(), self.message, written, self.within.as_deref())
                .map_err(Error::from)
                .and_then(|()| self.opens.ask(engine, caller, self.message, written, self.progress)),
        };
        if let Ok(id) = asked {
            if self.timeouts.is_limited() {
                let waiting = self.waiting.get_or_insert_with(|| WaitingCall { started: now(), alarm: None });
                engine.calls().limit_call(id, waiting.started, self.timeouts);
            }
            if let Some(cancelling) = &mut cancelling {
                **cancelling = Cancelling::Sent(id);
            }
        }
        drop(cancelling);
        self.stage = asked.map_or_else(|error| CallStage::New(Err(error)), CallStage::Running);
    }

    /// Waits for the next progress of a call that was written.
    pub(super) fn poll_progress(&mut self, context: &Context<'_>, id: i64) -> Poll<Option<Box<str>>> {
        self.link.with(|engine| engine.calls().poll_progress(context, id))
    }

    /// Reports that progress has come which cannot be read.
    pub(super) fn unreadable_progress(&self, error: &serde_json::Error) {
        let message = self.link.with(|engine| engine.rules().name(self.message));
        self.link.report(&Report::unreadable(message, error));
    }

    fn progress_came(&mut self, raw: &str) {
        if let Some(on_progress) = &mut self.on_progress
            && let Err(error) = on_progress(raw)
        {
            self.unreadable_progress(&error);
        }
    }

    /// Returns the value of the sub-session that the call has opened. Dropping the value abandons the sub-session.
    fn value(&mut self) -> Option<Session> {
        let Opens::Opened(sub_session, state) = self.opens else { return None };
        self.opens = Opens::Nothing;
        Some(Session::of_sub_session(self.link.clone(), self.within.clone(), sub_session, state, Vec::new()))
    }

    /// Stops waiting for room.
    fn stop_waiting(&mut self) {
        if let Some(alarm) = self.waiting.as_mut().and_then(|waiting| waiting.alarm.take()) {
            self.link.with(|engine| engine.clear_alarm(alarm));
        }
    }
}

impl<T, G> Call<'_, T, Cancellable, G> {
    /// Returns a handle that cancels the call from any task.
    pub fn canceller(&mut self) -> Canceller {
        let state = match self.stage {
            CallStage::New(_) => Cancelling::Unsent,
            CallStage::Running(id) => Cancelling::Sent(id),
            CallStage::Over => Cancelling::Cancelled,
        };
        Canceller::of(&self.link, &mut self.cancelling, state)
    }
}

impl<T, C, G> Future for Call<'_, T, C, G> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let call = self.get_mut();
        loop {
            let mut listener = match call.opens {
                Opens::Opened(sub_session, _) => {
                    call.on_progress.take().map(|on_progress| (sub_session, on_progress))
                }
                Opens::Nothing | Opens::SubSession | Opens::Step => None,
            };
            let polled = call.poll_written_then(context, |engine, caller, id| {
                let polled = engine.calls().poll_call(caller, context, id);
                if matches!(polled, Poll::Ready(Sent::Done(Ok(_))))
                    && let Some((sub_session, on_progress)) = listener.take()
                {
                    engine.inbox().listen_to(sub_session, on_progress);
                }
                polled
            });
            if let Some((_, on_progress)) = listener {
                call.on_progress = Some(on_progress);
            }
            let sent = match polled {
                Poll::Ready(Ok(sent)) => sent,
                Poll::Ready(Err(error)) => Poll::Ready(Sent::Done(Err(error))),
                Poll::Pending => Poll::Pending,
            };
            match sent {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Sent::Progress(raw)) => call.progress_came(&raw),
                Poll::Ready(Sent::Done(result)) => {
                    call.stage = CallStage::Over;
                    if let Some(shared) = call.cancelling.as_deref() {
                        // The sub-session goes on: a canceller of the call does not cancel it.
                        *locked(shared) = Cancelling::Cancelled;
                    }
                    let value = call.value();
                    let read = result.and_then(|answer| {
                        (call.read)(&answer, value).map_err(|error| {
                            let message = call.link.with(|engine| engine.rules().name(call.message));
                            Error::payload(&message, error)
                        })
                    });
                    return Poll::Ready(read);
                }
            }
        }
    }
}

impl<T, C, G> Drop for Call<'_, T, C, G> {
    fn drop(&mut self) {
        self.stop_waiting();
        if let CallStage::Running(id) = self.stage {
            self.link.speak(|engine, caller| engine.let_go(caller, id));
        }
        drop(self.value());
    }
}

impl Opens {
    /// Writes a request, and returns its id.
    fn ask(
        &mut self,
        engine: &mut Engine,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        progress: bool,
    ) -> Result<i64, Error> {
        match self {
            Opens::Nothing => return engine.request(caller, message, written, progress, true),
            Opens::Step => return engine.ask_step(caller, message, written, progress),
            Opens::SubSession | Opens::Opened(..) => {}
        }
        let (id, sub_session, state) = engine.call_sub_session(caller, message, written, progress)?;
        *self = Opens::Opened(sub_session, state);
        Ok(id)
    }
}

impl<T, C, G> fmt::Debug for Call<'_, T, C, G> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = match self.stage {
            CallStage::Running(id) => Some(id),
            CallStage::New(_) | CallStage::Over => None,
        };
        formatter
            .debug_struct("Call")
            .field("message", &self.message)
            .field("id", &id)
            .finish_non_exhaustive()
    }
}
