//! Requests without a session: each is served by a session of its own, which ends with it.
//!
//! A message belongs to this kind if it names its revision by itself, or if the server's code has no handshake. Its head
//! is compared with it before the code gets it.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::header::HeaderMap;
use axum::http::{HeaderName, StatusCode};
use axum::response::Response;
use mcp_protocol_machine::protocol::Text;
use serde_json::json;

use super::guard::{only, text};
use super::head::RequestHead;
use super::options::{ServerOptions, ToolHeaders};
use super::quotas::ClientBudgets;
use super::refusal::{RequestRefusal, refused};
use super::request_work::RequestWork;
use super::service::Server;
use super::session::HttpSessionState;
use super::streams::{Ending, PostAnswer};
use crate::jsonrpc::{ANY_DIALECT, Dialect, Envelope, LookedUp, MessageText, RawPayload, RpcError, parse};
use crate::options::Options;
use crate::transport::http::headers::{EVENT_STREAM, METHOD, NAME, PROTOCOL_VERSION};
use crate::transport::http::mirrored::{self, CALL_TOOL, Mirrored, decoded};

const VERSION_HEADER: HeaderName = HeaderName::from_static(PROTOCOL_VERSION);
const METHOD_HEADER: HeaderName = HeaderName::from_static(METHOD);
const NAME_HEADER: HeaderName = HeaderName::from_static(NAME);

/// The head of a request does not fit its message.
const HEADER_MISMATCH: i64 = -32020;
/// The client cannot do what the request needs.
const MISSING_CAPABILITY: i64 = -32021;
/// The revision is not served here.
const UNSUPPORTED_VERSION: i64 = -32022;

impl Server {
    /// Whether a request may name its revision by itself: it is not one of those with sessions.
    pub(super) fn may_be_stateless(&self, headers: &HeaderMap) -> bool {
        let version = text(headers, &VERSION_HEADER);
        version.is_some_and(|version| !self.options.versions.iter().any(|known| known == version))
    }

    /// Waits until the code of a session that lasts has taken it on. Returns the version of its protocol, if that has no
    /// handshake.
    pub(super) async fn taken_on(
        &self,
        session: &Arc<HttpSessionState>,
    ) -> Result<Option<Text>, RequestRefusal> {
        self.in_time(session.attached()).await?;
        self.learn_dialect(session);
        let stateless = session.stateless();
        let _ = self.has_sessions.set(stateless.is_none());
        Ok(stateless)
    }

