//! Handles POST, GET and DELETE.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, EXPECT, HeaderMap, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use tokio::time::Instant;

use super::body::{EventBody, LongBody, event_id, short};
use super::guard::{check_accepts_both, check_accepts_stream, check_content, check_source, only, text};
use super::head::{self, RequestHead};
use super::identity::identified;
use super::one_request::{PostedMessage, no_handshake, status_of};
use super::quotas::{Client, ClientBudgets};
use super::refusal::{RequestRefusal, refused};
use super::service::Server;
use super::session::{HttpSessionState, SessionKey};
use super::stream::ReadPosition;
use super::streams::{Ending, PostAnswer, Posted, ResumedStream};
use super::within::within;
use crate::budget::{Account, Exhausted, Permit};
use crate::driver::{MessageKind, PeerIdentity, Received};
use crate::jsonrpc::{Dialect, JsonReader, MessageText, NO_MEMBERS, RpcError, write};
use crate::transport::http::headers::{EVENT_STREAM, JSON, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};
use crate::transport::http::pieces::Pieces;

const SESSION: HeaderName = HeaderName::from_static(SESSION_ID);
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const VERSION: HeaderName = HeaderName::from_static(PROTOCOL_VERSION);
const LAST_EVENT: HeaderName = HeaderName::from_static(LAST_EVENT_ID);

/// The code of the error that a refused request is answered with.
const SERVER_ERROR: i64 = -32000;
/// The same where the session is not there.
const NO_SESSION: i64 = -32001;

/// A message of at most so many bytes is read once, for the head and for the session. What is known of the values of a
/// longer one could take more room than is counted for it.
const READ_AT_ONCE: usize = 4 * 1024;

/// What the head of a request leads to.
enum HeadVerdict {
    /// The request is answered, or refused.
    Answered(Box<Result<Response, RequestRefusal>>),
    /// A message is to be read.
    Post(Arc<RequestHead>, ClientBudgets),
    /// It is a GET or a DELETE that names no session. What that is answered with depends on whether there are any, and
    /// whether its client has one.
    Nameless(Arc<RequestHead>, ClientBudgets),
}

impl Server {
    /// Answers a request. Its head is judged before the future is made: as a part of the future it would be moved and
    /// kept for as long as the answer takes.
    pub(super) fn answer(
        self: Arc<Server>,
        request: Request,
    ) -> impl Future<Output = Result<Response, Infallible>> + Send {
        let (parts, mut body) = request.into_parts();
        let expects = parts.headers.contains_key(EXPECT);
        let judged = self.judge(parts);
        let verdict = judged.unwrap_or_else(|refused| HeadVerdict::Answered(Box::new(Err(refused))));
        async move {
            let answered = match verdict {
                HeadVerdict::Answered(answered) => *answered,
                HeadVerdict::Post(head, caller) => self.post(&head, &mut body, &caller).await,
                HeadVerdict::Nameless(head, caller) => Box::pin(self.nameless(&head, &caller)).await,
            };
            Ok(answered.unwrap_or_else(|refused| {
                self.log(&refused);
                if refused.status != StatusCode::REQUEST_TIMEOUT && !expects {
                    drain(body, self.options.drain_bytes, self.options.body_within);
                }
                refusal(&refused, self.dialect())
            }))
        }
    }

    fn judge(&self, parts: Parts) -> Result<HeadVerdict, RequestRefusal> {
        check_source(&parts, &self.options)?;
        let identity = identified(&parts, &self.options);
        let caller = self.quotas.caller(Client::of(&identity));
        caller.request()?;
        let kept = |parts: Parts, identity| -> Result<_, RequestRefusal> {
            let permit = match head::length(&parts).checked_sub(head::UNCOUNTED) {
                Some(counted) => caller.bytes().take(counted)?,
                None => Permit::default(),
            };
            let parts = head::detached(parts);
            Ok(Arc::new(RequestHead { parts, identity, _permit: permit }))
        };
        match parts.method {
            Method::POST => Ok(HeadVerdict::Post(kept(parts, identity)?, caller)),
            Method::GET | Method::DELETE => {
                let has_session =
                    self.has_sessions.get() == Some(&true) && !self.may_be_stateless(&parts.headers);
                if has_session || matches!(self.named(&parts.headers, &identity), Ok(Some(_))) {
                    return Ok(HeadVerdict::Answered(Box::new(self.without_body(&parts, &identity))));
                }
                Ok(HeadVerdict::Nameless(kept(parts, identity)?, caller))
            }
            _ if self.has_sessions.get() == Some(&false) => Err(only_post("this server has no sessions")),
            _ => Err(refused(StatusCode::METHOD_NOT_ALLOWED, "only POST, GET and DELETE are served here")),
        }
    }

