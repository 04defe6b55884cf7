//! `Content-Length` framing.
//!
//! Keeps at most one header of [`MAX_HEADER`] bytes or one message of the permitted length. A longer message is looked
//! at as it goes by, like a line that is too long.

use std::io;

use mcp_protocol_machine::Excerpt;
use memchr::memchr;

use super::frame::Frame;
use crate::error_texts::error_texts;
use crate::jsonrpc::Scanner;

/// How many bytes a header may have, with its line ends.
const MAX_HEADER: usize = 4096;

/// A buffer for partial messages that has grown beyond this is given back once its message is complete.
const KEPT_CAPACITY: usize = 64 * 1024;

/// Why a stream cannot be read any further.
#[derive(Debug)]
enum FramingError {
    NotAField(String),
    NoLength,
    TwoLengths,
    NotALength(String),
    Charset(String),
    LongHeader,
    EndInHeader(String),
    EndInMessage { came: usize, length: usize },
}

error_texts! {
    FramingError {
        Self::NotAField(value) => (
            "`{value}` is not a header field: write `Content-Length: <bytes>` and an empty line before each \
             message{hint}",
            hint = hint_for(value)
        ),
        Self::NoLength => (
            "the header has no `Content-Length`: write `Content-Length: <bytes>` before the empty line"
        ),
        Self::TwoLengths => ("the header has two `Content-Length` fields: write one for each message"),
        Self::NotALength(value) => (
            "`{value}` is not a length: write the number of bytes of the message in decimal digits"
        ),
        Self::Charset(value) => (
            "`{value}` is not a supported charset: write messages in UTF-8 and `charset=utf-8`, or leave \
             `Content-Type` out"
        ),
        Self::LongHeader => (
            "the header has more than {MAX_HEADER} bytes: write `Content-Length: <bytes>` and an empty line"
        ),
        Self::EndInHeader(value) => (
            "the input ended within a header, after `{value}`: write an empty line and the message before closing"
        ),
        Self::EndInMessage { came, length } => (
            "the input ended within a message, after {came} of {length} bytes: compare its length with \
             `Content-Length`"
        ),
    }
}

/// What is probably meant by a line that is not a header field.
fn hint_for(line: &str) -> &'static str {
    if line.starts_with(['{', '[']) {
        ", or choose `lines` as the framing if the peer writes one message on each line"
    } else {
        ""
    }
}

