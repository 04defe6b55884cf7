//! Judges the answer to a request: one message, or a stream of events.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::uri::Uri;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use futures_util::{StreamExt, stream};
use mcp_protocol_machine::protocol::Side;
use mcp_runtime::{RequestId, RpcError};

use super::guarded::Guarded;
use super::refusal::body_of;
use super::sessions::{HttpSession, SESSION};
use crate::content_kind::mistake_of_kind;
use crate::event_stream::{Event, EventCutter, Piece};
use crate::guard::head::EnvelopeHead;
use crate::guard::judge::{Forward, Judgement, Passed};
use crate::trace::stream_progress::StreamNumber;

/// What is wrong with an answer without a body.
const IS_EMPTY: &str = "is empty: send the reply in it";

/// The answer to one request, while it is judged.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) guarded: Arc<Guarded>,
    pub(super) session: HttpSession,
    /// The stream of messages that the answer is.
    pub(super) stream: StreamNumber,
    /// The ids of the requests that it may answer.
    pub(super) asked: Vec<RequestId>,
    /// What the server was sent, as it was judged.
    pub(super) sent: Passed,
    /// The request, if it may begin a session without an id.
    pub(super) opening: Option<Vec<u8>>,
    /// Errors that answer what was not passed on of a batch.
    pub(super) errors: Vec<Vec<u8>>,
    /// With which the server can be sent something else in the same session.
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
}

/// Reports that the client has not waited for the answer, unless that has come.
#[derive(Debug)]
pub(super) struct AwaitedAnswer {
    /// Nothing if it has come.
    session: Option<HttpSession>,
    asked: Vec<RequestId>,
}

impl AwaitedAnswer {
    pub(super) fn new(reply: &Reply) -> AwaitedAnswer {
        AwaitedAnswer { session: Some(reply.session.clone()), asked: reply.asked.clone() }
    }

    /// The answer has come, or it is known why not.
    pub(super) fn has_come(mut self) {
        self.session = None;
    }
}

impl Drop for AwaitedAnswer {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        let session = &mut session.lock().session;
        if session.awaits_any(&self.asked) {
            session.lost(&format!(
                "the server had not answered the request {} when the connection of the client was closed",
                shown(&self.asked)
            ));
        }
    }
}

/// Ids in a sentence.
fn shown(ids: &[RequestId]) -> String {
    ids.iter().map(RequestId::to_string).collect::<Vec<_>>().join(", ")
}

impl Reply {
    /// Judges one message of the server, and sends it the errors for what is stopped.
    fn judge(&mut self, message: &[u8]) -> Judgement {
        let judgement = self.session.lock().session.take(Side::Server, self.stream, message);
        if judgement.forward == Forward::Whole
            && let Some(opening) = &self.opening
            && self.guarded.sessions.remember(opening, message)
        {
            self.opening = None;
        }
        self.answer_server(&judgement.answers);
        judgement
    }

    fn answer_server(&self, answers: &[Vec<u8>]) {
        for answer in answers {
            let mut request = Request::new(Body::from(answer.clone()));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = self.uri.clone();
            *request.headers_mut() = self.headers.clone();
            let headers = request.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
            if !self.guarded.answer_server(request) {
                self.session.lock().session.lost("an error was dropped, because its receiver does not read");
            }
        }
    }

    /// Whether a body that comes with a status of failure answers one of the requests as a reply does.
    pub(super) fn is_answered_by(&self, body: &[u8]) -> bool {
        EnvelopeHead::of(body).id.is_some_and(|id| self.asked.contains(&id))
    }

    /// Reports an answer to a request that clients do not take for one, because of its content type.
    pub(super) fn mistake_of_form(&self, headers: &HeaderMap, body: &[u8]) {
        match body.trim_ascii().is_empty() {
            true => self.mistake_of_answer(IS_EMPTY),
            false => self.mistake_of_answer(&mistake_of_kind(headers)),
        }
    }

    fn mistake_of_answer(&self, what: &str) {
        self.mistake(&format!("the answer to the request {} {what}", self.requests()));
    }

    /// Reports what is wrong with the answer, unless the client waits for none: it has cancelled what it asked.
    fn mistake(&self, what: &str) {
        let session = &mut self.session.lock().session;
        if session.awaits_any(&self.asked) {
            session.mistake(Side::Server, what);
        }
    }

    /// The ids of the requests.
    fn requests(&self) -> String {
        shown(&self.asked)
    }

    /// Judges a body that is one message or a batch. Returns what is passed on, with its status.
    pub(super) fn message(&mut self, status: StatusCode, body: Bytes) -> (StatusCode, Bytes) {
        if body.trim_ascii().is_empty() && self.errors.is_empty() {
            if !self.asked.is_empty() && status.is_success() {
                self.mistake_of_answer(IS_EMPTY);
            }
            return (status, body);
        }
        let judgement = self.judge(&body);
        let passed: Vec<Vec<u8>> = match judgement.forward {
            Forward::Whole if self.errors.is_empty() => return (status, body),
            Forward::Whole if body.trim_ascii().is_empty() => Vec::new(),
            Forward::Whole => vec![body.to_vec()],
            Forward::Part(batch) => vec![batch],
            Forward::Nothing => Vec::new(),
        };
        let messages = [passed, judgement.replacements, self.errors.clone()].concat();
        if messages.is_empty() {
            return (
                StatusCode::BAD_GATEWAY,
                self.fail("the answer of the server does not follow the protocol").into(),
            );
        }
        let status = if status.is_success() { StatusCode::OK } else { status };
        (status, body_of(messages).into())
    }

