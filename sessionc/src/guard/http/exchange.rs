//! One request and its answer.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderName};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, response};
use mcp_protocol_machine::protocol::Side;
use mcp_runtime::RpcError;

use super::body::Collected;
use super::guarded::Guarded;
use super::refusal::{error, json, refused};
use super::reply::{AwaitedAnswer, Reply};
use super::sessions::{Belongs, SESSION};
use super::upstream::{end_to_end, readable, without_length};
use crate::content_kind::ContentKind;
use crate::guard::head::requests_in;
use crate::guard::judge::{Forward, Passed};

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Answers a request of a client.
pub(super) async fn handle(State(guarded): State<Arc<Guarded>>, request: Request<Body>) -> Response<Body> {
    let is_endpoint = guarded.upstream.is_endpoint(request.uri().path());
    let (mut parts, body) = request.into_parts();
    match parts.method {
        Method::POST if is_endpoint => post(guarded, parts, body).await,
        Method::GET if is_endpoint => get(guarded, parts, body).await,
        Method::DELETE if is_endpoint => delete(&guarded, parts, body).await,
        _ => {
            parts.headers = end_to_end(parts.headers);
            relay(&guarded, parts, body).await.unwrap_or_else(|problem| unreachable(&guarded, problem))
        }
    }
}

/// Passes a request for the endpoint on, and its answer back, without judging them. Reports it if there is no answer.
async fn pass(guarded: &Guarded, parts: Parts, body: Body) -> Result<Response<Body>, String> {
    relay(guarded, parts, body).await.inspect_err(|problem| guarded.failures.report(problem))
}

/// The same. If there is no answer, the client gets an error.
async fn pass_unjudged(guarded: &Guarded, parts: Parts, body: Body) -> Response<Body> {
    pass(guarded, parts, body).await.unwrap_or_else(|problem| unreachable(guarded, problem))
}

/// Passes a request on, and its answer back.
async fn relay(guarded: &Guarded, parts: Parts, body: Body) -> Result<Response<Body>, String> {
    let response = guarded.upstream.send(Request::from_parts(parts, body)).await?;
    let (mut parts, body) = response.into_parts();
    parts.headers = end_to_end(parts.headers);
    Ok(Response::from_parts(parts, body))
}

fn unreachable(guarded: &Guarded, problem: String) -> Response<Body> {
    error(guarded, StatusCode::BAD_GATEWAY, &RpcError::internal_error(problem))
}

/// The answer in a session that the guard does not know. A client begins a new one then.
fn unknown(guarded: &Guarded) -> Response<Body> {
    let problem = "the guard does not know this session: begin a new one";
    error(guarded, StatusCode::NOT_FOUND, &RpcError::new(-32001, problem))
}

