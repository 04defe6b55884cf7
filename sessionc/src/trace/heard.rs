//! Which sides of a session have said something.

use mcp_runtime::protocol::Side;

/// The sides that have said something.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeardSides {
    client: bool,
    server: bool,
}

impl HeardSides {
    /// A side has said something.
    pub(crate) fn note(&mut self, side: Side) {
        match side {
            Side::Client => self.client = true,
            Side::Server => self.server = true,
        }
    }

    /// Whether a side has said something.
    pub(crate) fn has(&self, side: Side) -> bool {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }
}
