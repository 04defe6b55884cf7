//! The state that all requests of one HTTP session share.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::error::{Failure, HttpError, SAID, authenticate};
use super::handshake::Handshake;
use super::http_client::{HttpClient, OnSession, server};
use super::identity::{SessionIdentity, secret};
use super::message::PostMessage;
use super::naming::Naming;
use super::options::ClientOptions;
use super::posters::Posters;
use super::provider::{AnyHeaderProvider, AnyProvider, Challenge};
use super::repeated::ToolTable;
use super::response::Response;
use super::running::{Over, RunningRequests};
use super::unknown_session::{self, UnknownSession};
use super::way::Way;
use crate::driver::{Delivery, Endpoint, Epoch, RequestTag, TransportEvent};
use crate::error::{DisconnectReason, Error, ReconnectError};
use crate::panics::contained;
use crate::report::Report;
use crate::transport::http::headers::{EITHER, EVENT_STREAM, JSON, PROTOCOL_VERSION, SESSION_ID};

/// The shortest wait before a stream is opened again, also if the server asks for none.
const LEAST_PAUSE: Duration = Duration::from_millis(50);

/// How often a request is sent if the server asks each time who sends it: a token may have expired, its successor may be
/// refused, and the one after that may not suffice.
const MOST_ATTEMPTS: usize = 4;

const SESSION: HeaderName = HeaderName::from_static(SESSION_ID);
const VERSION: HeaderName = HeaderName::from_static(PROTOCOL_VERSION);

/// What changes while the session runs.
#[derive(Debug, Default)]
pub(super) struct ConversationState {
    pub(super) identity: SessionIdentity,
    pub(super) handshake: Handshake,
    /// Which parameters of tools the heads of calls repeat, where requests have no session.
    pub(super) tools: ToolTable,
    /// A session that the server has begun in place of a lost one, and that is not this side's yet.
    pub(super) begun: Option<SessionIdentity>,
    /// What posts requests in parallel.
    pub(super) posters: Posters,
    /// What may end each request of this side.
    pub(super) requests: RunningRequests,
    /// The server has begun to answer the first message, so it has named the session; or it needs none.
    pub(super) opened: bool,
    /// The version that the session was begun with, for the case that it ends before the server's is known.
    pub(super) requested: Option<HeaderValue>,
    /// The version that was agreed on is known.
    pub(super) agreed: bool,
    /// What is posted one after another.
    queue: VecDeque<PostMessage>,
    /// One of these is on its way.
    posting: bool,
    /// How many bytes have not been accepted.
    waiting: usize,
    listening: bool,
    /// Nothing is posted any more.
    over: bool,
    deleted: bool,
    drained: Option<Waker>,
}

impl ConversationState {
    /// The session says a message. Returns it where it is to be posted at once, in parallel to others; else it waits.
    pub(super) fn say(&mut self, message: PostMessage) -> Option<PostMessage> {
        self.requests.begin(message.asks());
        self.waiting = self.waiting.saturating_add(message.text.len());
        let in_parallel = !message.asks().is_empty() && self.opened && !self.posting && self.queue.is_empty();
        if in_parallel {
            return Some(message);
        }
        self.queue.push_back(message);
        None
    }

    /// How many bytes have not been accepted.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether nothing is posted any more.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// The message before is posted: the next one, and the task that waits until there is none.
    pub(super) fn next(&mut self) -> (Option<PostMessage>, Option<Waker>) {
        let next = if self.over { None } else { self.queue.pop_front() };
        self.posting = next.is_some();
        let drained = if self.posting { None } else { self.drained.take() };
        (next, drained)
    }

    /// The stream for what the server says unasked is opened from here on; `false` if it is already, or the session is
    /// over.
    pub(super) fn begin_listening(&mut self) -> bool {
        !self.over && !std::mem::replace(&mut self.listening, true)
    }
}

