//! [`RequestHead`]: the head of an HTTP request, for handlers.

use std::fmt;
use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};

use super::identity::ClientIdentity;
use crate::budget::Permit;

/// How many bytes of a head are not counted against `max_bytes`.
pub(super) const UNCOUNTED: usize = 4 * 1024;

/// The head of a request: its headers, and what the layers in front of the server have put into its extensions.
///
/// That of the request which began a session is [`HttpSession::request`](super::HttpSession::request). A handler gets
/// that of the request which carried its message from its context:
///
/// ```ignore
/// let head = context.extension::<RequestHead>();
/// let user = head.as_ref().and_then(|head| head.extensions().get::<User>());
/// ```
pub struct RequestHead {
    pub(super) parts: Parts,
    pub(super) identity: ClientIdentity,
    /// What it holds beyond [`UNCOUNTED`] bytes.
    pub(super) _permit: Permit,
}

impl RequestHead {
    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// What layers have put there, such as who asks.
    pub fn extensions(&self) -> &Extensions {
        &self.parts.extensions
    }

    /// The address that the request comes from, as far as that is known; see
    /// [`ServerOptions::trusted_proxies`](super::ServerOptions::trusted_proxies).
    pub fn address(&self) -> Option<IpAddr> {
        self.identity.address
    }

    /// The principal that makes the request, as [`ServerOptions::principal`](super::ServerOptions::principal()) names it.
    pub fn principal(&self) -> Option<&str> {
        self.identity.principal.as_deref()
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers may carry secrets.
        formatter.debug_struct("RequestHead").field("address", &self.identity.address).finish_non_exhaustive()
    }
}

/// How many bytes a head has, about.
pub(super) fn length(parts: &Parts) -> usize {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>() + target
}
