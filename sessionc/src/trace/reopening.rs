//! A request that may open another session while one goes on: the reply to it says which it does.

use mcp_runtime::observer::MessageText;

use super::finding::Finding;
use super::session::{JudgedSession, OpeningId, Said};

/// How many messages are held until that is known.
const HELD: usize = 64;
/// How many bytes they may have.
const BYTES_HELD: usize = 1024 * 1024;

/// A request that may open another session, and what came after it and belongs to that, if it is one.
///
/// Invariant: `found` is what is wrong with the messages that are held if they are those of another session.
#[derive(Debug)]
pub(super) struct Reopening {
    session: Box<JudgedSession>,
    opening: OpeningId,
    line: u64,
    held: Vec<(Said, Box<[u8]>)>,
    bytes: usize,
    found: Vec<Finding>,
}

/// Whether another session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reopened {
    Unknown,
    Yes,
    /// The server has refused that.
    No,
}

impl Reopening {
    /// `session` is the one that begins, if it does, with a message whose id is like this.
    pub(super) fn new(session: Box<JudgedSession>, opening: OpeningId, said: Said) -> Reopening {
        let line = said.place.line;
        Reopening { session, opening, line, held: Vec::new(), bytes: 0, found: Vec::new() }
    }

    /// The session, if it is one.
    pub(super) fn session(&self) -> &JudgedSession {
        &self.session
    }

    pub(super) fn session_mut(&mut self) -> &mut JudgedSession {
        &mut self.session
    }

    /// How the id of the request stands to those of the session before.
    pub(super) fn opening(&self) -> OpeningId {
        self.opening
    }

    /// The line of the request.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Takes a message that belongs to the other session, if there is one.
    pub(super) fn take(&mut self, said: Said, message: MessageText<'_>) -> Reopened {
        self.session.take_here(said, message, &mut self.found);
        self.bytes += message.bytes().len();
        self.held.push((said, message.bytes().into()));
        match self.session.has_opened() {
            Some(true) => Reopened::Yes,
            Some(false) => Reopened::No,
            None if self.held.len() >= HELD || self.bytes >= BYTES_HELD => Reopened::Yes,
            None => Reopened::Unknown,
        }
    }

    /// Another session begins. What was found in it goes into `found`.
    pub(super) fn begin(mut self, found: &mut Vec<Finding>) -> Box<JudgedSession> {
        found.append(&mut self.found);
        self.session
    }

    /// No other session begins: the messages belong to the one that goes on.
    pub(super) fn leave(self, to: &mut JudgedSession, found: &mut Vec<Finding>) {
        for (said, message) in &self.held {
            to.take_here(*said, (&**message).into(), found);
        }
    }
}