/// One session with a server.
pub(super) struct Conversation {
    way: Way,
    url: reqwest::Url,
    headers: HeaderMap,
    header_provider: Option<Arc<dyn AnyHeaderProvider>>,
    pub(super) options: ClientOptions,
    /// Requests have no session: each says by itself what the server has to know.
    pub(super) is_stateless: bool,
    /// A reply that comes twice could be taken for that of another request.
    pub(super) reuses_ids: bool,
    pub(super) provider: Option<Arc<dyn AnyProvider>>,
    on_session: Option<OnSession>,
    pub(super) endpoint: Arc<dyn Endpoint>,
    runtime: Handle,
    state: Mutex<ConversationState>,
    tasks: Mutex<JoinSet<()>>,
    /// A message waits to be posted.
    pub(super) queued: Notify,
    /// A task that posts in parallel has been handed a message.
    pub(super) handed: Notify,
    /// The session has its name.
    pub(super) opened: Notify,
    /// The server has taken a message.
    pub(super) went_through: Notify,
    /// The server has answered the request for the stream of what it says unasked, or cannot be asked.
    pub(super) listened: Notify,
    /// The requests whose answers may name a session.
    pub(super) naming: Naming,
    /// Held by the task that reconnects.
    pub(super) reconnecting: tokio::sync::Mutex<()>,
    /// The present epoch, for the task that reads the stream of an earlier one. Requests hear of it by their signal.
    pub(super) epochs: watch::Sender<Epoch>,
    /// The session has said everything: nothing waits to be sent again.
    closing: watch::Sender<bool>,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Conversation").field("server", &server(&self.url)).finish_non_exhaustive()
    }
}