    /// Answers a GET or a DELETE.
    fn without_body(&self, parts: &Parts, identity: &PeerIdentity) -> Result<Response, RequestRefusal> {
        if parts.method == Method::GET { self.get(parts, identity) } else { self.delete(parts, identity) }
    }

    /// Answers a GET or a DELETE that names no session.
    async fn nameless(
        self: &Arc<Server>,
        head: &Arc<RequestHead>,
        caller: &ClientBudgets,
    ) -> Result<Response, RequestRefusal> {
        if !self.has_sessions(head, caller).await? {
            return Err(only_post("this server has no sessions"));
        }
        if self.is_of_no_session(head, caller).await? {
            return Err(only_post("this version of the protocol has no sessions"));
        }
        self.without_body(&head.parts, &head.identity)
    }

    /// It is a setting of this side that refuses; its author should see that here, too.
    fn log(&self, refused: &RequestRefusal) {
        let RequestRefusal { status, problem, limit, .. } = refused;
        let is_setting = matches!(*status, StatusCode::FORBIDDEN | StatusCode::PAYLOAD_TOO_LARGE);
        if !is_setting && limit.is_none() {
            return;
        }
        match self.log.line(Instant::now().into_std()) {
            Some(0) => tracing::warn!(status = status.as_u16(), "a request was refused: {problem}"),
            Some(more) => {
                tracing::warn!(
                    status = status.as_u16(),
                    more,
                    "a request was refused, like others before: {problem}"
                );
            }
            None => {}
        }
    }

    /// Whether the client expects streams to start with an event that carries nothing but its id.
    fn primes(&self, session: &HttpSessionState, headers: &HeaderMap) -> bool {
        let Some(since) = self.options.primed_since.as_deref() else { return false };
        if session.is_for_one_request() {
            // No client can come back for its stream.
            return false;
        }
        // What was agreed on, and what the request says of itself: a client that lags in one of them still knows it.
        session.version().into_iter().chain(text(headers, &VERSION)).any(|version| version >= since)
    }

    /// The session that a request names.
    fn named(
        &self,
        headers: &HeaderMap,
        identity: &PeerIdentity,
    ) -> Result<Option<Arc<HttpSessionState>>, RequestRefusal> {
        let Some(id) = only(headers, &SESSION)? else { return Ok(None) };
        let session = id.to_str().ok().and_then(|id| self.sessions.get(id));
        // To anyone but its owner it is as if it were not there.
        let session = session.filter(|session| session.head.identity.principal == identity.principal);
        let Some(session) = session else {
            return Err(refused(StatusCode::NOT_FOUND, "the session does not exist: open a new one"));
        };
        let Some(version) = only(headers, &VERSION)? else { return Ok(Some(session)) };
        let version = version.to_str().unwrap_or_default();
        let agreed = session.version() == Some(version);
        if !agreed && !self.options.versions.iter().any(|known| known == version) {
            let problem = match session.version() {
                Some(agreed) => {
                    format!("the session has the protocol version `{agreed}`, and not `{version}`")
                }
                None => format!("the protocol version `{version}` is not spoken here"),
            };
            return Err(refused(StatusCode::BAD_REQUEST, problem));
        }
        Ok(Some(session))
    }

