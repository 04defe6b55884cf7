//! [`Unread`]: what is left where an input could not be read.

use super::session::Session;
use crate::error::Error;

/// An input could not be read. It has been answered or reported where possible; the caller continues with the next
/// input.
#[derive(Debug)]
pub struct Unread(pub(super) Option<Box<Left>>);

/// What an unread input leaves.
#[derive(Debug)]
pub(super) enum Left {
    /// The value, which goes on waiting.
    Session(Session),
    /// Nothing to go on with.
    Error(Error),
}

impl Unread {
    /// Nothing is lost.
    pub(super) fn skipped() -> Unread {
        Unread(None)
    }

    /// The value waits for another input.
    pub(super) fn session(session: Session) -> Unread {
        Unread(Some(Box::new(Left::Session(session))))
    }

    /// The value is lost.
    pub(super) fn error(error: Error) -> Unread {
        Unread(Some(Box::new(Left::Error(error))))
    }
}
