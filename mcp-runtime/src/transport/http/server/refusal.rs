//! [`RequestRefusal`]: why a request is not served.

use axum::http::StatusCode;
use mcp_protocol_machine::RequestId;
use serde_json::Value;

use crate::jsonrpc::{ANY_DIALECT, Envelope, Seems, parse};
use crate::options::Options;

/// The refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestRefusal {
    pub(super) status: StatusCode,
    pub(super) problem: String,
    /// The id of the request that this is the answer of, where that has been read.
    pub(super) id: Option<RequestId>,
    /// The setting whose limit it goes beyond, if that is why.
    pub(super) limit: Option<&'static str>,
    /// The code of the error, if it is not that of the status.
    pub(super) code: Option<i64>,
    /// The data of the error.
    pub(super) data: Option<Box<Value>>,
    /// The methods that are served, if that is what is refused.
    pub(super) allow: &'static str,
}

/// The methods of a server with sessions.
const METHODS: &str = "GET, POST, DELETE";

/// Refuses a request with a status.
pub(super) fn refused(status: StatusCode, problem: impl Into<String>) -> RequestRefusal {
    RequestRefusal {
        status,
        problem: problem.into(),
        id: None,
        limit: None,
        code: None,
        data: None,
        allow: METHODS,
    }
}

impl RequestRefusal {
    /// Answers the posted request with this refusal, if it was a request, so that a client that matches answers by id
    /// receives it.
    pub(super) fn about(self, message: &[u8]) -> RequestRefusal {
        match parse(message, Options::MAX_DEPTH, ANY_DIALECT) {
            Ok(Envelope::Request { id, .. }) => RequestRefusal { id: Some(id), ..self },
            Ok(_) => self,
            Err(malformed) => {
                RequestRefusal { id: malformed.id.filter(|_| malformed.seems != Seems::Reply), ..self }
            }
        }
    }
}