    async fn post(
        self: &Arc<Server>,
        head: &Arc<RequestHead>,
        body: &mut Body,
        caller: &ClientBudgets,
    ) -> Result<Response, RequestRefusal> {
        let RequestHead { parts, identity, .. } = &**head;
        check_accepts_both(&parts.headers)?;
        check_content(&parts.headers)?;
        let named = self.named(&parts.headers, identity);
        let unknown = match named {
            // Without sessions the name of one says nothing, nor where a message names its revision by itself.
            Err(_) if !Box::pin(self.has_sessions(head, caller)).await? => None,
            Err(refused) if self.may_be_stateless(&parts.headers) => Some(refused),
            named => {
                if let Some(session) = named? {
                    let message = self.read(body, session.quotas.bytes()).await?;
                    let delivered = self.deliver(&session, message.0[..].into(), head)?;
                    // The session has it now. Answering may take long.
                    drop(message);
                    let (answer, _) = self.answered(delivered, &mut answer_of(&session)).await?;
                    return Ok(answer);
                }
                None
            }
        };
        let message = self.read(body, &caller.bytes()).await?;
        let mut reader = JsonReader::default();
        let text = match message.0.len() {
            ..=READ_AT_ONCE => MessageText::read(&message.0, &mut reader),
            _ => message.0[..].into(),
        };
        let posted = match PostedMessage::of(text) {
            Ok(Some(posted)) => posted,
            Ok(None) => return Err(unknown.unwrap_or_else(|| self.unnamed()).about(&message.0)),
            Err(malformed) => return Err(unknown.unwrap_or(malformed).about(&message.0)),
        };
        if !posted.opens(&self.options.opens_with) {
            let mut request = self.one_request(head, caller, &message.0, posted, unknown).await?;
            let session = Arc::clone(&request.session);
            let delivered = self.deliver(&session, text, head)?;
            drop((message, reader));
            let mut answered =
                |context: &Context<'_>, stream, in_time| request.poll_answer(context, stream, in_time);
            let (answer, _) = self.answered(delivered, &mut answered).await?;
            request.answered(&answer);
            return Ok(answer);
        }
        let session = self.open(caller, head).map_err(|refused| refused.about(&message.0))?;
        // No other client knows the session, so it ends with this request.
        let mut orphan = Orphan { session: &session, known: false };
        if let Some(version) = self.taken_on(&session).await? {
            return Err(no_handshake(&parts.headers, &version).about(&message.0));
        }
        let delivered = self.deliver(&session, text, head)?;
        drop((message, reader));
        let (mut answer, opened) = self.answered(delivered, &mut answer_of(&session)).await?;
        if opened
            && let SessionKey::Id(id) = &session.key
            && let Ok(id) = HeaderValue::from_str(id)
        {
            orphan.known = true;
            answer.headers_mut().insert(SESSION, id);
        }
        Ok(answer)
    }