    /// Waits until a session is taken on, or is not in time.
    async fn in_time(&self, taken_on: impl Future<Output = bool>) -> Result<(), RequestRefusal> {
        match tokio::time::timeout(self.options.opening_within, taken_on).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => {
                Err(refused(StatusCode::SERVICE_UNAVAILABLE, "the session was not taken on"))
            }
        }
    }

    /// Whether there are sessions that last. The code of a session says so; the first time it is begun to find out.
    pub(super) async fn has_sessions(
        self: &Arc<Server>,
        head: &Arc<RequestHead>,
        caller: &ClientBudgets,
    ) -> Result<bool, RequestRefusal> {
        if let Some(known) = self.has_sessions.get() {
            return Ok(*known);
        }
        let session = Probe(self.open(caller, head)?);
        Ok(self.taken_on(&session.0).await?.is_none())
    }

    /// Begins a session for a message that names no session and begins none, once its head fits it. `unknown` is why the
    /// session that its head names is refused: only what the message says of its revision counts then.
    pub(super) async fn one_request(
        self: &Arc<Server>,
        head: &Arc<RequestHead>,
        caller: &ClientBudgets,
        message: &[u8],
        posted: PostedMessage<'_>,
        unknown: Option<RequestRefusal>,
    ) -> Result<OneRequest, RequestRefusal> {
        let about = |refused: RequestRefusal| refused.about(message);
        let headers = head.headers();
        let in_head = || unknown.is_none() && self.may_be_stateless(headers);
        let names_version = posted.mirrored.version.is_some() || in_head();
        let unnamed = || about(unknown.unwrap_or_else(|| self.unnamed()));
        if !names_version && Box::pin(self.has_sessions(head, caller)).await? {
            return Err(unnamed());
        }
        // It ends with this request, also where the request is refused or its client leaves.
        let mut session = OneRequest::new(self.open_for_one(caller, head).map_err(about)?);
        Box::pin(self.one_taken_on(&mut session)).await?;
        let Some(version) = session.session.stateless() else {
            return Err(unnamed());
        };
        if let Some(requested) = posted.other_version(headers, &version).map_err(about)? {
            let with_sessions = Box::pin(self.has_sessions(head, caller)).await.map_err(about)?;
            let others = if with_sessions { &*self.options.versions } else { &[] };
            return Err(about(unsupported(requested, &version, others)));
        }
        posted.check(headers, &self.options).map_err(about)?;
        Ok(session)
    }

    /// Waits until the code has taken a session for one request on.
    async fn one_taken_on(&self, session: &mut OneRequest) -> Result<(), RequestRefusal> {
        if !session.is_taken_on() {
            self.in_time(session.taken_on()).await?;
        }
        self.learn_dialect(&session.session);
        Ok(())
    }

    /// Whether a head says by its version that its client has no session. The code of a session for one request shows
    /// which version that is.
    pub(super) async fn is_of_no_session(
        self: &Arc<Server>,
        head: &Arc<RequestHead>,
        caller: &ClientBudgets,
    ) -> Result<bool, RequestRefusal> {
        if !self.may_be_stateless(head.headers()) {
            return Ok(false);
        }
        let mut session = OneRequest::new(self.open_for_one(caller, head)?);
        let taken_on = self.one_taken_on(&mut session).await;
        let served = session.session.stateless().filter(|_| taken_on.is_ok());
        Ok(served.is_some_and(|served| text(head.headers(), &VERSION_HEADER) == Some(&*served)))
    }
}

/// A session that is begun to find out what kind it is, and ends with that.
struct Probe(Arc<HttpSessionState>);

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.end(Ending::Shutdown);
    }
}

/// A session that serves one request, until the answer is written or is a stream of its own.
pub(super) struct OneRequest {
    pub(super) session: Arc<HttpSessionState>,
    /// The work on it, until the request is left.
    work: Option<RequestWork>,
    /// The answer is a stream, whose end is that of the session.
    streams: bool,
}

impl OneRequest {
    fn new((session, work): (Arc<HttpSessionState>, RequestWork)) -> OneRequest {
        OneRequest { session, work: Some(work), streams: false }
    }

    /// Runs the code of the session until it waits. Returns whether it has taken the session on.
    fn is_taken_on(&mut self) -> bool {
        if let Some(work) = &mut self.work {
            work.run();
        }
        self.session.is_attached()
    }

    /// Waits until the code has taken the session on; `false` if it never will.
    async fn taken_on(&mut self) -> bool {
        let OneRequest { session, work, .. } = self;
        let mut attached = pin!(session.attached());
        poll_fn(|context| {
            if let Some(work) = work {
                work.work(context);
            }
            attached.as_mut().poll(context)
        })
        .await
    }

    /// Works on the request until its answer is there.
    pub(super) fn poll_answer(
        &mut self,
        context: &Context<'_>,
        number: u64,
        in_time: bool,
    ) -> Poll<PostAnswer> {
        let Some(work) = &mut self.work else {
            return self.session.streams().poll_answer(context, number, in_time);
        };
        work.run();
        let answer = self.session.streams().poll_answer(context, number, in_time);
        if answer.is_pending() {
            work.work(context);
        }
        answer
    }

    /// The request has its answer.
    pub(super) fn answered(&mut self, answer: &Response) {
        self.streams = is_stream(answer);
    }
}

