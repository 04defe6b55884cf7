//! What the sessions of a server hold together.

use std::sync::Arc;

use axum::http::StatusCode;
use tokio::sync::Notify;

use super::guard::{Refused, refused};
use super::options::ServerOptions;
use crate::budget::{Account, Budget, Exhausted, Permit};
use crate::driver::SharedLimits;

/// The budgets of a server.
#[derive(Debug)]
pub(super) struct Quotas {
    sessions: Budget,
    handlers: Budget,
    /// Notified when a session's code has returned.
    returned: Arc<Notify>,
}

impl Quotas {
    pub(super) fn new(options: &ServerOptions) -> Quotas {
        Quotas {
            sessions: Budget::new("max_sessions", options.max_sessions),
            handlers: Budget::new("max_handlers", options.max_handlers),
            returned: Arc::default(),
        }
    }

    /// Counts one more session, until its code has returned.
    pub(super) fn session(&self) -> Result<SessionSlot, Refused> {
        let permit = Account::of([self.sessions.clone()]).take(1).map_err(too_many)?;
        Ok(SessionSlot { permit: Some(permit), returned: Arc::clone(&self.returned) })
    }

    /// What the engine of a session may hold.
    pub(super) fn limits(&self) -> SharedLimits {
        SharedLimits { handlers: Account::of([self.handlers.clone()]) }
    }

    /// Waits until the code of every session has returned.
    pub(super) async fn all_returned(&self) {
        loop {
            let mut returned = std::pin::pin!(self.returned.notified());
            returned.as_mut().enable();
            if self.sessions.held() == 0 {
                return;
            }
            returned.await;
        }
    }
}

/// The place of one session, held by the task that runs its code.
#[derive(Debug)]
pub(super) struct SessionSlot {
    permit: Option<Permit>,
    returned: Arc<Notify>,
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        drop(self.permit.take());
        self.returned.notify_waiters();
    }
}

/// A client may try again once others hold less.
fn too_many(exhausted: Exhausted) -> Refused {
    refused(StatusCode::SERVICE_UNAVAILABLE, exhausted.to_string())
}