    /// Reads a body, within its limits; with it comes what it holds of them.
    async fn read(&self, body: &mut Body, account: &Account) -> Result<(Bytes, Permit), RequestRefusal> {
        let most = self.options.max_body_bytes;
        let too_long = || {
            refused(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the body is longer than the limit of {most} bytes: see `ServerOptions::max_body_bytes`"
                ),
            )
        };
        if body.size_hint().lower() > most as u64 {
            return Err(too_long());
        }
        match within(self.options.body_within, collect(body, most, account)).await {
            Some(Ok((bytes, _))) if bytes.trim_ascii().is_empty() => {
                Err(refused(StatusCode::BAD_REQUEST, "the body holds no message"))
            }
            Some(Ok(read)) => Ok(read),
            Some(Err(BodyError::TooLong)) => Err(too_long()),
            Some(Err(BodyError::Exhausted(exhausted))) => Err(exhausted.into()),
            Some(Err(BodyError::Failed(error))) => {
                Err(refused(StatusCode::BAD_REQUEST, format!("the body could not be read: {error}")))
            }
            None => Err(refused(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
        }
    }

    /// Why a message that names no session is refused, if it may not open one that lasts.
    pub(super) fn unnamed(&self) -> RequestRefusal {
        let opens_with = &*self.options.opens_with;
        let problem =
            format!("a session begins with `{opens_with}`, and every later request names it in `{SESSION}`");
        refused(StatusCode::BAD_REQUEST, problem)
    }

    /// Hands a message to its session.
    fn deliver<'a>(
        &self,
        session: &'a Arc<HttpSessionState>,
        message: MessageText<'_>,
        head: &Arc<RequestHead>,
    ) -> Result<Delivered<'a>, RequestRefusal> {
        let primed = self.primes(session, head.headers());
        let now = Instant::now().into_std();
        let posted = session.streams().post(primed, now);
        let Posted { stream, opens } = posted.ok_or_else(|| too_many(session).about(message.bytes()))?;
        let waiting = PostGuard { session, number: stream, left: false };
        let received = session.receive(message, stream, head, now);
        Ok(Delivered { waiting, received, opens, primed })
    }

    /// Answers with what the session says about a message; whether the session goes on. `answered` waits for the answer on a
    /// stream, which has a limited time until it is a stream of its own.
    async fn answered(
        &self,
        delivered: Delivered<'_>,
        answered: &mut (dyn FnMut(&Context<'_>, u64, bool) -> Poll<PostAnswer> + Send),
    ) -> Result<(Response, bool), RequestRefusal> {
        let Delivered { mut waiting, received, opens, primed } = delivered;
        let PostGuard { session, number, .. } = waiting;
        let after = self.options.stream_after;
        let answer = if after.is_zero() && opens && !session.is_for_one_request() {
            // Who has no session yet could not come back for the answer.
            poll_fn(|context| answered(context, number, true)).await
        } else if after.is_zero() && received.requests > 0 {
            PostAnswer::Stream
        } else {
            match within(after, poll_fn(|context| answered(context, number, true))).await {
                Some(answer) => answer,
                None => poll_fn(|context| answered(context, number, false)).await,
            }
        };
        waiting.left = true;
        Ok(match answer {
            PostAnswer::Json(event) => {
                session.wrote();
                let status = match event.kind {
                    MessageKind::Error if session.is_for_one_request() => status_of(&event.message),
                    MessageKind::Error if write::is_without_id(&event.message, self.dialect()) => {
                        StatusCode::BAD_REQUEST
                    }
                    _ => StatusCode::OK,
                };
                (json(status, short(event.message, event.permit)), !opens || is_result(event.kind))
            }
            PostAnswer::Long(kind, left) => {
                let body = LongBody { shared: Arc::clone(session), number, left };
                (with_body(StatusCode::OK, Body::new(body)), !opens || is_result(kind))
            }
            PostAnswer::Stream => {
                let place = ReadPosition { stream: number, reader: 0, next: 0, at: 0 };
                (stream(EventBody::new(Arc::clone(session), place, false, primed)), true)
            }
            PostAnswer::Accepted => match received.refused {
                None => (empty(StatusCode::ACCEPTED), true),
                Some(problem) => return Err(refused(StatusCode::BAD_REQUEST, problem)),
            },
            PostAnswer::Over if session.is_for_one_request() => {
                let problem = "the program's code has ended without an answer";
                let refusal = refused(StatusCode::INTERNAL_SERVER_ERROR, problem);
                return Err(RequestRefusal { code: Some(RpcError::INTERNAL_ERROR), ..refusal });
            }
            // A client repeats the call after a 404, and the call may have had effects here.
            PostAnswer::Over if received.requests > 0 => {
                return Err(refused(
                    StatusCode::GONE,
                    "the session has ended while it worked on the request",
                ));
            }
            PostAnswer::Over => {
                return Err(refused(StatusCode::NOT_FOUND, "the session is over: begin another"));
            }
        })
    }

    fn get(&self, parts: &Parts, identity: &PeerIdentity) -> Result<Response, RequestRefusal> {
        check_accepts_stream(&parts.headers)?;
        let session = self.named(&parts.headers, identity)?.ok_or_else(nameless)?;
        let primed = self.primes(&session, &parts.headers);
        let last = match only(&parts.headers, &LAST_EVENT)? {
            None => None,
            Some(last) => Some(last.to_str().ok().and_then(event_id).ok_or_else(|| {
                refused(StatusCode::BAD_REQUEST, format!("`{LAST_EVENT}` names no event of this session"))
            })?),
        };
        let mut streams = session.streams();
        streams.touch(Instant::now().into_std());
        let resumed = match last {
            None => ResumedStream::Lost,
            Some((get, stream, after)) => {
                streams.resume(get, stream, after).ok_or_else(|| too_many(&session))?
            }
        };
        let (place, get) = match (resumed, last) {
            (ResumedStream::At(place), Some((get, ..))) => (place, get),
            // A cancelled call is not answered, but some clients ask for the answer all the same. An empty stream would
            // make them ask indefinitely.
            (ResumedStream::Finished, _) => return Ok(empty(StatusCode::NO_CONTENT)),
            (ResumedStream::Lost, Some((false, ..))) => {
                // To begin another stream would leave the client waiting for an answer that cannot come.
                let problem =
                    "the messages behind that event are no longer kept: see `ServerOptions::replay_bytes`";
                return Err(refused(StatusCode::BAD_REQUEST, problem));
            }
            _ => (streams.get().ok_or_else(|| too_many(&session))?, true),
        };
        drop(streams);
        Ok(stream(EventBody::new(session, place, get, primed)))
    }

    fn delete(&self, parts: &Parts, identity: &PeerIdentity) -> Result<Response, RequestRefusal> {
        let session = self.named(&parts.headers, identity)?.ok_or_else(nameless)?;
        session.end(Ending::Gone);
        Ok(empty(StatusCode::NO_CONTENT))
    }
}

/// Waits for an answer of a session that others work on.
fn answer_of(session: &HttpSessionState) -> impl FnMut(&Context<'_>, u64, bool) -> Poll<PostAnswer> {
    |context, stream, in_time| session.streams().poll_answer(context, stream, in_time)
}

/// A message that its session has been given.
struct Delivered<'a> {
    waiting: PostGuard<'a>,
    received: Received,
    /// It opens the session.
    opens: bool,
    /// A stream of its answer starts with an event that carries nothing but its id.
    primed: bool,
}

