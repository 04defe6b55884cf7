//! Limits that several sessions share.

use crate::budget::Account;

/// Limits that a session shares with others, as the sessions of one HTTP server do. By default there are none.
///
/// A transport returns them from [`Transport::limits`](super::Transport::limits).
#[derive(Clone, Debug, Default)]
pub struct SharedLimits {
    /// How many handlers of requests, and of sub-sessions that the peer opened, may run.
    pub(crate) handlers: Account,
    /// How many bytes the messages of the peer may have that wait or are being worked on.
    pub(crate) bytes: Account,
}
