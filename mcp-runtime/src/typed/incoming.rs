//! [`IncomingQueue`]: the peer's messages on replicated channels.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{self, Poll, ready};

use mcp_protocol_machine::protocol::MessageIndex;
use mcp_protocol_machine::{RequestId, SubSessionNumber};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use super::context::Context;
use super::handling::{Handling, Watch};
use super::overtime::overtime;
use super::payload_text::{read, report_undecodable};
use super::reply::WriteReply;
use super::responder::Responder;
use super::session::Session;
use super::unread::Unread;
use super::within::Within;
use crate::budget::Permit;
use crate::engine::{Arrived, DispatcherKey, Engine, Link, Scope, Waiter};
use crate::jsonrpc::RpcError;
use crate::panics::contained;
use crate::report::{DropReason, Report};
use crate::rules::refusal::unreadable;

/// Makes the handler of a message. It is boxed so that what drives handlers is compiled once, not for each handler.
pub(super) type Dispatch = Box<dyn Fn(Arrival) -> Handling + Send>;

/// So many handlers begin before other tasks of the thread have their turn.
const AT_ONCE: usize = 64;

/// The queue of messages that the peer sends on replicated channels, of a session or of a sub-session. A program may
/// hold several; each message goes to one.
#[derive(Debug)]
pub struct IncomingQueue {
    /// That of the session, also where the queue is a sub-session's: its handlers speak for the session.
    pub(super) link: Link,
    /// Whose replicated channels are meant.
    pub(super) scope: Scope,
    /// The restriction of its session.
    within: Within,
}

impl IncomingQueue {
    pub(super) fn new(link: Link, within: Within) -> IncomingQueue {
        let (scope, link) = (link.sub_session(), link.in_sub_session(None));
        link.with(|engine| engine.attend(scope));
        IncomingQueue { link, scope, within }
    }

    /// Returns the next message that can be decoded; `None` when the session, or the sub-session, has ended.
    pub async fn next<I>(&self, mut read: impl FnMut(Arrival) -> Result<I, Unread>) -> Option<I> {
        loop {
            let arrival = self.arrival().await?;
            if let Ok(input) = read(arrival) {
                return Some(input);
            }
        }
    }

