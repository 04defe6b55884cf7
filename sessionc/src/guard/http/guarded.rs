//! What all requests share.

use super::sessions::Sessions;
use super::upstream::Upstream;
use crate::guard::judge::Policy;

/// The server, its sessions, and how much of a message is judged.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) sessions: Sessions,
    pub(super) upstream: Upstream,
    /// How many bytes a message may have that is judged.
    pub(super) limit: usize,
}

impl Guarded {
    pub(super) fn new(sessions: Sessions, upstream: Upstream, limit: usize) -> Guarded {
        Guarded { sessions, upstream, limit }
    }

    /// Why a message is not judged that is too long.
    pub(super) fn too_long(&self) -> String {
        format!(
            "a message is longer than {} bytes and is not judged: allow more with `--max-message`",
            self.limit
        )
    }

    /// Whether what cannot be judged is stopped.
    pub(super) fn enforces(&self) -> bool {
        self.sessions.policy() != Policy::Observe
    }
}
