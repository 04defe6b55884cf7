//! Reads a stream of server-sent events.

use std::time::Duration;

use memchr::memchr2;
use reqwest::header::HeaderValue;

use crate::error_texts::error_texts;

/// The longest id of an event that is kept, in bytes. It is said to the server in a header when the stream is taken up
/// again, and servers take no long ones.
const LONGEST_ID: usize = 1024;

/// How many bytes of room are kept for the next event, behind a longer one.
const KEPT: usize = 4 * 1024;

/// An event is longer than permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong(pub(crate) usize);

error_texts! {
    TooLong {
        Self(value) => (
            "an event is longer than the limit of {value} bytes: see `ClientOptions::max_message_bytes`"
        ),
    }
}

/// Reads one stream.
#[derive(Debug)]
pub(crate) struct EventReader {
    most: usize,
    line: Vec<u8>,
    /// The last byte was a carriage return, whose line feed may come.
    returned: bool,
    /// Whether anything was read; the first character may be a byte order mark.
    begun: bool,
    data: Vec<u8>,
    has_data: bool,
    /// The event has a type of its own, so that it is not a message.
    is_other: bool,
    id: Option<HeaderValue>,
    /// The id of the last event that was complete.
    pub(crate) last_id: Option<HeaderValue>,
    pub(crate) retry: Option<Duration>,
}

impl EventReader {
    pub(crate) fn new(most: usize) -> EventReader {
        EventReader {
            most,
            line: Vec::new(),
            returned: false,
            begun: false,
            data: Vec::new(),
            has_data: false,
            is_other: false,
            id: None,
            last_id: None,
            retry: None,
        }
    }

    /// Takes the next piece and hands the data of each message that it completes to `each`.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), TooLong> {
        // A piece may be empty, and then says nothing of what follows the carriage return.
        if !bytes.is_empty() && std::mem::take(&mut self.returned) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
            self.keep(line)?;
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.returned = true;
                    &[]
                }
                [_, rest @ ..] => rest,
                [] => &[],
            };
            let line = std::mem::take(&mut self.line);
            self.line_ended(&line, &mut each)?;
            self.line = line;
            self.line.clear();
            self.line.shrink_to(KEPT);
        }
        self.keep(bytes)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len().saturating_add(bytes.len()).saturating_add(self.data.len())
            > self.most.saturating_add(64)
        {
            return Err(TooLong(self.most));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn line_ended(&mut self, line: &[u8], each: &mut impl FnMut(&[u8])) -> Result<(), TooLong> {
        let line = match std::mem::replace(&mut self.begun, true) {
            false => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            true => line,
        };
        if line.is_empty() {
            if let Some(id) = self.id.take() {
                self.last_id = Some(id);
            }
            let is_other = std::mem::take(&mut self.is_other);
            if std::mem::take(&mut self.has_data) && !is_other {
                each(&self.data);
            }
            self.data.clear();
            self.data.shrink_to(KEPT);
            return Ok(());
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at_checked(colon).unwrap_or((line, &[]));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                if self.data.len() > self.most {
                    return Err(TooLong(self.most));
                }
            }
            // One that cannot stand in the head of a request is of no use: it could not be said to the server.
            b"id" if value.len() <= LONGEST_ID => {
                self.id = HeaderValue::from_bytes(value).ok().or(self.id.take());
            }
            b"retry" => {
                let milliseconds = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry = milliseconds.map(Duration::from_millis).or(self.retry);
            }
            // Servers and proxies send events of other types to keep a connection.
            b"event" => self.is_other = !matches!(value, b"" | b"message"),
            // Comments, and fields that mean nothing.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, piece: usize) -> (Vec<String>, Option<String>, Option<Duration>) {
        let mut events = EventReader::new(1000);
        let mut seen = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            events.feed(piece, |data| seen.push(String::from_utf8(data.to_vec()).unwrap())).unwrap();
        }
        let last = events.last_id.map(|id| id.to_str().unwrap().to_owned());
        (seen, last, events.retry)
    }

    #[test]
    fn the_size_of_the_pieces_does_not_matter() {
        let text = "\u{feff}: hello\r\nretry: 250\nid: 1\ndata: {\"a\":\ndata:1}\n\nevent: message\rdata: x\rid:2\r\r\
                    id: 3\n\ndata\n\nid: 9\ndata: cut";
        let whole = read(text, text.len());
        let data = ["{\"a\":\n1}", "x", ""].map(str::to_owned).to_vec();
        assert_eq!(whole, (data, Some("3".to_owned()), Some(Duration::from_millis(250))));
        for piece in 1..text.len() {
            assert_eq!(read(text, piece), whole, "pieces of {piece}");
        }
    }

    #[test]
    fn an_event_of_another_type_is_not_a_message() {
        let text = "event: ping\ndata: {}\nid: 1\n\nevent:message\ndata: a\n\nevent\ndata: b\n\n\
                    event: endpoint\ndata: /messages\n\ndata: c\n\n";
        let seen = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(read(text, 7), (seen, Some("1".to_owned()), None));
        // The last type holds.
        assert_eq!(read("event: ping\nevent: message\ndata: a\n\n", 7).0, ["a"]);
    }

    #[test]
    fn an_empty_piece_parts_no_end_of_line() {
        let mut events = EventReader::new(1000);
        let mut seen = Vec::new();
        for piece in ["data: a\r", "", "\ndata: b\n\n"] {
            events.feed(piece.as_bytes(), |data| seen.push(data.to_vec())).unwrap();
        }
        assert_eq!(seen, [b"a\nb"]);
    }

    #[test]
    fn an_id_that_no_request_can_carry_is_passed_over() {
        assert_eq!(read("id: 1\ndata: a\n\nid: \u{1}2\ndata: b\n\n", 7).1.as_deref(), Some("1"));
        assert_eq!(read("id: \0\n\n", 7).1, None);
        let longest = "x".repeat(LONGEST_ID);
        let read = |id: &str| {
            let mut events = EventReader::new(10_000);
            events.feed(format!("id: 1\n\nid: {id}\n\n").as_bytes(), |_| {}).unwrap();
            events.last_id.unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(read(&longest), longest);
        assert_eq!(read(&(longest + "x")), "1");
    }

    #[test]
    fn a_long_event_leaves_no_room_behind() {
        let mut events = EventReader::new(1 << 20);
        let mut seen = 0;
        for piece in [b"data: ".as_slice(), &[b'x'; 100_000], b"\n\n"] {
            events.feed(piece, |data| seen += data.len()).unwrap();
        }
        assert_eq!(seen, 100_000);
        assert!(events.line.capacity() + events.data.capacity() <= 2 * KEPT);
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let mut events = EventReader::new(100);
        let mut outcome = Ok(());
        for _ in 0..1000 {
            outcome =
                outcome.and_then(|()| events.feed(b"data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", |_| {}));
        }
        assert_eq!(outcome, Err(TooLong(100)));
        assert!(events.data.len() <= 200);
        let mut events = EventReader::new(100);
        assert_eq!(events.feed(&[b'x'; 1000], |_| {}), Err(TooLong(100)));
    }
}
