//! What all requests share.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::failures::Failures;
use super::sessions::Sessions;
use super::upstream::Upstream;
use crate::guard::judge::Policy;

/// How many errors may be on their way to the server.
const ANSWERS: usize = 64;
/// How long the server may take to accept one.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(10);

/// The server, its sessions, and how much of a message is judged.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) sessions: Sessions,
    pub(super) upstream: Upstream,
    /// How many bytes a message may have that is judged.
    pub(super) limit: usize,
    pub(super) failures: Failures,
    answers: Arc<Semaphore>,
}

impl Guarded {
    pub(super) fn new(sessions: Sessions, upstream: Upstream, limit: usize, failures: Failures) -> Guarded {
        Guarded { sessions, upstream, limit, failures, answers: Arc::new(Semaphore::new(ANSWERS)) }
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

    /// Sends the server an error for one of its requests. Returns whether there was room for it.
    pub(super) fn answer_server(&self, request: Request<Body>) -> bool {
        let Ok(permit) = Arc::clone(&self.answers).try_acquire_owned() else { return false };
        let upstream = self.upstream.clone();
        tokio::spawn(async move {
            // Whether the server accepts it is its own business.
            drop(timeout(ACCEPTED_WITHIN, upstream.send(request)).await);
            drop(permit);
        });
        true
    }
}
