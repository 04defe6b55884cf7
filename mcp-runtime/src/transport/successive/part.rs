//! The transport of one of several sessions.

use std::sync::Arc;

use super::connection::{Connection, PartOutlet, SessionName};
use crate::driver::{Clocked, Endpoint, Finish, Outcome, SharedLimits, Transport};

/// One session of a [`Successive`](super::Successive) connection.
pub struct Part {
    session: SessionName,
    connection: Arc<Connection>,
    /// Whether a session has been started over it.
    runs: bool,
}

impl Part {
    pub(super) fn new(session: SessionName, connection: Arc<Connection>) -> Part {
        Part { session, connection, runs: false }
    }

    /// The method of the peer's message that has begun the session. `None` if this side has begun it, or if the peer began
    /// with something that has no method.
    pub fn begins_with(&self) -> Option<&str> {
        self.session.method.as_deref()
    }
}

impl Transport for Part {
    async fn run(mut self, endpoint: Arc<dyn Endpoint>) {
        self.runs = true;
        let (number, connection) = (self.session.number, &self.connection);
        connection.started().await;
        endpoint.attach(Box::new(PartOutlet { number, connection: Arc::clone(connection) }));
        connection.attach(number, &endpoint);
        let mut session = Clocked::new(endpoint);
        let outcome = tokio::select! {
            biased;
            finish = session.finish() => {
                connection.finish(number, finish);
                tokio::select! {
                    outcome = connection.outcome() => outcome,
                    () = session.abandoned(), if finish != Finish::Abandoned => {
                        connection.finish(number, Finish::Abandoned);
                        tokio::select! {
                            outcome = connection.outcome() => outcome,
                            () = connection.superseded(number) => Outcome::Closed,
                        }
                    }
                    () = connection.superseded(number) => Outcome::Closed,
                }
            }
            outcome = connection.outcome() => outcome,
        };
        session.terminate(outcome);
    }

    fn is_ordered(&self) -> bool {
        self.connection.is_ordered
    }

    fn limits(&self) -> SharedLimits {
        self.connection.limits.clone()
    }
}

impl Drop for Part {
    /// A part that is dropped before its session was started ends the connection, as a session does that is dropped.
    fn drop(&mut self) {
        if !self.runs {
            self.connection.finish(self.session.number, Finish::Abandoned);
        }
    }
}

impl std::fmt::Debug for Part {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Part").field("session", &self.session).finish_non_exhaustive()
    }
}
