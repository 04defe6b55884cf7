//! Which sides of a session have said something, and whether the server has exited.

use mcp_runtime::protocol::Side;

use super::formats::record::Place;

/// The sides that have said something, or are known to have said nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeardSides {
    client: bool,
    server: bool,
    exit: Option<Exit>,
}

/// That the server has exited before it has answered all requests.
#[derive(Clone, Debug)]
pub(crate) struct Exit {
    /// The code of its exit, if it is known.
    pub(crate) code: Option<Box<str>>,
    pub(crate) place: Place,
}

impl HeardSides {
    /// A side has said something.
    pub(crate) fn note(&mut self, side: Side) {
        match side {
            Side::Client => self.client = true,
            Side::Server => self.server = true,
        }
    }

    /// The server has exited.
    pub(crate) fn note_exit(&mut self, exit: Exit) {
        self.exit = Some(exit);
    }

    /// That a side has exited, if it is known.
    pub(crate) fn exit(&self, side: Side) -> Option<&Exit> {
        self.exit.as_ref().filter(|_| side == Side::Server)
    }

    /// Whether all that a side has said is known: it has said something, or has exited without it.
    pub(crate) fn has(&self, side: Side) -> bool {
        match side {
            Side::Client => self.client,
            Side::Server => self.server || self.exit.is_some(),
        }
    }
}
