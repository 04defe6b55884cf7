//! The connection's side: what it takes for one session is the one that is current.

use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

use super::connection::Connection;
use crate::driver::{
    Aside, Delivery, Endpoint, Outlet, Received, SessionInfo, SessionStatus, TransportEvent,
};

/// How long a message may be that is looked at, in bytes: what sessions read by default.
const LONGEST: usize = 16 * 1024 * 1024;

/// All sessions of a connection, as its transport sees them.
pub(super) struct Whole {
    connection: Arc<Connection>,
}

impl Whole {
    pub(super) fn new(connection: Arc<Connection>) -> Whole {
        Whole { connection }
    }
}

impl Endpoint for Whole {
    fn attach(&self, outlet: Box<dyn Outlet>) {
        self.connection.set_outlet(outlet);
    }

    fn receive(&self, delivery: Delivery<'_>, now: Instant) -> Received {
        if self.connection.is_settled()
            && let Some(endpoint) = self.connection.endpoint()
        {
            return endpoint.receive(delivery, now);
        }
        delivery.frames(LONGEST, |frame| self.connection.receive(frame, now));
        Received::default()
    }

    fn notify(&self, event: TransportEvent<'_>) {
        match event {
            TransportEvent::Terminated(outcome) => self.connection.terminated(outcome),
            event => self.connection.notify(event),
        }
    }

    /// Each session has a clock of its own.
    fn status(&self, context: &mut Context<'_>) -> SessionStatus {
        SessionStatus::new().with_finish(self.connection.poll_finish(context))
    }

    fn tick(&self, _: Instant) {}

    fn info(&self) -> SessionInfo {
        self.connection.endpoint().map(|endpoint| endpoint.info()).unwrap_or_default()
    }

    fn read_aside(&self, message: &[u8]) -> Aside {
        self.connection.endpoint().map(|endpoint| endpoint.read_aside(message)).unwrap_or_default()
    }
}
