//! Cuts a stream of bytes into messages, each with the bytes as they came.

use mcp_runtime::driver::Framing;
use memchr::memchr;

/// The longest header that is read, in bytes.
const LONGEST_HEADER: usize = 4096;
/// A buffer that has grown beyond this is given back once it is empty.
const KEPT_CAPACITY: usize = 64 * 1024;

/// What stands in a stream. The bytes of all cuts together are those of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut<'a> {
    /// A frame, and the message in it.
    Frame { bytes: &'a [u8], message: &'a [u8] },
    /// A part of a frame that is longer than the limit: its beginning, a further part, or its end.
    Long { bytes: &'a [u8], begins: bool, ends: bool },
    /// What follows a header that cannot be read, at its first part with the reason: where messages begin is not known
    /// any more.
    Unframed { bytes: &'a [u8], problem: Option<&'static str> },
}

/// Cuts one stream. It keeps at most one unfinished frame of the permitted length, and the piece at hand.
#[derive(Debug)]
pub(super) struct FrameCutter {
    framing: Framing,
    limit: usize,
    kept: Vec<u8>,
    /// How many of the kept bytes have no line end in them.
    searched: usize,
    passing: Passing,
}

/// What goes by without being kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passing {
    Nothing,
    /// A long line.
    Line,
    /// So many bytes of a long message.
    Bytes(usize),
    Everything,
}

/// How long the frame at the beginning of a buffer is.
enum FrameSize {
    /// Its header, and all of it.
    Known { header: usize, whole: usize },
    /// Its end has not come yet.
    Open,
    /// The header cannot be read.
    Unreadable(&'static str),
}

impl FrameCutter {
    pub(super) fn new(framing: Framing, limit: usize) -> FrameCutter {
        FrameCutter { framing, limit, kept: Vec::new(), searched: 0, passing: Passing::Nothing }
    }

    /// Takes the next piece of the stream and hands over what it completes.
    pub(super) fn feed(&mut self, piece: &[u8], mut each: impl FnMut(Cut<'_>)) {
        let rest = self.pass(piece, &mut each);
        if self.kept.is_empty() {
            let left = self.cut(rest, &mut each);
            self.kept.extend_from_slice(left);
            return;
        }
        let mut kept = std::mem::take(&mut self.kept);
        kept.extend_from_slice(rest);
        let left = self.cut(&kept, &mut each).len();
        kept.drain(..kept.len().saturating_sub(left));
        if kept.is_empty() && kept.capacity() > KEPT_CAPACITY {
            kept = Vec::new();
        }
        self.kept = kept;
    }

    /// Whether the stream would end with a line that has no line end.
    pub(super) fn is_within_line(&self) -> bool {
        self.framing != Framing::ContentLength && !trimmed(&self.kept).trim_ascii().is_empty()
    }

    /// Takes the end of the stream: a last line needs no line end.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Cut<'_>)) {
        let kept = std::mem::take(&mut self.kept);
        match self.framing {
            _ if kept.is_empty() => {}
            Framing::ContentLength => {
                each(Cut::Unframed { bytes: &kept, problem: Some("the stream ended within a message") });
            }
            _ => each(Cut::Frame { bytes: &kept, message: trimmed(&kept) }),
        }
    }

    /// Lets go by what belongs to a long frame, and returns the rest.
    fn pass<'a>(&mut self, piece: &'a [u8], each: &mut impl FnMut(Cut<'_>)) -> &'a [u8] {
        let (end, next) = match self.passing {
            Passing::Nothing => return piece,
            Passing::Everything => (None, Passing::Everything),
            Passing::Line => (memchr(b'\n', piece).map(|end| end + 1), Passing::Line),
            Passing::Bytes(left) => (
                Some(left).filter(|left| *left <= piece.len()),
                Passing::Bytes(left.saturating_sub(piece.len())),
            ),
        };
        let (bytes, rest) = piece.split_at_checked(end.unwrap_or(piece.len())).unwrap_or((piece, &[]));
        match self.passing {
            _ if bytes.is_empty() => {}
            Passing::Everything => each(Cut::Unframed { bytes, problem: None }),
            _ => each(Cut::Long { bytes, begins: false, ends: end.is_some() }),
        }
        self.passing = if end.is_some() { Passing::Nothing } else { next };
        rest
    }

    /// Cuts frames off the beginning, and returns what is left.
    fn cut<'a>(&mut self, mut bytes: &'a [u8], each: &mut impl FnMut(Cut<'_>)) -> &'a [u8] {
        while !bytes.is_empty() {
            let (header, whole) = match self.size(bytes) {
                FrameSize::Known { header, whole } => (header, whole),
                // A header that is open is short.
                FrameSize::Open if bytes.len() <= self.limit || self.framing == Framing::ContentLength => {
                    self.searched = bytes.len();
                    return bytes;
                }
                FrameSize::Open => {
                    each(Cut::Long { bytes, begins: true, ends: false });
                    self.passing = Passing::Line;
                    break;
                }
                FrameSize::Unreadable(problem) => {
                    each(Cut::Unframed { bytes, problem: Some(problem) });
                    self.passing = Passing::Everything;
                    break;
                }
            };
            let is_long = whole > self.limit;
            let Some((frame, rest)) = bytes.split_at_checked(whole) else {
                if !is_long {
                    return bytes;
                }
                each(Cut::Long { bytes, begins: true, ends: false });
                self.passing = Passing::Bytes(whole.saturating_sub(bytes.len()));
                break;
            };
            let message = frame.get(header..).unwrap_or_default();
            match (is_long, self.framing) {
                (true, _) => each(Cut::Long { bytes: frame, begins: true, ends: true }),
                (false, Framing::ContentLength) => each(Cut::Frame { bytes: frame, message }),
                (false, _) => each(Cut::Frame { bytes: frame, message: trimmed(message) }),
            }
            self.searched = 0;
            bytes = rest;
        }
        self.searched = 0;
        &[]
    }

    fn size(&self, bytes: &[u8]) -> FrameSize {
        if self.framing == Framing::ContentLength {
            return message_size(bytes);
        }
        let unsearched = bytes.get(self.searched..).unwrap_or_default();
        match memchr(b'\n', unsearched) {
            Some(end) => FrameSize::Known { header: 0, whole: self.searched + end + 1 },
            None => FrameSize::Open,
        }
    }
}

/// A line without its end.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Reads a header that ends with an empty line.
fn message_size(bytes: &[u8]) -> FrameSize {
    let (mut at, mut length) = (0, None);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(end) = memchr(b'\n', rest).filter(|end| at + end < LONGEST_HEADER) else {
            if bytes.len() >= LONGEST_HEADER {
                return FrameSize::Unreadable(
                    "a header is too long: write `Content-Length` and an empty line",
                );
            }
            // Text without a line end would be waited for.
            return match rest.first() {
                Some(b'{' | b'[') => FrameSize::Unreadable(NOT_A_FIELD),
                _ => FrameSize::Open,
            };
        };
        let line = trimmed(rest.get(..=end).unwrap_or_default());
        at += end + 1;
        if line.is_empty() {
            return match length {
                Some(length) => FrameSize::Known { header: at, whole: at.saturating_add(length) },
                None => FrameSize::Unreadable("a header has no `Content-Length`"),
            };
        }
        let Some((name, value)) = std::str::from_utf8(line).ok().and_then(|line| line.split_once(':')) else {
            return FrameSize::Unreadable(NOT_A_FIELD);
        };
        if name.eq_ignore_ascii_case("content-length") {
            let value = value.trim();
            let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            match (length, value.parse().ok().filter(|_| is_number)) {
                (None, Some(value)) => length = Some(value),
                (Some(_), _) => return FrameSize::Unreadable("a header has two `Content-Length` fields"),
                (None, None) => return FrameSize::Unreadable("a `Content-Length` is not a number of bytes"),
            }
        }
    }
}

const NOT_A_FIELD: &str = "a header has a line that is not a field: choose `--framing lines` if messages stand on lines of their own";

#[cfg(test)]
mod tests {
    use super::*;

