//! Server-sent events: cuts a stream into events, each with the bytes as they came.

use memchr::memchr2;

/// What stands in a stream. The bytes of all pieces together are those of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// An event with its end.
    Event { bytes: Vec<u8>, event: Event },
    /// A part of an event that is longer than the limit.
    Long { bytes: Vec<u8>, begins: bool },
}

/// What an event says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<Vec<u8>>,
    /// Its type; nothing stands for `message`.
    pub(crate) name: Option<Vec<u8>>,
    pub(crate) data: Option<Vec<u8>>,
}

/// Cuts one stream. It keeps at most one unfinished event of the permitted length, and the piece at hand.
#[derive(Debug)]
pub(crate) struct EventCutter {
    limit: usize,
    /// The event at hand.
    kept: Vec<u8>,
    /// Where its last line begins, and how far it was searched for its end.
    line: usize,
    searched: usize,
    event: Event,
    /// The event is too long: what has come has been passed on, and perhaps a part of its last line.
    is_passing: bool,
    has_text: bool,
}

impl EventCutter {
    pub(crate) fn new(limit: usize) -> EventCutter {
        EventCutter {
            limit,
            kept: Vec::new(),
            line: 0,
            searched: 0,
            event: Event::default(),
            is_passing: false,
            has_text: false,
        }
    }

    /// Takes the next bytes, and returns what they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Piece> {
        self.kept.extend_from_slice(bytes);
        let mut pieces = Vec::new();
        while let Some((end, next)) = self.line_end() {
            let line = self.kept.get(self.line..end).unwrap_or_default();
            let had_text = std::mem::take(&mut self.has_text);
            let is_blank = line.is_empty() && !had_text;
            self.event.field(line);
            (self.line, self.searched) = (next, next);
            if is_blank {
                let rest = self.kept.split_off(next);
                let bytes = std::mem::replace(&mut self.kept, rest);
                let event = std::mem::take(&mut self.event);
                pieces.push(match std::mem::take(&mut self.is_passing) {
                    true => Piece::Long { bytes, begins: false },
                    false if bytes.len() > self.limit => Piece::Long { bytes, begins: true },
                    false => Piece::Event { bytes, event },
                });
                (self.line, self.searched) = (0, 0);
            }
        }
        // A return at the end of a line stays: a line feed may belong to it.
        let goes = self.searched;
        if (self.is_passing || self.kept.len() > self.limit) && goes > 0 {
            self.has_text |= goes > self.line;
            let rest = self.kept.split_off(goes);
            let bytes = std::mem::replace(&mut self.kept, rest);
            pieces.push(Piece::Long { bytes, begins: !std::mem::replace(&mut self.is_passing, true) });
            (self.line, self.searched, self.event) = (0, 0, Event::default());
        }
        pieces
    }

    /// Returns what has no end when the stream ends. No client takes it for an event.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.kept)
    }

    /// The end of the line at hand, and where the next one begins.
    fn line_end(&mut self) -> Option<(usize, usize)> {
        let unsearched = self.kept.get(self.searched..).unwrap_or_default();
        let Some(end) = memchr2(b'\n', b'\r', unsearched).map(|end| self.searched + end) else {
            self.searched = self.kept.len();
            return None;
        };
        self.searched = end;
        match (self.kept.get(end), self.kept.get(end + 1)) {
            // An event ends here, and is not held back. A line feed that belongs to it is a blank line of its own then.
            (Some(b'\r'), None) if end == self.line && !self.has_text => Some((end, end + 1)),
            (Some(b'\r'), None) => None,
            (Some(b'\r'), Some(b'\n')) => Some((end, end + 2)),
            _ => Some((end, end + 1)),
        }
    }
}