impl From<FramingError> for io::Error {
    fn from(error: FramingError) -> io::Error {
        let kind = match error {
            FramingError::EndInHeader(_) | FramingError::EndInMessage { .. } => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

/// Collects the messages of one stream.
#[derive(Debug, Default)]
pub(super) struct ContentLengthReader {
    state: ContentLengthState,
    /// The beginning of a header line or of a message whose end has not come yet.
    partial: Vec<u8>,
}

#[derive(Debug)]
enum ContentLengthState {
    Header(Header),
    /// A message that fits, of so many bytes.
    Message(usize),
    /// A message that does not fit: how many bytes are still to come, of how many, and the look at it.
    Skipping {
        left: usize,
        length: usize,
        scanner: Box<Scanner>,
    },
    Failed,
}

impl Default for ContentLengthState {
    fn default() -> ContentLengthState {
        ContentLengthState::Header(Header::default())
    }
}

/// What a header has said so far.
#[derive(Debug, Default)]
struct Header {
    /// How many bytes it had.
    bytes: usize,
    length: Option<usize>,
}

impl ContentLengthReader {
    /// Takes the next piece and hands each message that it completes to `each`. After an error nothing more is read.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        limit: usize,
        mut each: impl FnMut(Frame<'_>),
    ) -> Option<io::Error> {
        match self.take(bytes, limit, &mut each) {
            Ok(()) => None,
            Err(error) => {
                self.state = ContentLengthState::Failed;
                self.partial = Vec::new();
                Some(error.into())
            }
        }
    }

    /// Takes the end of the stream.
    pub(super) fn finish(&mut self) -> Option<io::Error> {
        let error = match std::mem::replace(&mut self.state, ContentLengthState::Failed) {
            ContentLengthState::Header(Header { bytes: 0, .. }) => return None,
            ContentLengthState::Failed => return None,
            ContentLengthState::Header(_) => FramingError::EndInHeader(excerpt(&self.partial)),
            ContentLengthState::Message(length) => {
                FramingError::EndInMessage { came: self.partial.len(), length }
            }
            ContentLengthState::Skipping { left, length, .. } => {
                FramingError::EndInMessage { came: length.saturating_sub(left), length }
            }
        };
        Some(error.into())
    }

    fn take(
        &mut self,
        mut bytes: &[u8],
        limit: usize,
        each: &mut impl FnMut(Frame<'_>),
    ) -> Result<(), FramingError> {
        while !bytes.is_empty() {
            match &mut self.state {
                ContentLengthState::Failed => return Ok(()),
                ContentLengthState::Header(header) => {
                    let end = memchr(b'\n', bytes).map_or(bytes.len(), |end| end.saturating_add(1));
                    let (piece, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
                    bytes = rest;
                    let room = MAX_HEADER.saturating_sub(header.bytes);
                    self.partial.extend_from_slice(piece.get(..room).unwrap_or(piece));
                    header.bytes = header.bytes.saturating_add(piece.len());
                    check_beginning(&self.partial)?;
                    if header.bytes > MAX_HEADER {
                        return Err(FramingError::LongHeader);
                    }
                    let Some(line) = self.partial.strip_suffix(b"\n") else { return Ok(()) };
                    let complete = header.line(line.strip_suffix(b"\r").unwrap_or(line))?;
                    self.partial.clear();
                    match complete {
                        None => {}
                        // There is nothing to wait for, and nothing to take.
                        Some(0) => self.state = ContentLengthState::default(),
                        Some(length) if length > limit => {
                            let scanner = Box::new(Scanner::new());
                            self.state = ContentLengthState::Skipping { left: length, length, scanner };
                        }
                        Some(length) => self.state = ContentLengthState::Message(length),
                    }
                }
                ContentLengthState::Message(length) => {
                    let left = length.saturating_sub(self.partial.len());
                    let Some((message, rest)) = bytes.split_at_checked(left) else {
                        self.partial.extend_from_slice(bytes);
                        return Ok(());
                    };
                    bytes = rest;
                    if self.partial.is_empty() {
                        each(Frame::Whole(message.into()));
                    } else {
                        self.partial.extend_from_slice(message);
                        each(Frame::Whole((&self.partial).into()));
                        self.partial.clear();
                        if self.partial.capacity() > KEPT_CAPACITY {
                            self.partial = Vec::new();
                        }
                    }
                    self.state = ContentLengthState::default();
                }
                ContentLengthState::Skipping { left, scanner, .. } => {
                    let (skipped, rest) = bytes.split_at_checked(*left).unwrap_or((bytes, &[]));
                    bytes = rest;
                    scanner.feed(skipped);
                    *left = left.saturating_sub(skipped.len());
                    if *left == 0
                        && let ContentLengthState::Skipping { scanner, .. } = std::mem::take(&mut self.state)
                    {
                        each(Frame::TooLong(scanner.finish()));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Header {
    /// Takes a line without its end. After the last one, the empty one, returns the length of the message.
    fn line(&mut self, line: &[u8]) -> Result<Option<usize>, FramingError> {
        if line.is_empty() {
            return self.length.map(Some).ok_or(FramingError::NoLength);
        }
        let (name, value) = field(line).ok_or_else(|| FramingError::NotAField(excerpt(line)))?;
        if name.eq_ignore_ascii_case(b"content-length") {
            if self.length.is_some() {
                return Err(FramingError::TwoLengths);
            }
            self.length = Some(number(value).ok_or_else(|| FramingError::NotALength(excerpt(value)))?);
        } else if name.eq_ignore_ascii_case(b"content-type")
            && let Some(charset) = charset(value)
            && ![&b"utf-8"[..], b"utf8"].iter().any(|known| charset.eq_ignore_ascii_case(known))
        {
            return Err(FramingError::Charset(excerpt(charset)));
        }
        Ok(None)
    }
}

/// The name and the value of a header field.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, value) = line.split_at_checked(memchr(b':', line)?)?;
    let is_name = !name.is_empty() && name.iter().copied().all(is_of_name);
    is_name.then(|| (name, value.get(1..).unwrap_or_default().trim_ascii()))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Refuses what cannot become a header line at once: a peer that writes no line end would be waited for.
fn check_beginning(line: &[u8]) -> Result<(), FramingError> {
    match line.first() {
        Some(first) if !is_of_name(*first) && !matches!(first, b'\r' | b'\n') => {
            Err(FramingError::NotAField(excerpt(line.trim_ascii())))
        }
        _ => Ok(()),
    }
}

/// A number of bytes: digits alone, where `str::parse` permits a sign.
fn number(value: &[u8]) -> Option<usize> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| is_number)?.parse().ok()
}

/// The charset in a `Content-Type`.
fn charset(value: &[u8]) -> Option<&[u8]> {
    let mut parameters = value.split(|byte| *byte == b';').skip(1).map(<[u8]>::trim_ascii);
    let charset = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_at_checked(memchr(b'=', parameter)?)?;
        name.trim_ascii_end().eq_ignore_ascii_case(b"charset").then_some(value.get(1..)?.trim_ascii_start())
    })?;
    let inner = charset.strip_prefix(b"\"").and_then(|charset| charset.strip_suffix(b"\""));
    Some(inner.unwrap_or(charset))
}

/// Text of the peer, in a form that is safe in a log.
fn excerpt(bytes: &[u8]) -> String {
    Excerpt(&String::from_utf8_lossy(bytes.get(..MAX_HEADER).unwrap_or(bytes))).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a stream is read as, cut at these places: its messages, and the error or the end.
    fn read(stream: &[u8], cuts: &[usize], limit: usize) -> Vec<String> {
        let mut reader = ContentLengthReader::default();
        let mut seen = Vec::new();
        let mut errors = Vec::new();
        let mut start = 0;
        let ends = cuts.iter().map(|cut| cut % (stream.len() + 1));
        let mut ends: Vec<usize> = ends.chain([stream.len()]).collect();
        ends.sort_unstable();
        for end in ends {
            let error = reader.feed(&stream[start..end], limit, |frame| {
                seen.push(match frame {
                    Frame::Whole(message) => String::from_utf8_lossy(message.bytes()).into_owned(),
                    Frame::TooLong(sketch) => format!("too long: {:?}", sketch.id.map(|id| id.to_string())),
                });
            });
            errors.extend(error);
            start = end;
        }
        errors.extend(reader.finish());
        assert!(errors.len() <= 1, "{errors:?}");
        seen.extend(errors.into_iter().map(|error| format!("error: {error}")));
        seen
    }

    fn whole(stream: &str) -> Vec<String> {
        read(stream.as_bytes(), &[], 100)
    }

    #[test]
    fn messages_stand_behind_their_headers() {
        let two = "Content-Length: 2\r\n\r\n{}Content-Length: 4\r\nContent-Type: application/vscode-jsonrpc; \
                   charset=utf-8\r\n\r\n\"\u{e4}\"";
        assert_eq!(whole(two), ["{}", "\"\u{e4}\""]);
        assert_eq!(whole("content-type: text/plain\r\nCONTENT-LENGTH:2\r\n\r\n{}"), ["{}"]);
        assert_eq!(
            whole("X-Trace: a b: c\nContent-Length:  2 \n\n{}"),
            ["{}"],
            "other fields, lone line feeds"
        );
        assert_eq!(whole("Content-Length: 2\r\nContent-Type: a/b; charset=\"UTF8\"\r\n\r\n{}"), ["{}"]);
        assert_eq!(whole("Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n\r\n"), ["\r\n"]);
        assert_eq!(whole(""), [""; 0]);
    }

    #[test]
    fn a_malformed_header_is_an_error_that_says_what_to_write() {
        let error = |stream: &str| whole(stream).concat();
        contains(&error("{\"jsonrpc\":\"2.0\"}\n"), "is not a header field: write `Content-Length: <bytes>`");
        contains(&error("{\"jsonrpc\":\"2.0\"}\n"), "or choose `lines` as the framing");
        contains(&error("{"), "or choose `lines` as the framing");
        contains(&error("hello\r\n"), "error: `hello` is not a header field");
        contains(&error(": 3\r\n"), "is not a header field");
        contains(&error("\r\n"), "the header has no `Content-Length`");
        contains(&error("Content-Type: a/b\r\n\r\n{}"), "the header has no `Content-Length`");
        contains(&error("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"), "two `Content-Length` fields");
        for length in ["", "-1", "+2", "2.0", "0x2", "two", "99999999999999999999999"] {
            let error = error(&format!("Content-Length: {length}\r\n\r\n{{}}"));
            contains(&error, &format!("`{length}` is not a length: write the number of bytes"));
        }
        contains(
            &error("Content-Type: a/b; charset=utf-16\r\nContent-Length: 2\r\n\r\n{}"),
            "`utf-16` is not a supported charset",
        );
        contains(&error(&"X-Long: 1\r\n".repeat(400)), "the header has more than 4096 bytes");
        contains(&error(&"x".repeat(5000)), "the header has more than 4096 bytes");
        // Nothing is read after an error.
        assert_eq!(whole("no\r\nContent-Length: 2\r\n\r\n{}").len(), 1);
    }

    #[test]
    fn an_input_that_ends_too_early_is_an_error() {
        contains(&whole("Content-Le").concat(), "ended within a header, after `Content-Le`");
        contains(&whole("Content-Length: 2\r\n").concat(), "ended within a header");
        contains(&whole("Content-Length: 2\r\n\r\n").concat(), "after 0 of 2 bytes");
        contains(&whole("Content-Length: 9\r\n\r\n{}").concat(), "after 2 of 9 bytes");
        contains(&whole("Content-Length: 900\r\n\r\n{}").concat(), "after 2 of 900 bytes");
    }

    fn contains(text: &str, part: &str) {
        assert!(text.contains(part), "{text:?} does not contain {part:?}");
    }

    #[test]
    fn a_long_message_is_looked_at_and_not_kept() {
        let long = format!(r#"{{"id":7,"x":"{}"}}"#, "y".repeat(1000));
        let stream = format!("Content-Length: {}\r\n\r\n{long}Content-Length: 2\r\n\r\n{{}}", long.len());
        assert_eq!(whole(&stream), ["too long: Some(\"7\")", "{}"]);
        let mut reader = ContentLengthReader::default();
        let mut feed = |bytes: &[u8]| assert!(reader.feed(bytes, 1000, |_| panic!("not complete")).is_none());
        feed(b"Content-Length: 4000000000\r\n\r\n");
        (0..1000).for_each(|_| feed(&[b'x'; 1000]));
        assert!(reader.partial.capacity() <= MAX_HEADER);
    }

    /// Pieces of streams: headers and messages, whole and broken.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let message = prop_oneof![
            "[ -~\\n\u{e4}]{0,40}".prop_map(|text| format!("Content-Length: {}\r\n\r\n{text}", text.len())),
            (0..90_usize, "[ -~]{0,40}").prop_map(|(length, text)| {
                format!("Content-Length: {length}\r\nContent-Type: a/b; charset=utf-8\r\n\r\n{text}")
            }),
            "[ -~\\r\\n:]{0,30}",
            Just("Content-Length: 2\r\n\r\n{}".to_owned()),
        ];
        prop::collection::vec(message, 0..8).prop_map(|parts| parts.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn where_a_stream_is_cut_does_not_matter(
            stream in stream(),
            cuts in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            let whole = read(&stream, &[], 30);
            let every: Vec<usize> = (0..stream.len()).collect();
            // An error may quote less of a line where it was noticed earlier.
            let kind = |seen: Vec<String>| -> Vec<String> {
                let cut = |text: String| if text.starts_with("error: `") { "error".to_owned() } else { text };
                seen.into_iter().map(cut).collect()
            };
            prop_assert_eq!(kind(read(&stream, &cuts, 30)), kind(whole.clone()));
            prop_assert_eq!(kind(read(&stream, &every, 30)), kind(whole));
        }

        #[test]
        fn well_formed_messages_come_through_whole(
            messages in prop::collection::vec("[ -~\u{e4}\u{1f600}]{1,60}", 0..6),
            cuts in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            let stream: String =
                messages.iter().map(|text| format!("Content-Length: {}\r\n\r\n{text}", text.len())).collect();
            prop_assert_eq!(read(stream.as_bytes(), &cuts, 1000), messages);
        }
    }
}