/// A message of the client.
async fn post(guarded: Arc<Guarded>, mut parts: Parts, body: Body) -> Response<Body> {
    let collected = match Collected::read(body, guarded.limit).await {
        Ok(collected) => collected,
        // The client is gone, most likely.
        Err(problem) => {
            let problem = RpcError::parse_error(problem.to_string());
            return error(&guarded, StatusCode::BAD_REQUEST, &problem);
        }
    };
    let id = parts.headers.get(SESSION).map(|id| id.as_bytes().to_vec());
    let belongs = match &id {
        Some(id) => guarded.sessions.find(id),
        None => match guarded.sessions.begin(collected.beginning()) {
            Ok(begun) => begun,
            Err(problem) => return unreachable(&guarded, problem.to_string()),
        },
    };
    let (session, opens, stands_alone) = match belongs {
        Belongs::To { session, opens, stands_alone } => (session, opens, stands_alone),
        Belongs::Unknown if guarded.enforces() => return unknown(&guarded),
        Belongs::Unknown => {
            parts.headers = end_to_end(parts.headers);
            return pass_unjudged(&guarded, parts, collected.into_body()).await;
        }
    };
    let is_compressed = parts.headers.contains_key(CONTENT_ENCODING);
    let problem = match &collected {
        _ if is_compressed => Some("a compressed message is not judged: send it uncompressed".to_owned()),
        Collected::Long(..) => Some(guarded.too_long()),
        Collected::Whole(_) => None,
    };
    let judgement = {
        let mut judged = session.lock();
        let stream = judged.stream();
        match &problem {
            Some(problem) => judged.session.unjudged(Side::Client, collected.beginning(), problem),
            None => judged.session.take(Side::Client, stream, collected.beginning()),
        }
    };
    let opens = opens && judgement.remarks.is_empty();
    let opening = opens.then(|| collected.beginning().to_vec());
    let asked = requests_in(collected.beginning());
    parts.headers = readable(parts.headers);
    let body = match judgement.forward {
        Forward::Nothing => return refused(&guarded, judgement, stands_alone, problem.is_some()),
        Forward::Whole => collected.into_body(),
        Forward::Part(batch) => {
            parts.headers = without_length(parts.headers);
            Body::from(batch)
        }
    };
    let stream = session.lock().stream();
    let reply = Reply {
        guarded: Arc::clone(&guarded),
        session: session.clone(),
        stream,
        asked,
        sent: judgement.passed,
        opening,
        errors: judgement.answers,
        uri: parts.uri.clone(),
        headers: without_length(parts.headers.clone()),
    };
    let awaited = AwaitedAnswer::new(&reply);
    let response = match pass(&guarded, parts, body).await {
        Ok(response) => response,
        Err(problem) => {
            awaited.has_come();
            return json(StatusCode::BAD_GATEWAY, reply.fail(&problem));
        }
    };
    match (&id, response.headers().get(SESSION)) {
        (None, Some(given)) if response.status().is_success() => {
            guarded.sessions.insert(given.as_bytes().to_vec(), session);
            judge(Reply { opening: None, ..reply }, response, awaited).await
        }
        (Some(id), _) if response.status() == StatusCode::NOT_FOUND => {
            guarded.sessions.end(id);
            judge(reply, response, awaited).await
        }
        _ => judge(reply, response, awaited).await,
    }
}

/// Judges the answer to a message of the client.
async fn judge(mut reply: Reply, response: Response<Body>, awaited: AwaitedAnswer) -> Response<Body> {
    let (content, status) = (ContentKind::of(response.headers()), response.status());
    let guarded = Arc::clone(&reply.guarded);
    if is_compressed(response.headers()) {
        awaited.has_come();
        return unreadable(reply, response, "a compressed answer is not judged");
    }
    if content == ContentKind::Events && status.is_success() {
        awaited.has_come();
        return judge_events(reply, response);
    }
    let (parts, body) = response.into_parts();
    let collected = Collected::read(body, guarded.limit).await;
    awaited.has_come();
    let collected = match collected {
        Ok(collected) => collected,
        Err(problem) => {
            let problem = guarded.failures.broke_off(&problem);
            return json(StatusCode::BAD_GATEWAY, reply.fail(&problem));
        }
    };
    // No client takes it for an answer by its content type.
    let is_of_other_kind = content != ContentKind::Message && status.is_success() && !reply.asked.is_empty();
    if is_of_other_kind && reply.errors.is_empty() {
        reply.mistake_of_form(&parts.headers, collected.beginning());
    }
    // A client may read the reply all the same.
    let may_be_read = is_of_other_kind && collected.beginning().trim_ascii_start().starts_with(b"{");
    match collected {
        Collected::Long(..) if content == ContentKind::Message || may_be_read || !reply.errors.is_empty() => {
            let response = Response::from_parts(parts, collected.into_body());
            unreadable(reply, response, &guarded.too_long())
        }
        Collected::Whole(bytes)
            if content == ContentKind::Message && (status.is_success() || reply.is_answered_by(&bytes))
                || !reply.errors.is_empty() =>
        {
            let is_answered = reply.is_answered_by(&bytes);
            if is_rejected(status, is_answered) {
                reply.rejected(status, &parts.headers, &bytes);
            }
            let (passed, bytes) = reply.message(status, bytes);
            if is_rejected(status, is_answered) {
                reply.withdraw(&rejected(status));
            }
            with_body(parts, passed, bytes)
        }
        Collected::Whole(bytes) if may_be_read => {
            let (passed, bytes) = reply.message(status, bytes);
            with_body(parts, passed, bytes)
        }
        collected => {
            if is_rejected(status, false) {
                // The status rejects what was sent, whatever the body says.
                reply.rejected(status, &parts.headers, collected.beginning());
                reply.withdraw(&rejected(status));
            }
            Response::from_parts(parts, collected.into_body())
        }
    }
}