impl Conversation {
    pub(super) fn new(client: HttpClient, endpoint: Arc<dyn Endpoint>) -> Arc<Conversation> {
        let HttpClient { way, url, headers, header_provider, options, provider, on_session, tools } = client;
        let info = endpoint.info();
        let is_stateless = info.is_stateless;
        let own = info.program_version.filter(|_| is_stateless).map(Cow::into_owned);
        let version = options.protocol_version.clone().or(info.agreed_version).or(own);
        let version = version.and_then(|text| HeaderValue::from_str(&text).ok());
        let provider = provider.filter(|_| !is_stateless);
        let opened = provider.is_some() || is_stateless;
        let identity = SessionIdentity { version, ..SessionIdentity::default() };
        Arc::new(Conversation {
            way,
            url,
            headers,
            header_provider,
            options,
            is_stateless,
            reuses_ids: info.reuses_ids,
            provider,
            on_session,
            endpoint,
            runtime: Handle::current(),
            state: Mutex::new(ConversationState { identity, tools, opened, ..ConversationState::default() }),
            tasks: Mutex::new(JoinSet::new()),
            queued: Notify::new(),
            handed: Notify::new(),
            opened: Notify::new(),
            went_through: Notify::new(),
            listened: Notify::new(),
            naming: Naming::default(),
            reconnecting: tokio::sync::Mutex::new(()),
            epochs: watch::Sender::new(Epoch::FIRST),
            closing: watch::Sender::new(false),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ConversationState> {
        // What is done under the lock does not panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a task in parallel, until the session ends.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, &self.runtime);
    }

    /// Sends a request whose head names the session and repeats parts of its message, with what `add` adds to it. If the server asks who sends it, the provider
    /// of headers may have it sent again.
    pub(super) async fn send(
        &self,
        method: Method,
        identity: &SessionIdentity,
        repeated: &[(HeaderName, HeaderValue)],
        mut add: impl FnMut(RequestBuilder) -> RequestBuilder + Send,
    ) -> Result<Response, HttpError> {
        let mut response = match &self.header_provider {
            None => self.way.send(add(self.request(method, identity, None, repeated))).await?,
            // Boxed, so that it takes no memory where there is no provider.
            Some(provider) => Box::pin(self.send_as(&**provider, method, identity, repeated, add)).await?,
        };
        if unknown_session::may_say(identity, &response) {
            Box::pin(response.peek(SAID)).await;
        }
        Ok(response)
    }

    /// Whether an answer says that the server does not know the session.
    pub(super) fn unknown_session(
        &self,
        identity: &SessionIdentity,
        response: &Response,
    ) -> Option<UnknownSession> {
        unknown_session::said(&self.options, identity, response)
    }

    /// The same with the headers of a provider.
    async fn send_as(
        &self,
        provider: &dyn AnyHeaderProvider,
        method: Method,
        identity: &SessionIdentity,
        repeated: &[(HeaderName, HeaderValue)],
        mut add: impl FnMut(RequestBuilder) -> RequestBuilder + Send,
    ) -> Result<Response, HttpError> {
        // At the end of a session no user is asked to log in.
        let most = if method == Method::DELETE { 1 } else { MOST_ATTEMPTS };
        let mut attempts = 0;
        let mut previous = None;
        loop {
            attempts += 1;
            let mut sent = provider.provide(&method, &self.url).await.map_err(HttpError::Headers)?;
            sent.values_mut().for_each(|value| value.set_sensitive(true));
            let request =
                self.way.send(add(self.request(method.clone(), identity, Some(sent.clone()), repeated)));
            let response = request.await?;
            provider.note(response.headers());
            let status = response.status();
            if attempts == most || !Challenge::is_one(status) {
                return Ok(response);
            }
            let (status, authenticate) = (status.as_u16(), authenticate(&response));
            let challenge = Challenge { status, authenticate, sent, attempts, previous };
            if !provider.answer(challenge.clone()).await.map_err(HttpError::Headers)? {
                return Ok(response);
            }
            previous = Some(Box::new(challenge));
        }
    }

    /// The head of an answer that stands for a failure.
    pub(super) fn failure(&self, response: &Response, identity: &SessionIdentity) -> Failure {
        Failure::new(response, identity, &self.url)
    }

    fn request(
        &self,
        method: Method,
        identity: &SessionIdentity,
        provided: Option<HeaderMap>,
        repeated: &[(HeaderName, HeaderValue)],
    ) -> RequestBuilder {
        let accepts = if method == Method::GET { EVENT_STREAM } else { EITHER };
        let posts = method == Method::POST;
        let mut request = reqwest::Request::new(method, self.url.clone());
        let headers = request.headers_mut();
        // On its way, `Host` and `Content-Length` are added.
        let named = usize::from(identity.id.is_some()) + usize::from(identity.version.is_some());
        let own = 3 + usize::from(posts) + named + repeated.len();
        headers.reserve(own + self.headers.len() + provided.as_ref().map_or(0, HeaderMap::len));
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        headers.extend(provided.into_iter().flatten());
        headers.values_mut().for_each(|value| value.set_sensitive(true));
        headers.insert(ACCEPT, HeaderValue::from_static(accepts));
        if posts {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        if let Some(id) = &identity.id {
            headers.insert(SESSION, id.clone());
        }
        if let Some(version) = &identity.version {
            headers.insert(VERSION, version.clone());
        }
        for (name, value) in repeated {
            headers.insert(name.clone(), value.clone());
        }
        self.way.prepare(request)
    }

    /// The session, as it is to be named in the next request, unless a provider does. That a message is made in it
    /// counts from this call on.
    pub(super) fn identity(&self, message: Option<&PostMessage>) -> SessionIdentity {
        let mut state = self.state();
        state.requests.posted_here(message.map_or(&[], PostMessage::asks));
        state.identity.clone()
    }

    /// Has the session provider name the session, if there is one.
    pub(super) async fn name(&self, identity: &mut SessionIdentity) -> Result<(), Error> {
        let Some(provider) = &self.provider else { return Ok(()) };
        let id = provider.name().await.map_err(Error::SessionProvider)?;
        let id = HeaderValue::from_str(&id).map_err(|error| Error::SessionProvider(Arc::new(error)))?;
        identity.id = Some(secret(&id));
        Ok(())
    }

    /// Hands a message of the server to the session, unless it came in one that the server has lost meanwhile.
    pub(super) fn receive(&self, message: &[u8], epoch: Epoch) {
        let delivery = Delivery::message(message).tagged(RequestTag(0)).in_epoch(epoch);
        self.endpoint.receive(delivery, Instant::now().into_std());
    }

    /// Tells the program the id of a session that this client has opened.
    pub(super) fn tell_session(&self, id: Option<&HeaderValue>) {
        let (Some(tell), Some(Ok(id))) = (&self.on_session, id.map(HeaderValue::to_str)) else { return };
        if let Err(text) = contained(|| tell(id)) {
            tracing::error!(panic = text.unwrap_or_default(), "`on_session` panicked");
        }
    }

    /// The client has reconnected; `request` is the first request of the handshake, and `reply` its reply.
    pub(super) fn reconnected(&self, identity: SessionIdentity, request: &[u8], reply: &[u8]) {
        // First of all, for with the name of the new session its messages may come; and from here on none of the lost one
        // are taken.
        self.endpoint.notify(TransportEvent::Reconnected { request, reply });
        self.tell_session(identity.id.as_ref());
        let epoch = identity.epoch;
        let wakers = {
            let mut state = self.state();
            state.identity = identity;
            state.begun = None;
            state.requests.all_over(Over::Reconnected)
        };
        wakers.into_iter().for_each(Waker::wake);
        self.epochs.send_replace(epoch);
    }

    /// A message was not delivered, or its reply will not come.
    pub(super) fn fail(&self, message: &PostMessage, error: Error) {
        let asks = message.asks();
        if message.is_step() {
            if asks.is_empty() || self.is_awaited(message) {
                self.endpoint.notify(TransportEvent::Failed(DisconnectReason::from(error)));
            }
        } else if asks.is_empty() {
            // The report says by itself that nothing was delivered.
            self.undelivered(match error {
                Error::NotDelivered(cause) => cause.to_string(),
                other => other.to_string(),
            });
        } else {
            for id in asks {
                if self.state().requests.is_awaited(*id) {
                    let error = error.clone();
                    self.endpoint.notify(TransportEvent::RequestFailed { id: *id, error });
                }
            }
        }
    }

    /// Reports what could not be delivered, and does not end the session.
    pub(super) fn undelivered(&self, problem: String) {
        self.note(Report::Undelivered { problem });
    }

    /// Reports something that does not end the session.
    pub(super) fn note(&self, report: Report) {
        self.endpoint.notify(TransportEvent::Noticed(report));
    }

    /// The session is lost, and reconnecting failed.
    pub(super) fn invalid(&self, why: ReconnectError) {
        self.endpoint.notify(TransportEvent::Failed(DisconnectReason::SessionInvalid(why)));
    }

    /// So much of a message was taken.
    pub(super) fn taken(&self, length: usize) {
        let mut state = self.state();
        state.waiting = state.waiting.saturating_sub(length);
        drop(state);
        self.endpoint.notify(TransportEvent::Wrote);
    }

    /// A message is no longer on its way, of which so much had not been taken.
    pub(super) fn accepted(&self, message: &PostMessage, rest: usize) {
        let mut state = self.state();
        state.waiting = state.waiting.saturating_sub(rest);
        let opens = !message.asks().is_empty() && !std::mem::replace(&mut state.opened, true);
        drop(state);
        if opens {
            self.opened.notify_one();
        }
        self.endpoint.notify(TransportEvent::Wrote);
    }

    /// Waits for so long; whether the session has more to say.
    pub(super) async fn is_open_after(&self, pause: Duration) -> bool {
        let mut closing = self.closing.subscribe();
        let closed = closing.wait_for(|closing| *closing);
        tokio::time::timeout(pause, closed).await.is_err()
    }

    /// Waits until everything has been accepted that must not be lost. Nothing is sent again from here on.
    pub(super) async fn drained(&self) {
        self.closing.send_replace(true);
        let poll = |context: &mut Context<'_>| {
            let mut state = self.state();
            if state.queue.is_empty() && !state.posting {
                return Poll::Ready(());
            }
            state.drained = Some(context.waker().clone());
            Poll::Pending
        };
        poll_fn(poll).await;
    }

    /// Whether a task waits for a reply to a message.
    pub(super) fn is_awaited(&self, message: &PostMessage) -> bool {
        let state = self.state();
        message.asks().iter().any(|id| state.requests.is_awaited(*id))
    }

    /// Has nothing more posted, and waits for the name of a session that the server is about to begin: it could not be
    /// deleted without.
    pub(super) async fn stop(&self) {
        self.state().over = true;
        drop(tokio::time::timeout(self.options.delete_within, self.naming.done()).await);
    }

    /// Ends everything, and tells the server that the session is over.
    pub(super) async fn end(&self) {
        let (identity, begun) = {
            let mut state = self.state();
            state.over = true;
            let owned = self.provider.is_none() && !std::mem::replace(&mut state.deleted, true);
            let mut identity = Some(state.identity.clone()).filter(|identity| owned && identity.id.is_some());
            if let Some(identity) = &mut identity {
                // A server that speaks the requested version agrees to it.
                identity.version = identity.version.take().or_else(|| state.requested.take());
            }
            (identity, state.begun.take())
        };
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        drop(tasks);
        // A reconnection that failed, or was not waited for, leaves two.
        Box::pin(async { tokio::join!(self.delete(identity), self.delete(begun)) }).await;
    }

    /// Tells the server that a session is over.
    async fn delete(&self, identity: Option<SessionIdentity>) {
        let Some(identity) = identity else { return };
        let deleting = self.send(Method::DELETE, &identity, &[], |request| request);
        // A server may not permit this, or be gone; either way there is nothing more to be done.
        match tokio::time::timeout(self.options.delete_within, deleting).await {
            Ok(Ok(response)) => tracing::debug!(status = %response.status(), "the session was deleted"),
            Ok(Err(error)) => tracing::debug!(%error, "the session was not deleted"),
            Err(_) => tracing::debug!("the session was not deleted in time"),
        }
    }

    /// The wait before the next attempt to open a stream.
    pub(super) fn pause(&self, asked: Option<Duration>, failures: usize) -> Duration {
        let most = Duration::from_secs(30);
        let doublings = u32::try_from(failures).unwrap_or(u32::MAX).min(16);
        asked
            .unwrap_or(self.options.retry)
            .saturating_mul(1 << doublings)
            .min(most.max(asked.unwrap_or_default()))
            .max(LEAST_PAUSE)
    }
}
