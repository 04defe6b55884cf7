//! [`ResourceNotFound`]: the error of a URI at which there is nothing.

use std::error::Error;
use std::fmt;

use mcp_runtime::RpcError;
use mcp_runtime::error::Excerpt;
use serde_json::json;

use super::super::failure::{Failure, refusal};

/// The code of the error in revisions with a handshake.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// Nothing is at a URI. [`Resource::read`](crate::Resource::read) and [`watch`](crate::Resource::watch) return it; the client gets
/// it with the code that its revision has for it: -32002 before 2026-07-28, and -32602 from then on.
///
/// ```
/// # use mcp_kit::types::ResourceContents;
/// # use mcp_kit::{Failure, ResourceNotFound, text_at};
/// fn read(notes: &[String], id: usize, uri: &str) -> Result<ResourceContents, Failure> {
///     let note = notes.get(id).ok_or(ResourceNotFound::at(uri))?;
///     Ok(text_at(uri, note))
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceNotFound {
    uri: String,
}

impl ResourceNotFound {
    /// Nothing is at this URI.
    pub fn at(uri: impl Into<String>) -> ResourceNotFound {
        ResourceNotFound { uri: uri.into() }
    }

    /// The error as a client of a revision gets it.
    fn of_revision(self, version: &str) -> RpcError {
        let (text, data) = (self.to_string(), json!({ "uri": self.uri }));
        let error = match version < "2026-07-28" {
            true => RpcError::new(RESOURCE_NOT_FOUND, text),
            false => RpcError::invalid_params(text),
        };
        error.with_data(data)
    }
}

impl fmt::Display for ResourceNotFound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no resource is at `{}`", Excerpt(&self.uri))
    }
}

impl Error for ResourceNotFound {}

/// The reply to a request for a resource that has failed, for a client of a revision.
pub(super) fn resource_refusal(failure: Failure, version: &str) -> RpcError {
    match failure.downcast::<ResourceNotFound>() {
        Ok(not_found) => not_found.of_revision(version),
        Err(failure) => refusal(failure),
    }
}