/// An answer of the server with the body that is passed on.
fn with_body(mut parts: response::Parts, status: StatusCode, body: Bytes) -> Response<Body> {
    parts.status = status;
    parts.headers = without_length(parts.headers);
    Response::from_parts(parts, Body::from(body))
}

/// Whether a status says that the server has not received what it was sent. Where clients send a message again because of
/// its status, the body does not matter.
fn is_rejected(status: StatusCode, is_answered: bool) -> bool {
    let is_sent_again = matches!(
        status,
        StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::SERVICE_UNAVAILABLE
    );
    !status.is_success() && (is_sent_again || !is_answered)
}

fn rejected(status: StatusCode) -> String {
    format!("the server has answered with the status {status}")
}

/// An answer that cannot be judged passes, or is replaced by an error.
fn unreadable(reply: Reply, response: Response<Body>, problem: &str) -> Response<Body> {
    let judgement = reply.session.lock().session.unjudged(Side::Server, b"", problem);
    match judgement.forward {
        Forward::Whole => response,
        _ => json(StatusCode::BAD_GATEWAY, reply.fail(problem)),
    }
}

/// A stream of messages that the server sends of its own accord, or a stream that is resumed.
async fn get(guarded: Arc<Guarded>, mut parts: Parts, body: Body) -> Response<Body> {
    let belongs = match parts.headers.get(SESSION) {
        Some(id) => guarded.sessions.find(id.as_bytes()),
        None => match guarded.sessions.begin(b"") {
            Ok(begun) => begun,
            Err(problem) => return unreachable(&guarded, problem.to_string()),
        },
    };
    parts.headers = readable(parts.headers);
    let Belongs::To { session, .. } = belongs else {
        if guarded.enforces() {
            return unknown(&guarded);
        }
        return pass_unjudged(&guarded, parts, body).await;
    };
    let (uri, mut headers) = (parts.uri.clone(), parts.headers.clone());
    let response = match pass(&guarded, parts, body).await {
        Ok(response) => response,
        Err(problem) => return unreachable(&guarded, problem),
    };
    if ContentKind::of(response.headers()) != ContentKind::Events || !response.status().is_success() {
        return response;
    }
    let stream = match headers.remove(LAST_EVENT) {
        Some(last) => session.lock().resumed(last.as_bytes()),
        None => session.lock().stream(),
    };
    let headers = without_length(headers);
    let reply = Reply {
        guarded,
        session,
        stream,
        asked: Vec::new(),
        sent: Passed::default(),
        opening: None,
        errors: Vec::new(),
        uri,
        headers,
    };
    if is_compressed(response.headers()) {
        return unreadable(reply, response, "a compressed answer is not judged");
    }
    judge_events(reply, response)
}

/// An answer that is judged event by event. What is stopped changes its length.
fn judge_events(reply: Reply, mut response: Response<Body>) -> Response<Body> {
    if reply.guarded.enforces() {
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    response.map(|body| reply.stream(body))
}

/// The client ends its session.
async fn delete(guarded: &Guarded, mut parts: Parts, body: Body) -> Response<Body> {
    let id = parts.headers.get(SESSION).map(|id| id.as_bytes().to_vec());
    parts.headers = end_to_end(parts.headers);
    let response = pass_unjudged(guarded, parts, body).await;
    let is_gone = response.status().is_success() || response.status() == StatusCode::NOT_FOUND;
    if let Some(id) = id.filter(|_| is_gone) {
        guarded.sessions.end(&id);
    }
    response
}

fn is_compressed(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity")
}
