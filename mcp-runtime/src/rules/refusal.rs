//! The errors that answer requests which the protocol does not permit, or which will not be worked on.

use mcp_protocol_machine::protocol::MessageIndex;
use mcp_protocol_machine::{Expected, Violation, ViolationKind};

use super::Rules;
use crate::jsonrpc::RpcError;
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
        | DropReason::IdInUse => RpcError::internal_error("the request was dropped unanswered"),
    }
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
