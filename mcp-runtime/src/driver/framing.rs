//! Splits a stream of bytes into messages, and writes messages with their separators.

use std::io;

use super::content_length::ContentLengthReader;
use super::frame::Frame;
use super::lines::LineReader;

/// How messages are separated in a stream of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// One message on each line, as MCP has it. A line ends with `\n` or `\r\n`; empty lines are skipped.
    #[default]
    Lines,
    /// A header before each message, as the Language Server Protocol has it:
    ///
    /// ```text
    /// Content-Length: 52\r\n
    /// \r\n
    /// {"jsonrpc":"2.0","id":1,"method":"shutdown"…
    /// ```
    ///
    /// The length counts the bytes of the message. Other header fields are permitted and ignored, except that a
    /// `charset` in `Content-Type` must be UTF-8. A header has at most 4096 bytes. A malformed header ends the session,
    /// because the end of its message is unknown: [`DisconnectReason::Failed`](crate::DisconnectReason::Failed) says what is wrong.
    ContentLength,
}

impl Framing {
    /// Appends a message as it stands on the wire.
    pub(super) fn write(self, message: &[u8], into: &mut Vec<u8>) {
        if self == Framing::ContentLength {
            into.extend_from_slice(format!("Content-Length: {}\r\n\r\n", message.len()).as_bytes());
        }
        into.extend_from_slice(message);
        if self == Framing::Lines {
            into.push(b'\n');
        }
    }
}

/// Finds the messages in a stream of bytes that comes in pieces.
///
/// It holds at most one unfinished message of the permitted length. A longer message is looked at as it goes by and
/// never kept.
#[derive(Debug)]
pub struct FrameReader {
    framing: FramingReader,
    /// Why nothing more is read.
    error: Option<io::Error>,
}

#[derive(Debug)]
enum FramingReader {
    Lines(LineReader),
    ContentLength(ContentLengthReader),
}

impl FrameReader {
    /// A reader at the beginning of a stream.
    pub fn new(framing: Framing) -> FrameReader {
        let framing = match framing {
            Framing::Lines => FramingReader::Lines(LineReader::default()),
            Framing::ContentLength => FramingReader::ContentLength(ContentLengthReader::default()),
        };
        FrameReader { framing, error: None }
    }

    /// Returns the error after which nothing more is read, once.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Takes the next piece and hands each message that it completes to `each`.
    pub(crate) fn feed(&mut self, bytes: &[u8], limit: usize, each: impl FnMut(Frame<'_>)) {
        match &mut self.framing {
            FramingReader::Lines(lines) => lines.feed(bytes, limit, each),
            FramingReader::ContentLength(reader) => {
                self.error = reader.feed(bytes, limit, each).or(self.error.take())
            }
        }
    }

    /// Takes the end of the stream.
    pub(crate) fn finish(&mut self, limit: usize, each: impl FnMut(Frame<'_>)) {
        match &mut self.framing {
            FramingReader::Lines(lines) => lines.finish(limit, each),
            FramingReader::ContentLength(reader) => self.error = reader.finish().or(self.error.take()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for framing in [Framing::Lines, Framing::ContentLength] {
            let mut written = Vec::new();
            framing.write(b"{\"a\":1}", &mut written);
            framing.write(b"{\"b\":\"\xc3\xa4\"}", &mut written);
            let mut seen = Vec::new();
            let mut reader = FrameReader::new(framing);
            let mut note = |frame: Frame<'_>| match frame {
                Frame::Whole(message) if message.bytes().is_empty() => {}
                Frame::Whole(message) => seen.push(message.bytes().to_vec()),
                Frame::TooLong(_) => panic!("nothing is long here"),
            };
            reader.feed(&written, 100, &mut note);
            reader.finish(100, &mut note);
            assert_eq!(seen, [b"{\"a\":1}".to_vec(), b"{\"b\":\"\xc3\xa4\"}".to_vec()], "{framing:?}");
            assert!(reader.take_error().is_none());
        }
    }
}