/// A POST that is being answered. If its client goes away before the answer has begun, nothing waits for it any more.
struct PostGuard<'a> {
    session: &'a Arc<HttpSessionState>,
    number: u64,
    left: bool,
}

impl Drop for PostGuard<'_> {
    fn drop(&mut self) {
        if !self.left {
            if self.session.is_for_one_request() {
                self.session.left(self.number);
            }
            self.session.streams().forget(self.number);
            self.session.wrote();
        }
    }
}

/// A session whose id has not been sent to its client yet.
struct Orphan<'a> {
    session: &'a HttpSessionState,
    known: bool,
}

impl Drop for Orphan<'_> {
    fn drop(&mut self) {
        if !self.known {
            self.session.end(Ending::Gone);
        }
    }
}

/// Why a body was not read.
enum BodyError {
    TooLong,
    Exhausted(Exhausted),
    Failed(axum::Error),
}

/// Reads a body to its end, if that is not longer than permitted.
async fn collect(body: &mut Body, most: usize, account: &Account) -> Result<(Bytes, Permit), BodyError> {
    let mut pieces = Pieces::default();
    let mut permit = account.take(0).map_err(BodyError::Exhausted)?;
    while let Some(frame) = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
        let Ok(piece) = frame.map_err(BodyError::Failed)?.into_data() else { continue };
        let before = pieces.held();
        if !pieces.add(piece, most) {
            return Err(BodyError::TooLong);
        }
        permit.grow(pieces.held().saturating_sub(before)).map_err(BodyError::Exhausted)?;
    }
    Ok((pieces.whole(), permit))
}

/// Reads on in a body that is not wanted, in parallel with the refusal that answers it: where the connection is closed with
/// something unread, a client that is still writing never sees the answer.
fn drain(mut body: Body, most: usize, within: Duration) {
    if body.is_end_stream() {
        return;
    }
    tokio::spawn(tokio::time::timeout(within, async move {
        let mut left = most;
        while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(length) else { return };
            left = rest;
        }
    }));
}

fn is_result(kind: MessageKind) -> bool {
    matches!(kind, MessageKind::Result { .. })
}

fn nameless() -> RequestRefusal {
    refused(StatusCode::BAD_REQUEST, format!("name the session in `{SESSION_ID}`"))
}

fn only_post(why: &str) -> RequestRefusal {
    let problem = format!("{why}: only POST is served");
    RequestRefusal { allow: "POST", ..refused(StatusCode::METHOD_NOT_ALLOWED, problem) }
}

fn too_many(session: &HttpSessionState) -> RequestRefusal {
    let most = session.options.max_streams;
    let problem = format!("the session answers {most} requests already");
    RequestRefusal { limit: Some("max_streams"), ..refused(StatusCode::TOO_MANY_REQUESTS, problem) }
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn json(status: StatusCode, message: Bytes) -> Response {
    with_body(status, Body::from(message))
}

fn with_body(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

fn stream(events: EventBody) -> Response {
    let mut response = Response::new(Body::new(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // A proxy that collects events before it forwards them would hold them back.
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}

/// The answer to a request that is refused: its status, and the words as an error, of the message if its id is known.
fn refusal(refused: &RequestRefusal, dialect: Dialect) -> Response {
    let of_status = if refused.status == StatusCode::NOT_FOUND { NO_SESSION } else { SERVER_ERROR };
    let code = refused.code.unwrap_or(of_status);
    let mut message = Vec::new();
    let mut error = RpcError::new(code, &*refused.problem);
    if let Some(limit) = refused.limit {
        error = error.with_data(serde_json::json!({ "limit": limit }));
    } else if let Some(data) = &refused.data {
        error = error.with_data((**data).clone());
    }
    write::error(&mut message, dialect, refused.id.as_ref(), &error, &NO_MEMBERS);
    let mut response = json(refused.status, message.into());
    let headers = response.headers_mut();
    match refused.status {
        StatusCode::METHOD_NOT_ALLOWED => {
            headers.insert(ALLOW, HeaderValue::from_static(refused.allow));
        }
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response
}