impl Event {
    /// Takes a line of an event.
    fn field(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => line.split_at(at),
            None => (line, &b":"[..]),
        };
        let value = value.strip_prefix(b":").unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"id" => self.id = Some(value.to_vec()),
            b"event" => self.name = Some(value.to_vec()),
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            _ => {}
        }
    }

    /// What it carries, if that is not blank.
    pub(crate) fn content(&self) -> Option<&[u8]> {
        self.data.as_deref().filter(|data| !data.trim_ascii().is_empty())
    }

    /// The same, taken out.
    pub(crate) fn into_content(self) -> Option<Vec<u8>> {
        self.data.filter(|data| !data.trim_ascii().is_empty())
    }

    /// The message in it, if it is of the type that has messages.
    pub(crate) fn message(&self) -> Option<&[u8]> {
        let is_message = self.name.as_deref().is_none_or(|name| name == b"message");
        self.content().filter(|_| is_message)
    }

    /// An event with another message in its place.
    pub(crate) fn with(&self, message: &[u8]) -> Vec<u8> {
        let id = self.id.as_ref().map(|id| [b"id: ", &id[..], b"\n"].concat()).unwrap_or_default();
        [&id[..], b"event: message\ndata: ", message, b"\n\n"].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_cut_in_any_pieces() {
        let stream: &[u8] = b"id: 1\ndata:\n\n: comment\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n\
            event: other\ndata: 2\n\ndata: 0123456789012345678901234567890123456789012345678901234567890123\ndata: x\n\n\
            data:3\r\rdata: open";
        for length in 1..stream.len() {
            let mut cutter = EventCutter::new(60);
            let (mut all, mut messages, mut long) = (Vec::new(), Vec::new(), 0);
            for piece in stream.chunks(length).flat_map(|bytes| cutter.feed(bytes)) {
                match piece {
                    Piece::Event { bytes, event } => {
                        all.extend(bytes);
                        messages
                            .extend(event.message().map(|data| String::from_utf8_lossy(data).into_owned()));
                    }
                    Piece::Long { bytes, begins } => {
                        all.extend(bytes);
                        long += usize::from(begins);
                    }
                }
            }
            all.extend(cutter.finish());
            assert_eq!(String::from_utf8_lossy(&all), String::from_utf8_lossy(stream), "{length}");
            assert_eq!((messages, long), (vec!["{\"a\":\n1}".to_owned(), "3".to_owned()], 1), "{length}");
        }
    }

    #[test]
    fn what_events_carry_is_found_in_any_pieces() {
        let stream =
            b"id: 1\ndata:\n\n: comment\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata: 2\n\n";
        for length in 1..stream.len() {
            let mut cutter = EventCutter::new(usize::MAX);
            let pieces = stream.chunks(length).flat_map(|piece| cutter.feed(piece));
            let found: Vec<Vec<u8>> = pieces
                .filter_map(|piece| match piece {
                    Piece::Event { event, .. } => event.content().map(<[u8]>::to_vec),
                    Piece::Long { .. } => None,
                })
                .collect();
            assert_eq!(found, [b"{\"a\":\n1}".to_vec(), b"2".to_vec()], "{length}");
            assert_eq!(cutter.finish(), b"");
        }
    }

    #[test]
    fn an_event_that_ends_in_a_return_is_not_held_back() {
        let contents = |cutter: &mut EventCutter, bytes: &[u8]| {
            let pieces = cutter.feed(bytes).into_iter();
            let events = pieces.filter_map(|piece| match piece {
                Piece::Event { event, .. } => event.into_content(),
                Piece::Long { .. } => None,
            });
            events.collect::<Vec<_>>()
        };
        let mut cutter = EventCutter::new(usize::MAX);
        assert_eq!(contents(&mut cutter, b"data: 1\r\r"), [b"1"]);
        // Its line feed may come later.
        assert_eq!(contents(&mut cutter, b"data: 2\r\n\r"), [b"2"]);
        assert_eq!(contents(&mut cutter, b"\ndata: 3\r"), [b""; 0]);
        assert_eq!(contents(&mut cutter, b"\ndata: 4\r\r\n"), [b"3\n4"]);
        assert_eq!(cutter.finish(), b"");
    }

    #[test]
    fn an_event_keeps_its_id_with_another_message() {
        let event = Event { id: Some(b"7".to_vec()), ..Event::default() };
        assert_eq!(event.with(b"{}"), b"id: 7\nevent: message\ndata: {}\n\n");
        assert_eq!(Event::default().with(b"{}"), b"event: message\ndata: {}\n\n");
    }
}