    /// The client gets a status that is not a success: it takes what it has sent for not received, and may send it again.
    pub(super) fn withdraw(&self, why: &str) {
        self.session.lock().session.withdraw(&self.sent, why);
    }

    /// Reports that the server has rejected the message, where the client can do nothing about it.
    pub(super) fn rejected(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) {
        let has_session = self.headers.contains_key(SESSION);
        self.guarded.failures.rejected(status, headers, has_session, body);
    }

    /// Answers the requests with an error in place of the server.
    pub(super) fn fail(&self, problem: &str) -> Vec<u8> {
        self.withdraw(problem);
        let error = RpcError::internal_error(problem);
        let judged = self.session.lock();
        let answer = |id: Option<&RequestId>| judged.session.error_in_place(id, &error);
        let answers: Vec<Vec<u8>> = self.asked.iter().map(|id| answer(Some(id))).collect();
        match answers.is_empty() {
            true => answer(None),
            false => body_of([answers, self.errors.clone()].concat()),
        }
    }

    /// Judges a body that is a stream of events, while it comes.
    pub(super) fn stream(self, body: Body) -> Body {
        let limit = self.guarded.limit;
        let errors = self.errors.iter().map(|error| Event::default().with(error).into()).collect();
        let events = EventReply {
            is_answered: self.asked.is_empty() || !self.errors.is_empty(),
            reply: self,
            cutter: EventCutter::new(limit),
            ready: errors,
            long_passes: false,
        };
        let rest = Some((events, body.into_data_stream()));
        Body::from_stream(stream::try_unfold(rest, async |rest| {
            let Some((mut events, mut body)) = rest else { return Ok(None) };
            loop {
                if let Some(bytes) = events.ready.pop_front() {
                    return Ok(Some((bytes, Some((events, body)))));
                }
                match body.next().await {
                    // A client gets no part of an event that the server has not completed.
                    Some(Ok(bytes)) => events.take(&bytes),
                    Some(Err(problem)) => {
                        events.reply.guarded.failures.broke_off(&problem);
                        return Err(problem);
                    }
                    None => {
                        events.end();
                        let last = Bytes::from(events.cutter.finish());
                        return Ok::<_, axum::Error>((!last.is_empty()).then_some((last, None)));
                    }
                }
            }
        }))
    }
}

/// The events of an answer.
#[derive(Debug)]
struct EventReply {
    reply: Reply,
    cutter: EventCutter,
    /// What is to be passed on.
    ready: VecDeque<Bytes>,
    /// The long event at hand is passed on.
    long_passes: bool,
    /// A message has come that may be a reply, or an event with an id, behind which a client may go on in another stream.
    is_answered: bool,
}

impl EventReply {
    /// The server has ended the stream.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.is_answered, true) {
            self.reply.mistake(&format!(
                "the stream that answers the request {} ends without the reply: write each message behind `data: `, and a \
                 blank line behind it",
                self.reply.requests()
            ));
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        for piece in self.cutter.feed(bytes) {
            match piece {
                Piece::Event { bytes, event } => {
                    self.is_answered |= event.id.is_some();
                    let knows = |id: &_| self.reply.session.lock().knows(id, self.reply.stream);
                    let is_known = event.id.as_deref().is_some_and(knows);
                    let Some(message) = event.message().filter(|_| !is_known) else {
                        self.ready.push_back(bytes.into());
                        continue;
                    };
                    self.is_answered |= EnvelopeHead::of(message).method.is_none();
                    let judgement = self.reply.judge(message);
                    match judgement.forward {
                        Forward::Whole => self.ready.push_back(bytes.into()),
                        Forward::Part(batch) => self.ready.push_back(event.with(&batch).into()),
                        Forward::Nothing => {}
                    }
                    let replaced = judgement.replacements.iter().map(|error| event.with(error).into());
                    self.ready.extend(replaced);
                }
                Piece::Long { bytes, begins } => {
                    self.is_answered = true;
                    if begins {
                        let problem = self.reply.guarded.too_long();
                        let judgement =
                            self.reply.session.lock().session.unjudged(Side::Server, &bytes, &problem);
                        self.long_passes = judgement.forward == Forward::Whole;
                        self.reply.answer_server(&judgement.answers);
                        let event = Event::default();
                        self.ready
                            .extend(judgement.replacements.iter().map(|error| event.with(error).into()));
                    }
                    if self.long_passes {
                        self.ready.push_back(bytes.into());
                    }
                }
            }
        }
    }
}