impl Drop for OneRequest {
    fn drop(&mut self) {
        if !self.streams {
            self.session.end(Ending::Shutdown);
        }
        if let Some(mut work) = self.work.take() {
            // Most sessions end here.
            work.run();
            work.leave();
        }
    }
}

fn is_stream(answer: &Response) -> bool {
    answer.headers().get(axum::http::header::CONTENT_TYPE).is_some_and(|form| form == EVENT_STREAM)
}

/// What a message says that its head repeats.
pub(super) struct PostedMessage<'a> {
    method: Cow<'a, str>,
    params: Option<LookedUp<'a>>,
    is_request: bool,
    mirrored: Mirrored<'a>,
}

impl<'a> PostedMessage<'a> {
    /// Reads a request or a notification; nothing for a reply.
    ///
    /// # Errors
    /// If it is not a message.
    pub(super) fn of(message: MessageText<'a>) -> Result<Option<PostedMessage<'a>>, RequestRefusal> {
        let (method, params, is_request) = match message.parse(Options::MAX_DEPTH, Dialect::WithoutJsonrpc) {
            Ok(Envelope::Request { method, params, .. }) => (method, params, true),
            Ok(Envelope::Notification { method, params }) => (method, params, false),
            Ok(_) => return Ok(None),
            Err(malformed) => {
                let refusal = refused(StatusCode::BAD_REQUEST, &*malformed.error.message);
                return Err(RequestRefusal { code: Some(malformed.error.code), ..refusal });
            }
        };
        let mirrored = Mirrored::of(&method, params);
        Ok(Some(PostedMessage { method, params, is_request, mirrored }))
    }

    /// Whether it opens a session that lasts.
    pub(super) fn opens(&self, opens_with: &str) -> bool {
        self.is_request && self.method == opens_with && self.mirrored.version.is_none()
    }

    /// The revision of the message, if it is not the one that is served here, which its head has to repeat.
    fn other_version<'h>(
        &self,
        headers: &'h HeaderMap,
        served: &str,
    ) -> Result<Option<&'h str>, RequestRefusal> {
        let header = value(headers, &VERSION_HEADER)?.ok_or_else(|| missing(&VERSION_HEADER, served))?;
        if let Some(version) = self.mirrored.version {
            let version = version.text().ok_or_else(|| incomplete("protocolVersion"))?;
            if version != header {
                return Err(differs(&VERSION_HEADER, header, &version));
            }
        }
        Ok(Some(header).filter(|header| *header != served))
    }

    /// Compares a message of the revision that is served here with its head.
    fn check(&self, headers: &HeaderMap, options: &ServerOptions) -> Result<(), RequestRefusal> {
        if self.is_request && self.mirrored.version.is_none() {
            return Err(incomplete("protocolVersion"));
        }
        if self.is_request
            && !self.mirrored.capabilities.is_some_and(|value| value.written().starts_with('{'))
        {
            return Err(incomplete("clientCapabilities"));
        }
        let method = value(headers, &METHOD_HEADER)?;
        match method {
            Some(method) if method != self.method => {
                return Err(differs(&METHOD_HEADER, method, &self.method));
            }
            // The protocol does not say what the head of a notification repeats.
            None if self.is_request => return Err(missing(&METHOD_HEADER, &self.method)),
            _ => {}
        }
        if let Some(name) = &self.mirrored.name {
            let said = value(headers, &NAME_HEADER)?.ok_or_else(|| missing(&NAME_HEADER, name))?;
            if decoded(said).as_deref() != Some(&**name) {
                return Err(differs(&NAME_HEADER, said, name));
            }
            if let (CALL_TOOL, Some(ToolHeaders(of_tool))) = (&*self.method, &options.param_headers)
                && let Some(params) = of_tool(name)
            {
                self.check_params(headers, &params)?;
            }
        }
        Ok(())
    }

    fn check_params(
        &self,
        headers: &HeaderMap,
        params: &mirrored::ParamHeaders,
    ) -> Result<(), RequestRefusal> {
        for (header, expected) in params.of_call(self.params) {
            let Ok(name) = HeaderName::from_bytes(header.as_bytes()) else { continue };
            match (value(headers, &name)?, expected) {
                (None, None) => {}
                (Some(said), Some(expected)) if expected.is_in(said) => {}
                (None, Some(expected)) => return Err(missing(&name, &expected.text)),
                (Some(said), Some(expected)) => return Err(differs(&name, said, &expected.text)),
                (Some(said), None) => {
                    return Err(mismatch(format!(
                        "the header `{name}` says `{}`, and the message nothing: leave the header out",
                        excerpt(said)
                    )));
                }
            }
        }
        Ok(())
    }
}

