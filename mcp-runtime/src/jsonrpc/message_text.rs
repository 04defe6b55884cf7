//! The text of a message, which may have been read before.

use super::envelope::{Envelope, Malformed, parse, parse_value};
use super::payload::LookedUp;
#[cfg(any(feature = "http-server", feature = "http-client"))]
use super::raw::JsonReader;
use super::raw::JsonValue;
use mcp_protocol_machine::protocol::Dialect;

/// The text of a message, as an [`Observer`](crate::observer::Observer) takes it: bytes, or a value in a text that was read
/// as JSON before, such as a line of a log. That is not read once more.
#[derive(Clone, Copy, Debug)]
pub struct MessageText<'a> {
    bytes: &'a [u8],
    value: Option<JsonValue<'a>>,
}

impl<'a> MessageText<'a> {
    /// The message as it is written.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The value that the message is, if it was read.
    #[inline]
    pub fn value(&self) -> Option<JsonValue<'a>> {
        self.value
    }

    /// A message that is read now, so that all who look at it need not. What cannot be read stays bytes.
    #[cfg(any(feature = "http-server", feature = "http-client"))]
    pub(crate) fn read(bytes: &'a [u8], reader: &'a mut JsonReader) -> MessageText<'a> {
        let text = std::str::from_utf8(bytes).ok();
        MessageText { bytes, value: text.and_then(|text| reader.read(text)) }
    }

    /// Its envelope. Where the message was read, its payload was as well.
    pub(crate) fn parse(
        self,
        deepest: usize,
        dialect: Dialect,
    ) -> Result<Envelope<'a, LookedUp<'a>>, Malformed> {
        let of_value = self.value.and_then(|value| parse_value(value, deepest, dialect));
        match of_value {
            Some(read) => read,
            None => parse(self.bytes, deepest, dialect).map(|envelope| envelope.with_payload(LookedUp::Text)),
        }
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
    #[inline]
    fn from(value: JsonValue<'a>) -> MessageText<'a> {
        MessageText { bytes: value.written().as_bytes(), value: Some(value) }
    }
}
