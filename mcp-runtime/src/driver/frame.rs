//! [`Frame`]: one message as it was found in a stream of bytes.

use crate::jsonrpc::{MessageText, Scanner, Sketch};

/// What a stream held.
#[derive(Debug)]
pub(crate) enum Frame<'a> {
    /// A message that fits.
    Whole(MessageText<'a>),
    /// A message that was too long, and what its top level said.
    TooLong(Sketch),
}

impl Frame<'_> {
    /// A message that is longer than the limit.
    pub(super) fn too_long(message: &[u8]) -> Frame<'static> {
        Frame::TooLong(Scanner::scan(message))
    }
}
