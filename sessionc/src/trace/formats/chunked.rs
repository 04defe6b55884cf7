//! The bodies of HTTP/1.1 that are sent in chunks, in a stream of bytes: the bytes between the chunks are left out.

use std::mem;

/// How many bytes of a line are looked at. Lines that matter have less.
const LINE: usize = 128;

/// What of one stream is the content of bodies. The bytes of what is not sent in chunks are all passed on.
#[derive(Debug, Default)]
pub(super) struct ChunkedBodies {
    part: BodyPart,
    /// The beginning of the line at hand, without its end.
    line: Vec<u8>,
}

/// Where in a stream the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyPart {
    /// In a head, or in what is not sent in chunks.
    Other { is_chunked: bool },
    /// In the line with the size of the next chunk.
    Size,
    /// In a chunk that has so many bytes left.
    Chunk(u64),
    /// In the line end behind a chunk.
    End,
    /// Behind the last chunk.
    Trailers,
}

impl Default for BodyPart {
    fn default() -> BodyPart {
        BodyPart::Other { is_chunked: false }
    }
}

impl ChunkedBodies {
    /// Takes the next byte of the stream. Returns whether it may belong to a message.
    pub(super) fn has(&mut self, byte: u8) -> bool {
        match (self.part, byte) {
            (BodyPart::Chunk(left), _) => {
                self.part =
                    left.checked_sub(1).filter(|left| *left > 0).map_or(BodyPart::End, BodyPart::Chunk);
                true
            }
            (BodyPart::End, b'\r') => false,
            (BodyPart::End, b'\n') => {
                self.part = BodyPart::Size;
                false
            }
            // The sizes do not fit the bytes: some are not in the log.
            (BodyPart::End, _) => {
                self.reset();
                true
            }
            (part, b'\n') => {
                let line = mem::take(&mut self.line);
                self.part = part.behind(line.strip_suffix(b"\r").unwrap_or(&line));
                self.line = line;
                self.line.clear();
                matches!(part, BodyPart::Other { .. })
            }
            (part, byte) => {
                if self.line.len() < LINE {
                    self.line.push(byte);
                }
                matches!(part, BodyPart::Other { .. })
            }
        }
    }

    /// Bytes of the stream are lost.
    pub(super) fn reset(&mut self) {
        *self = ChunkedBodies::default();
    }
}

impl BodyPart {
    /// Where the stream is behind a line.
    fn behind(self, line: &[u8]) -> BodyPart {
        match self {
            BodyPart::Other { is_chunked: true } if line.is_empty() => BodyPart::Size,
            BodyPart::Other { is_chunked } => {
                let is_head = line.starts_with(b"HTTP/1.") || line.ends_with(b" HTTP/1.1");
                BodyPart::Other { is_chunked: (is_chunked && !is_head) || says_chunked(line) }
            }
            BodyPart::Size => match size(line) {
                Some(0) => BodyPart::Trailers,
                Some(size) => BodyPart::Chunk(size),
                None => BodyPart::default(),
            },
            BodyPart::Trailers if line.is_empty() => BodyPart::default(),
            other => other,
        }
    }
}

/// Whether a line is the header that says that a body comes in chunks.
fn says_chunked(line: &[u8]) -> bool {
    let Some((name, value)) = str::from_utf8(line).ok().and_then(|line| line.split_once(':')) else {
        return false;
    };
    name.eq_ignore_ascii_case("transfer-encoding")
        && value.rsplit(',').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("chunked"))
}

/// The size of a chunk that a line says.
fn size(line: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(line).ok()?.split(';').next()?.trim();
    let is_size = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(stream: &str) -> String {
        let mut bodies = ChunkedBodies::default();
        stream.chars().filter(|sign| bodies.has(u8::try_from(*sign).unwrap())).collect()
    }

    const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding:  gzip, Chunked\r\n\r\n";

    #[test]
    fn what_stands_between_chunks_is_left_out() {
        let stream = format!(
            "{HEAD}3;x=1\r\n{{\"a\r\n2\r\n\r\n\r\nB\r\n\":[1,2,3,4]\r\n0\r\nx: y\r\n\r\n{HEAD}1\r\n}}\r\n0\r\n\r\nrest\n"
        );
        assert_eq!(content(&stream), format!("{HEAD}{{\"a\r\n\":[1,2,3,4]{HEAD}}}rest\n"));
        // Other bodies, and other streams, are not changed.
        for other in
            ["HTTP/1.1 200 OK\r\n\r\n3\r\nabc\r\n", "{\"transfer-encoding\": \"chunked\"}\n\n3\n", "a\n\nb"]
        {
            assert_eq!(content(other), other);
        }
    }

    #[test]
    fn sizes_that_do_not_fit_end_it() {
        for rest in ["z\r\nabc\n", "2\r\nabc\n", "-1\r\nabc\n", "fffffffffffffffffffff\r\nabc\n"] {
            let whole = format!("{HEAD}{rest}");
            assert!(content(&whole).ends_with("c\n"), "{rest}");
        }
        let long = format!("{HEAD}{}\r\nabc\n", "1".repeat(LINE * 2));
        assert_eq!(content(&long), format!("{HEAD}abc\n"));
        let next = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n{HEAD}1\r\nab");
        assert_eq!(content(&next), format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n{HEAD}ab"));
    }
}
