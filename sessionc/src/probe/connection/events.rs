//! Server-sent events: the data of each.

/// Finds the events in a stream that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The beginning of a line.
    line: Vec<u8>,
    /// The data of the event so far.
    data: Vec<u8>,
}

impl Events {
    /// Takes a piece, and returns the data of the events that end in it. Events without data are left out.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        for byte in piece {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                events.extend(
                    Some(std::mem::take(&mut self.data)).filter(|data| !data.trim_ascii().is_empty()),
                );
            } else if let Some(data) = line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
        events
    }

    /// How many bytes are held.
    pub(super) fn held(&self) -> usize {
        self.line.len() + self.data.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_in_any_pieces() {
        let stream =
            b"id: 1\ndata:\n\n: comment\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata: 2\n\n";
        for length in 1..stream.len() {
            let mut events = Events::default();
            let found: Vec<_> = stream.chunks(length).flat_map(|piece| events.feed(piece)).collect();
            assert_eq!(found, [b"{\"a\":\n1}".to_vec(), b"2".to_vec()], "{length}");
            assert_eq!(events.held(), 0);
        }
    }
}
