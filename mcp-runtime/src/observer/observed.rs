//! What an observer says of one message.

use mcp_protocol_machine::protocol::{MessageIndex, Side};
use mcp_protocol_machine::{RequestId, StepKind, Token, Violation};

use crate::jsonrpc::RpcError;
use crate::report::Report;
use crate::rules::refusal::refusal;

/// What a message is, as far as its form goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObservedKind {
    /// It has a method and an id.
    Request,
    /// It has a method and no id.
    Notification,
    /// It has an id and a result.
    Result,
    /// It has an error.
    Error,
    /// It is not a JSON-RPC message.
    Malformed,
}

/// What an [`Observer`](crate::observer::Observer) says of one message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Observed {
    /// Which side sent it.
    pub sender: Side,
    /// What it is.
    pub kind: ObservedKind,
    /// Its id, if it has one that can be read.
    pub id: Option<RequestId>,
    /// Which message of the protocol it is, where that is known.
    pub message: Option<MessageIndex>,
    /// The request that it replies to, cancels or reports on, where that is known.
    pub about: Option<RequestId>,
    /// The token that it carries: as a request for reports on it, as a report for the request that it is about.
    pub token: Option<Token>,
    /// The error, if it is one.
    pub error: Option<RpcError>,
    /// What it did to the session; nothing if it was not accepted.
    pub step: Option<StepKind>,
    /// What is wrong with it, or worth knowing.
    pub reports: Vec<Report>,
}

impl Observed {
    pub(super) fn new(sender: Side, kind: ObservedKind, id: Option<RequestId>) -> Observed {
        Observed {
            sender,
            kind,
            id,
            message: None,
            about: None,
            token: None,
            error: None,
            step: None,
            reports: Vec::new(),
        }
    }

    /// Whether the message follows the protocol, and there is nothing to say about it.
    pub fn is_clean(&self) -> bool {
        self.reports.is_empty()
    }

    /// The violation that the message is, if the protocol does not permit it.
    pub fn violation(&self) -> Option<&Violation> {
        self.reports.iter().find_map(|report| match report {
            Report::Violation(violation) => Some(violation),
            _ => None,
        })
    }

    /// The error that refuses the message, if it is a request that is not permitted or not a message at all.
    pub fn refusal(&self) -> Option<RpcError> {
        self.reports.iter().find_map(|report| match report {
            Report::Violation(violation) => Some(refusal(violation)),
            Report::Malformed { error, .. } => Some(error.clone()),
            _ => None,
        })
    }
}

/// A request that has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unanswered {
    /// Which side sent it.
    pub sender: Side,
    /// Its id.
    pub id: RequestId,
    /// Which message of the protocol it is.
    pub message: MessageIndex,
    /// It has opened a sub-session in which its receiver says more than the reply, such as a subscription: it may stay
    /// without a reply until the sub-session ends.
    pub stays_open: bool,
}