    async fn arrival(&self) -> Option<Arrival> {
        let arrived = {
            let poll = |engine: &mut Engine, context: &task::Context<'_>, waiter: &mut Waiter| {
                engine.inbox().poll_incoming(context, waiter, self.scope)
            };
            self.link.wait(poll).await?
        };
        Some(self.of(arrived))
    }

    /// Calls `dispatch` with every message until the session has ended. Each handler is polled once before the next
    /// one, and before later messages reach the program. A handler that has to wait continues in a task of its own.
    /// Requests run in parallel, up to [`Options::max_handlers`](crate::Options::max_handlers) and one more for each
    /// request of this side that waits for its reply. Notifications run one after another, in wire order. Returns when
    /// all handlers are done and their answers are written. Handlers that still run
    /// [`Options::close_grace`](crate::Options::close_grace) after the end of the session are dropped, unless
    /// [`Options::keep_handlers`](crate::Options::keep_handlers) is set. Dropping the future aborts the tasks.
    pub fn serve(self, dispatch: Dispatch) -> impl Future<Output = ()> + Send {
        // From here on, and not from its first poll on, for a task that was spawned may be late.
        let dispatcher = DispatcherGuard::new(self.link.clone(), self.scope);
        async move {
            let mut handlers = Handlers::default();
            let options = self.link.options();
            let limit = (!options.keep_handlers).then_some(options.close_grace);
            let in_time = {
                let (queue, running, key) = (&self, &mut handlers, dispatcher.key);
                let (mut waiter, mut ended) = (Waiter::default(), false);
                let mut overtime = pin!(overtime(&self.link, limit));
                poll_fn(move |context| {
                    if !ended {
                        ended = queue.poll_work(context, &dispatch, running, &mut waiter, key).is_ready();
                    }
                    if ended && running.poll_done(context).is_ready() {
                        return Poll::Ready(true);
                    }
                    // As long as no handler has to wait, nothing can outlast the session.
                    if running.are_done() {
                        return Poll::Pending;
                    }
                    overtime.as_mut().poll(context).map(|()| false)
                })
                .await
            };
            drop(dispatcher);
            if !in_time {
                handlers.stop().await;
            }
            self.link.wait(Engine::poll_drained).await;
        }
    }

    /// A handler begins: each request that needs a capability, and whether the handler leaves it to its default method;
    /// nothing in the place of other messages. What this side has announced and no handler implements is reported.
    pub fn begin_handler(&self, requests: &[Option<(MessageIndex, bool)>]) {
        let requests: Vec<(MessageIndex, bool)> = requests.iter().copied().flatten().collect();
        self.link.with(|engine| engine.handler_began(&requests));
    }

    /// Begins the handlers of the inputs at hand. Ready when the session has ended.
    fn poll_work(
        &self,
        context: &mut task::Context<'_>,
        dispatch: &Dispatch,
        handlers: &mut Handlers,
        waiter: &mut Waiter,
        key: DispatcherKey,
    ) -> Poll<()> {
        for _ in 0..AT_ONCE {
            // Those that are done make room.
            let _ = handlers.poll_done(context);
            let (requests, notified) = (handlers.requests.len(), handlers.notifications.len() > 0);
            let served =
                self.link.with(|engine| engine.inbox().poll_served(context, waiter, key, requests, notified));
            match ready!(served) {
                Some(arrived) => self.begin(context, dispatch, handlers, arrived),
                None => return Poll::Ready(()),
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Makes the handler of an input, and lets it begin.
    fn begin(
        &self,
        context: &mut task::Context<'_>,
        dispatch: &Dispatch,
        handlers: &mut Handlers,
        arrived: Arrived,
    ) {
        let Some(permit) = self.admit(&arrived) else { return };
        let arrival = self.of(arrived);
        let tasks = if arrival.opens() {
            &mut handlers.sub_sessions
        } else if arrival.is_request() {
            &mut handlers.requests
        } else {
            &mut handlers.notifications
        };
        let message = arrival.message();
        let begun =
            contained(|| dispatch(arrival)).and_then(|handler| begin(context, tasks, permit, handler));
        if let Err(text) = begun {
            let message = self.link.with(|engine| engine.rules().name(message));
            self.link.report(&Report::Panicked { message, text });
        }
    }

    /// Counts the handler of an input against the limit that sessions share, and refuses the input beyond it.
    /// Notifications are not counted, because each session works on one at a time.
    fn admit(&self, arrived: &Arrived) -> Option<Permit> {
        if arrived.id.is_none() && arrived.sub_session.is_none() {
            return Some(Permit::default());
        }
        let admitted = self.link.limits().handlers.take(1).map_err(|exhausted| {
            self.link.speak(|engine, caller| {
                engine.refuse_exhausted(caller, arrived, DropReason::TooManyHandlers, exhausted);
            });
        });
        admitted.ok()
    }

    /// The handler of a request, or of a sub-session, holds the session in which it arrived.
    fn of(&self, arrived: Arrived) -> Arrival {
        let alone = arrived.id.is_none() && arrived.sub_session.is_none();
        let link = if alone { self.link.clone() } else { self.link.within(arrived.epoch) };
        Arrival { link, within: self.within.clone(), arrived: Some(arrived) }
    }
}

/// The handlers that run.
#[derive(Debug, Default)]
struct Handlers {
    requests: Tasks,
    /// One at a time.
    notifications: Tasks,
    /// Sub-sessions live as long as they live; they take no request's place.
    sub_sessions: Tasks,
}

impl Handlers {
    /// Lets go of those that are done. Ready when all are.
    fn poll_done(&mut self, context: &mut task::Context<'_>) -> Poll<()> {
        for tasks in [&mut self.requests, &mut self.notifications, &mut self.sub_sessions] {
            tasks.let_go(context);
        }
        if self.are_done() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Whether none runs that was not let go of.
    fn are_done(&self) -> bool {
        [&self.requests, &self.notifications, &self.sub_sessions].iter().all(|tasks| tasks.len() == 0)
    }

    /// Drops all of them, and waits until they are dropped.
    async fn stop(&mut self) {
        for tasks in [&mut self.requests, &mut self.notifications, &mut self.sub_sessions] {
            if let Some(tasks) = &mut tasks.0 {
                tasks.shutdown().await;
            }
        }
    }
}

/// Tasks of handlers that have to wait. Many sessions have none; then there is no set of them.
#[derive(Debug, Default)]
struct Tasks(Option<JoinSet<()>>);

impl Tasks {
    fn len(&self) -> usize {
        self.0.as_ref().map_or(0, JoinSet::len)
    }

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.get_or_insert_default().spawn(task);
    }

    /// Lets go of those that are done, and has the others wake the task.
    fn let_go(&mut self, context: &mut task::Context<'_>) {
        let Some(tasks) = &mut self.0 else { return };
        while let Poll::Ready(Some(_)) = tasks.poll_join_next(context) {}
    }
}

/// Runs a handler as far as it comes, so that handlers begin in the order of their messages, and gives it a task of its
/// own if it has to wait. The permit is held until the handler is done or dropped. Fails with what a panic said, outside of
/// the code that is watched anyway.
fn begin(
    context: &mut task::Context<'_>,
    tasks: &mut Tasks,
    permit: Permit,
    mut handler: Handling,
) -> Result<(), Option<String>> {
    // What handlers before it have used of the budget of this task must not make it wait.
    let first = pin!(tokio::task::unconstrained(handler.as_mut()));
    if contained(|| first.poll(context))?.is_pending() {
        tasks.spawn(async move {
            handler.await;
            drop(permit);
        });
    }
    Ok(())
}

/// What tells the session that inputs are handed to handlers.
#[derive(Debug)]
struct DispatcherGuard {
    link: Link,
    key: DispatcherKey,
}

impl DispatcherGuard {
    fn new(link: Link, scope: Scope) -> DispatcherGuard {
        let key = link.with(|engine| engine.inbox().dispatcher_began(scope));
        DispatcherGuard { link, key }
    }
}

impl Drop for DispatcherGuard {
    fn drop(&mut self) {
        self.link.with(|engine| engine.inbox().dispatcher_left(self.key));
    }
}

impl Drop for IncomingQueue {
    fn drop(&mut self) {
        self.link.with(|engine| engine.leave(self.scope));
    }
}

/// One replicated input, before its payload is read. A request that is dropped is answered with an error.
#[derive(Debug)]
pub struct Arrival {
    link: Link,
    within: Within,
    /// `None` once it is taken.
    arrived: Option<Arrived>,
}

impl Arrival {
    /// One that the value of a sub-session has taken. Its handler speaks for the session, and answers the request
    /// whatever becomes of the value.
    pub(super) fn within(link: &Link, within: &Within, arrived: Arrived) -> Arrival {
        let link = link.in_sub_session(None).within(arrived.epoch);
        if let Some(id) = arrived.id.as_ref().filter(|_| arrived.sub_session.is_none()) {
            link.with(|engine| engine.exchange_taken(id));
        }
        Arrival { link, within: within.clone(), arrived: Some(arrived) }
    }

    /// Which message it is.
    pub fn message(&self) -> MessageIndex {
        // It is there until one of the methods that consume this takes it.
        self.arrived.as_ref().map_or(MessageIndex(u16::MAX), |arrived| arrived.message)
    }

    /// What watches over its handler. It holds what the message holds of the budgets, unless a responder does.
    fn watch(&mut self) -> Watch {
        let span = self.link.span_of(self.arrived.as_ref().and_then(|arrived| arrived.id.as_ref()));
        let is_answered = self.is_request() && !self.opens();
        let permit = if is_answered { Permit::default() } else { self.take_permit() };
        Watch { link: self.link.clone(), message: self.message(), span, _permit: permit }
    }

    fn is_request(&self) -> bool {
        self.arrived.as_ref().is_some_and(|arrived| arrived.id.is_some())
    }

    fn opens(&self) -> bool {
        self.arrived.as_ref().is_some_and(|arrived| arrived.sub_session.is_some())
    }

    /// Takes what the message holds of the budgets, to hold it for as long as it is worked on.
    fn take_permit(&mut self) -> Permit {
        self.arrived.as_mut().map(|arrived| std::mem::take(&mut arrived.permit)).unwrap_or_default()
    }

    /// The context of a handler: calls back to the peer, progress, and cancellation.
    pub fn context(&self) -> Context {
        let arrived = self.arrived.as_ref();
        Context {
            link: self.link.clone(),
            id: arrived.and_then(|arrived| arrived.id.clone()),
            token: arrived.and_then(|arrived| arrived.token.clone()),
            within: self.within.clone(),
            extension: arrived.and_then(|arrived| arrived.extension.clone()),
        }
    }

    /// Reads a request.
    ///
    /// # Errors
    /// [`Unread`], if the payload does not have its type; the peer of a request has its answer then.
    pub fn request<P: DeserializeOwned, R>(mut self) -> Result<(P, Responder<R>), Unread> {
        let Some(Arrived { message, id: Some(id), token, payload, permit, extension, .. }) =
            self.arrived.take()
        else {
            return Err(Unread::skipped());
        };
        match read(&self.link, message, payload.as_deref()) {
            Ok(params) => {
                let within = self.within.clone();
                let context = Context { link: self.link.clone(), id: None, token, within, extension };
                Ok((params, Responder::new(context, message, id, permit)))
            }
            Err(error) => Err(unread(&self.link, message, payload.as_deref(), Some(&id), None, &error)),
        }
    }

    /// Reads a notification.
    ///
    /// # Errors
    /// [`Unread`], if the payload does not have its type; the peer of a request has its answer then.
    pub fn notification<P: DeserializeOwned>(mut self) -> Result<P, Unread> {
        let Some(Arrived { message, payload, .. }) = self.arrived.take() else {
            return Err(Unread::skipped());
        };
        read(&self.link, message, payload.as_deref())
            .map_err(|error| unread(&self.link, message, payload.as_deref(), None, None, &error))
    }

    /// Reads the first message of a sub-session, and gives the value that stands for it.
    ///
    /// # Errors
    /// [`Unread`], if the payload does not have its type; the peer of a request has its answer then.
    pub fn open<P: DeserializeOwned>(mut self) -> Result<(P, Session), Unread> {
        let Some(Arrived { message, id, payload, sub_session: Some((sub_session, state)), .. }) =
            self.arrived.take()
        else {
            return Err(Unread::skipped());
        };
        match read(&self.link, message, payload.as_deref()) {
            Ok(params) => {
                let open = id.map(|id| (message, id)).into_iter().collect();
                Ok((
                    params,
                    Session::of_sub_session(self.link.clone(), self.within.clone(), sub_session, state, open),
                ))
            }
            Err(error) => {
                let payload = payload.as_deref();
                Err(unread(&self.link, message, payload, id.as_ref(), Some(sub_session), &error))
            }
        }
    }

    /// Rejects an unknown message: a request is answered with *method not found*.
    pub fn unexpected(mut self) -> Unread {
        if let Some(arrived) = self.arrived.take() {
            self.link.speak(|engine, caller| engine.refuse_arrived(caller, &arrived, DropReason::Unattended));
        }
        Unread::skipped()
    }

    /// Rejects an unknown message in the place of a handler.
    pub fn reject(mut self) -> Handling {
        let watch = self.watch();
        drop(self.unexpected());
        watch.over_nothing()
    }

    /// Reads a request, has it worked on, and answers.
    pub fn answer<P, R, F, Fut>(self, work: F) -> Handling
    where
        P: DeserializeOwned,
        R: WriteReply + 'static,
        F: FnOnce(Context, P) -> Fut,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        match self.watched(Self::request::<P, R>) {
            Ok((watch, context, (params, responder))) => watch.over_answer(responder, work(context, params)),
            Err(unread) => unread,
        }
    }

    /// Reads the first message of a sub-session and has the sub-session attended to.
    pub fn attend<P, F, Fut>(self, work: F) -> Handling
    where
        P: DeserializeOwned,
        F: FnOnce(Context, P, Session) -> Fut,
        Fut: Future<Output = ()> + Send + 'static,
    {
        match self.watched(Self::open::<P>) {
            Ok((watch, context, (params, session))) => watch.over_delivery(work(context, params, session)),
            Err(unread) => unread,
        }
    }

    /// Reads a notification and has it worked on.
    pub fn deliver<P, F, Fut>(self, work: F) -> Handling
    where
        P: DeserializeOwned,
        F: FnOnce(Context, P) -> Fut,
        Fut: Future<Output = ()> + Send + 'static,
    {
        match self.watched(Self::notification::<P>) {
            Ok((watch, context, params)) => watch.over_delivery(work(context, params)),
            Err(unread) => unread,
        }
    }

    /// Reads it for a handler. Fails with what stands in the handler's place where it cannot be read.
    fn watched<T>(mut self, read: fn(Arrival) -> Result<T, Unread>) -> Result<(Watch, Context, T), Handling> {
        let (watch, context) = (self.watch(), self.context());
        match read(self) {
            Ok(inputs) => Ok((watch, context, inputs)),
            Err(_) => Err(watch.over_nothing()),
        }
    }
}

/// Answers what cannot be read, leaves the sub-session that it would have opened, and reports it.
fn unread(
    link: &Link,
    message: MessageIndex,
    payload: Option<&str>,
    request: Option<&RequestId>,
    opened: Option<SubSessionNumber>,
    error: &serde_json::Error,
) -> Unread {
    let answer = link.with(|engine| unreadable(engine.rules(), message, payload, error));
    link.speak(|engine, caller| {
        if let Some(id) = request {
            // If the session has ended, the error cannot be sent.
            let _ = engine.reply_error(caller, id, &answer);
        }
        if let Some(sub_session) = opened {
            engine.leave_sub_session(caller, sub_session);
        }
    });
    report_undecodable(link, message, error);
    Unread::skipped()
}

impl Drop for Arrival {
    fn drop(&mut self) {
        if let Some(arrived) =
            self.arrived.take().filter(|arrived| arrived.id.is_some() || arrived.sub_session.is_some())
        {
            self.link.speak(|engine, caller| engine.refuse_arrived(caller, &arrived, DropReason::Abandoned));
        }
    }
}
