//! The text of a message, which may have been read before.

use crate::jsonrpc::JsonValue;

/// The text of a message, as an [`Observer`](crate::observer::Observer) takes it: bytes, or a value in a text that was read
/// as JSON before, such as a line of a log. That is not read once more.
#[derive(Clone, Copy, Debug)]
pub struct MessageText<'a> {
    bytes: &'a [u8],
    value: Option<JsonValue<'a>>,
}

impl<'a> MessageText<'a> {
    /// The message as it is written.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The value that the message is, if it was read.
    pub fn value(&self) -> Option<JsonValue<'a>> {
        self.value
    }
}

impl<'a> From<&'a [u8]> for MessageText<'a> {
    fn from(bytes: &'a [u8]) -> MessageText<'a> {
        MessageText { bytes, value: None }
    }
}

impl<'a, const LENGTH: usize> From<&'a [u8; LENGTH]> for MessageText<'a> {
    fn from(bytes: &'a [u8; LENGTH]) -> MessageText<'a> {
        MessageText { bytes, value: None }
    }
}

impl<'a> From<&'a Vec<u8>> for MessageText<'a> {
    fn from(bytes: &'a Vec<u8>) -> MessageText<'a> {
        MessageText { bytes, value: None }
    }
}

impl<'a> From<JsonValue<'a>> for MessageText<'a> {
    fn from(value: JsonValue<'a>) -> MessageText<'a> {
        MessageText { bytes: value.written().as_bytes(), value: Some(value) }
    }
}
