//! The errors that answer requests which the protocol does not permit, or which will not be worked on.

use mcp_protocol_machine::protocol::MessageIndex;
use mcp_protocol_machine::{Expected, Violation, ViolationKind};

use super::Rules;
use crate::error::either;
use crate::jsonrpc::path::find;
use crate::jsonrpc::{RpcError, undecodable};
use crate::report::DropReason;

/// The error that tells a peer that a request will not be worked on.
pub(crate) fn not_worked_on(rules: &Rules, message: MessageIndex, cause: DropReason) -> RpcError {
    match cause {
        DropReason::QueueFull => RpcError::busy("too many requests are waiting: try again later"),
        DropReason::TooMany => RpcError::busy("too many requests are unanswered: try again later"),
        DropReason::TooFast => RpcError::busy("too many requests in too short a time: try again later"),
        DropReason::TooManyBytes => RpcError::busy("too many bytes are waiting: try again later"),
        DropReason::TooManyHandlers => RpcError::busy("too many handlers are running: try again later"),
        DropReason::Unattended => RpcError::method_not_found(&rules.method(message)),
        DropReason::Abandoned
        | DropReason::Closed
        | DropReason::PassedOver
        | DropReason::PeerClosed
        | DropReason::TooLate
        | DropReason::IdInUse => RpcError::internal_error("the request was dropped unanswered"),
    }
}

/// The error that answers a request whose params cannot be read. Where each request says its version, one that says none may
/// be of a peer that means another revision.
pub(crate) fn unreadable(
    rules: &Rules,
    message: MessageIndex,
    params: Option<&str>,
    error: &serde_json::Error,
) -> RpcError {
    let method = rules.method(message);
    let place = rules.protocol.version_of_each_request().zip(rules.protocol.version.as_deref());
    let Some((place, version)) =
        place.filter(|(place, _)| params.and_then(|params| find(params, &place.path)).is_none())
    else {
        return undecodable(&method, error);
    };
    let mut problem = format!("`{method}` does not say its version: write `{version}` into `{place}`");
    if let Some((begins_with, versions)) = rules.options.other_sessions(|_| true) {
        let versions = either(&versions);
        let beginning = format!(", or begin a connection with `{begins_with}`, as in version {versions}");
        problem.push_str(&beginning);
    }
    RpcError::invalid_params(problem)
}

/// The error that answers a request which is a violation. A method that only other revisions have may be of a peer that means
/// one of these.
pub(crate) fn answer_to(rules: &Rules, violation: &Violation) -> RpcError {
    let mut answer = refusal(violation);
    if violation.kind == ViolationKind::UnknownMethod
        && rules.protocol.version_of_each_request().is_some()
        && let Some((begins_with, versions)) =
            rules.options.other_sessions(|revision| revision.has_method(&violation.got.method))
    {
        let versions = either(&versions);
        let more = format!("; it is one in version {versions}, whose sessions begin with `{begins_with}`");
        answer.message.push_str(&more);
    }
    answer
}

/// The error that tells a peer of a refused request: the sentence, and the same as data.
pub(crate) fn refusal(violation: &Violation) -> RpcError {
    if let ViolationKind::Misshapen { mismatch } = &violation.kind {
        let data = serde_json::json!({
            "path": mismatch.path,
            "expected": mismatch.expected,
            "found": mismatch.found,
        });
        return RpcError::new(violation.error_code(), violation.to_string()).with_data(data);
    }
    let methods = |messages: &[Expected]| -> Vec<String> {
        let mut methods: Vec<String> = Vec::new();
        for message in messages {
            if !methods.iter().any(|method| *method == *message.method) {
                methods.push(message.method.to_string());
            }
        }
        methods
    };
    let states: Vec<&str> = violation.states.iter().map(|state| &**state).collect();
    let mut data = serde_json::json!({
        "state": states.join(" and "),
        "expected": methods(&violation.expected),
    });
    // Where it is the other side's turn, nothing is expected of this one but to wait.
    if let Some(data) = data.as_object_mut().filter(|_| !violation.awaited.is_empty()) {
        data.insert("awaited".to_owned(), methods(&violation.awaited).into());
    }
    RpcError::new(violation.error_code(), violation.to_string()).with_data(data)
}
