//! [`SessionIdentity`]: how requests name the session.

use reqwest::header::HeaderValue;

use crate::driver::Epoch;

/// The session, as the server knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionIdentity {
    pub(super) id: Option<HeaderValue>,
    pub(super) version: Option<HeaderValue>,
    /// Changes when the client reconnects.
    pub(super) epoch: Epoch,
}

/// Marks the id of a session as secret, because knowing it suffices to send in the session. It is copied, because a
/// header is a part of the buffer that an answer was read into, and would keep all of it.
pub(super) fn secret(id: &HeaderValue) -> HeaderValue {
    let mut id = HeaderValue::from_bytes(id.as_bytes()).unwrap_or_else(|_| id.clone());
    id.set_sensitive(true);
    id
}
