//! Answers of the guard itself.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode};
use mcp_runtime::RpcError;
use serde_json::Value;

use super::guarded::Guarded;
use crate::guard::judge::Judgement;

/// A JSON-RPC message as an answer.
pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An error that belongs to no request.
pub(super) fn error(guarded: &Guarded, status: StatusCode, error: &RpcError) -> Response<Body> {
    json(status, guarded.sessions.error(error))
}

/// Several messages as one body: a batch, unless there is one.
pub(super) fn body_of(mut messages: Vec<Vec<u8>>) -> Vec<u8> {
    match messages.len() {
        1 => messages.pop().unwrap_or_default(),
        _ => [&b"["[..], &messages.join(&b','), b"]"].concat(),
    }
}

/// The answer to a message that is not passed on.
///
/// A request of a session gets its error as any reply. What is not answered by a reply gets a status, and so does a request
/// that stands for itself, as that revision has it.
pub(super) fn refused(
    guarded: &Guarded,
    judgement: Judgement,
    stands_alone: bool,
    is_long: bool,
) -> Response<Body> {
    if judgement.answers.is_empty() {
        let remarks: Vec<String> = judgement.remarks.into_iter().map(|remark| remark.text).collect();
        let problem = RpcError::invalid_request(remarks.join("; "));
        return error(guarded, StatusCode::BAD_REQUEST, &problem);
    }
    let body = body_of(judgement.answers);
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let code = message.pointer("/error/code").and_then(Value::as_i64);
    let status = match (is_long, stands_alone, message.get("id"), code) {
        (true, ..) => StatusCode::PAYLOAD_TOO_LARGE,
        (_, true, _, Some(RpcError::METHOD_NOT_FOUND)) => StatusCode::NOT_FOUND,
        (_, true, ..) | (_, _, Some(Value::Null), _) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    json(status, body)
}