    /// What a stream is cut into, fed in pieces of one size; and its bytes.
    fn cut(framing: Framing, limit: usize, stream: &[u8], piece: usize) -> (Vec<String>, Vec<u8>) {
        let mut cutter = FrameCutter::new(framing, limit);
        let (mut seen, mut all, mut long) = (Vec::new(), Vec::new(), 0);
        let mut note = |cut: Cut<'_>| match cut {
            Cut::Frame { bytes, message } => {
                seen.push(String::from_utf8_lossy(message).into_owned());
                all.extend_from_slice(bytes);
            }
            Cut::Long { bytes, begins, ends } => {
                long = if begins { 0 } else { long } + bytes.len();
                if ends {
                    seen.push(format!("long: {long}"));
                }
                all.extend_from_slice(bytes);
            }
            Cut::Unframed { bytes, problem } => {
                seen.extend(problem.map(|problem| format!("unframed: {problem}")));
                all.extend_from_slice(bytes);
            }
        };
        for piece in stream.chunks(piece) {
            cutter.feed(piece, &mut note);
            assert!(cutter.kept.len() <= limit, "no more than a frame is kept");
        }
        cutter.finish(&mut note);
        (seen, all)
    }

    #[test]
    fn every_byte_is_in_a_cut_whatever_the_pieces() {
        let stream = b"one\r\n\n  two \n\xff\xfe\n0123456789012345678901234567890123456789\nthree\nrest";
        for piece in 1..stream.len() {
            let (seen, all) = cut(Framing::Lines, 20, stream, piece);
            assert_eq!(all, stream);
            assert_eq!(
                seen,
                ["one", "", "  two ", "\u{fffd}\u{fffd}", "long: 41", "three", "rest"],
                "{piece}"
            );
        }
    }

    #[test]
    fn messages_with_a_length_are_cut_at_their_ends() {
        let stream =
            b"Content-Length: 2\r\n\r\n{}content-length:3\r\nX: y\r\n\r\n[\n]Content-Length: 60\r\n\r\n";
        let stream =
            [&stream[..], &[b'x'; 60], b"Content-Length: 0\r\n\r\nContent-Length: 9\r\n\r\n{}"].concat();
        for piece in 1..stream.len() {
            let (seen, all) = cut(Framing::ContentLength, 50, &stream, piece);
            assert_eq!(all, stream);
            let end = "unframed: the stream ended within a message";
            assert_eq!(seen, ["{}", "[\n]", "long: 82", "", end], "{piece}");
        }
    }

    #[test]
    fn what_follows_an_unreadable_header_is_not_cut() {
        for (stream, why) in [
            (&b"{\"jsonrpc\":\"2.0\"}"[..], NOT_A_FIELD),
            (b"hello\n\n", NOT_A_FIELD),
            (b"X: y\r\n\r\nContent-Length: 2\r\n\r\n{}", "a header has no `Content-Length`"),
            (b"Content-Length: +2\r\n\r\n{}", "a `Content-Length` is not a number of bytes"),
        ] {
            for piece in 1..stream.len() {
                let (seen, all) = cut(Framing::ContentLength, 100, stream, piece);
                assert_eq!(all, stream);
                assert_eq!(seen, [format!("unframed: {why}")], "{piece}");
            }
        }
    }
}
