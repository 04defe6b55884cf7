//! Newline framing (`\n` or `\r\n`).
//!
//! Keeps at most one unfinished line of the permitted length. A longer line is looked at as it goes by and never kept.

use memchr::memchr;

use super::frame::Frame;
use crate::jsonrpc::Scanner;

/// Collects the lines of one stream.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    /// Where the line at hand is too long already: the look at it.
    skipping: Option<Box<Scanner>>,
}

/// A buffer for partial lines that has grown beyond this is given back once its line is complete.
const KEPT_CAPACITY: usize = 64 * 1024;

impl LineReader {
    /// Takes the next piece and hands each line that it completes to `each`.
    pub(super) fn feed(&mut self, mut bytes: &[u8], limit: usize, mut each: impl FnMut(Frame<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
            bytes = rest.split_first().map_or(&[], |(_, rest)| rest);
            self.line_ended(line, limit, &mut each);
        }
        self.keep(bytes, limit);
    }

    /// Takes what stands after the last line end when the stream is over.
    pub(super) fn finish(&mut self, limit: usize, mut each: impl FnMut(Frame<'_>)) {
        self.line_ended(&[], limit, &mut each);
    }

    fn line_ended(&mut self, line: &[u8], limit: usize, each: &mut impl FnMut(Frame<'_>)) {
        if self.skipping.is_none() && self.partial.is_empty() && line.len() <= limit {
            each(Frame::Whole(trimmed(line).into()));
            return;
        }
        self.keep(line, limit);
        if let Some(scanner) = self.skipping.take() {
            each(Frame::TooLong(scanner.finish()));
            return;
        }
        each(Frame::Whole(trimmed(&self.partial).into()));
        self.partial.clear();
        if self.partial.capacity() > KEPT_CAPACITY {
            self.partial = Vec::new();
        }
    }

    fn keep(&mut self, bytes: &[u8], limit: usize) {
        if let Some(scanner) = &mut self.skipping {
            scanner.feed(bytes);
        } else if self.partial.len().saturating_add(bytes.len()) > limit {
            let mut scanner = Box::new(Scanner::new());
            scanner.feed(&self.partial);
            scanner.feed(bytes);
            self.skipping = Some(scanner);
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }
}

/// A line without the `\r` of a `\r\n`.
fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All lines of a text, fed in pieces of one size; too long ones as their id.
    fn lines(text: &str, piece: usize, limit: usize) -> Vec<String> {
        let mut lines = LineReader::default();
        let mut seen = Vec::new();
        let mut note = |line: Frame<'_>| {
            seen.push(match line {
                Frame::Whole(line) => String::from_utf8(line.bytes().to_vec()).unwrap(),
                Frame::TooLong(sketch) => format!("too long: {:?}", sketch.id.map(|id| id.to_string())),
            });
        };
        for piece in text.as_bytes().chunks(piece) {
            lines.feed(piece, limit, &mut note);
        }
        lines.finish(limit, &mut note);
        seen
    }

    #[test]
    fn the_size_of_the_pieces_does_not_matter() {
        let text = "one\r\n\ntwo\n{\"id\":3,\"x\":\"aaaaaaaaaaaaaaaaaaaa\"}\nthree\nrest";
        let whole = lines(text, text.len(), 20);
        assert_eq!(whole, ["one", "", "two", "too long: Some(\"3\")", "three", "rest"]);
        for piece in 1..text.len() {
            assert_eq!(lines(text, piece, 20), whole, "pieces of {piece}");
        }
    }

    #[test]
    fn a_long_line_is_not_kept() {
        let mut lines = LineReader::default();
        for _ in 0..1000 {
            lines.feed(&[b'x'; 1000], 1000, |_| panic!("no line has ended"));
        }
        assert!(lines.partial.capacity() <= 2000);
        let mut long = 0;
        lines.feed(b"\n", 1000, |line| long += usize::from(matches!(line, Frame::TooLong(_))));
        assert_eq!(long, 1);
    }
}