/// A header that may be there once.
fn value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, RequestRefusal> {
    let value = only(headers, name).map_err(|refused| mismatch(refused.problem))?;
    let text = value.map(|value| value.to_str()).transpose();
    text.map_err(|_| mismatch(format!("the header `{name}` has characters that no header may have")))
}

fn mismatch(problem: String) -> RequestRefusal {
    RequestRefusal { code: Some(HEADER_MISMATCH), ..refused(StatusCode::BAD_REQUEST, problem) }
}

fn missing(name: &HeaderName, expected: &str) -> RequestRefusal {
    mismatch(format!("the header `{name}` is missing: it must say `{}`", excerpt(expected)))
}

fn differs(name: &HeaderName, said: &str, expected: &str) -> RequestRefusal {
    let (said, expected) = (excerpt(said), excerpt(expected));
    mismatch(format!("the header `{name}` says `{said}`, and the message `{expected}`: make them equal"))
}

/// As much of a text as a refusal repeats.
fn excerpt(text: &str) -> mcp_protocol_machine::Excerpt<'_> {
    mcp_protocol_machine::Excerpt(text)
}

/// A request does not say what each request must.
fn incomplete(key: &str) -> RequestRefusal {
    let problem = format!("the request must say `_meta.\"io.modelcontextprotocol/{key}\"`");
    let refusal = refused(StatusCode::BAD_REQUEST, problem);
    RequestRefusal { code: Some(RpcError::INVALID_PARAMS), ..refusal }
}

/// A revision is neither the one that is served without a session, nor one of the others, which begin one.
fn unsupported(requested: &str, served: &str, others: &[String]) -> RequestRefusal {
    let problem = format!("the protocol version `{}` is not served here: use `{served}`", excerpt(requested));
    let supported: Vec<&str> = std::iter::once(served).chain(others.iter().map(String::as_str)).collect();
    RequestRefusal {
        code: Some(UNSUPPORTED_VERSION),
        data: Some(Box::new(json!({ "supported": supported, "requested": requested }))),
        ..refused(StatusCode::BAD_REQUEST, problem)
    }
}

/// A client begins with a handshake, and the program has none. The refusal names the version that is served.
pub(super) fn no_handshake(headers: &HeaderMap, served: &str) -> RequestRefusal {
    match text(headers, &VERSION_HEADER) {
        Some(requested) if requested != served => unsupported(requested, served, &[]),
        _ => mismatch(format!(
            "there is no handshake here: every request says the protocol version, `{served}`, in the header \
             `{PROTOCOL_VERSION}` and in `_meta`"
        )),
    }
}

/// The status of the answer to a request without a session that is an error.
pub(super) fn status_of(error: &[u8]) -> StatusCode {
    let code = match parse(error, usize::MAX, ANY_DIALECT) {
        Ok(Envelope::Error { error, .. } | Envelope::Complaint { error }) => error.code,
        _ => return StatusCode::OK,
    };
    match code {
        RpcError::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        HEADER_MISMATCH
        | MISSING_CAPABILITY
        | UNSUPPORTED_VERSION
        | RpcError::PARSE_ERROR
        | RpcError::INVALID_REQUEST => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
