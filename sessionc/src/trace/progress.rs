//! How much of a log has been read, on a terminal.

use std::io::{self, Read, Stderr, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::terminal_line::TerminalLine;

/// How long a log is read before anything is shown.
const SILENT: Duration = Duration::from_secs(1);
/// How long what is shown stands.
const PACE: Duration = Duration::from_millis(200);

/// A log that says how much of it has been read.
pub(crate) struct ReadProgress<R, W = Stderr> {
    log: R,
    name: String,
    read: u64,
    /// How long the log is, if that is known.
    length: Option<u64>,
    line: Rc<TerminalLine<W>>,
    next: Instant,
    pace: Duration,
}

impl<R> ReadProgress<R> {
    pub(crate) fn new(log: R, name: String, length: Option<u64>, line: Rc<TerminalLine>) -> ReadProgress<R> {
        ReadProgress { log, name, read: 0, length, line, next: Instant::now() + SILENT, pace: PACE }
    }
}

impl<R, W> ReadProgress<R, W> {
    fn text(&self) -> String {
        match self.length.filter(|length| *length > 0) {
            Some(length) => format!("{:3} %  {}", self.read.min(length) * 100 / length, self.name),
            None => format!("{} MB  {}", self.read / 1_000_000, self.name),
        }
    }
}

impl<R: Read, W: Write> Read for ReadProgress<R, W> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.log.read(into)?;
        self.read += u64::try_from(read).unwrap_or_default();
        let now = Instant::now();
        if now >= self.next {
            self.next = now + self.pace;
            self.line.show(&self.text());
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal shows of a log that is read in pieces of so many bytes.
    fn shown(length: Option<u64>, piece: usize) -> String {
        let mut written = Vec::new();
        let line = Rc::new(TerminalLine::on(Some(&mut written)));
        let (name, now) = ("a.log".to_owned(), Instant::now());
        let log = io::repeat(b'x').take(4_000_000);
        let mut log = ReadProgress { log, name, read: 0, length, line, next: now, pace: Duration::ZERO };
        let mut room = vec![0; piece];
        while log.read(&mut room).unwrap() > 0 {}
        drop(log);
        String::from_utf8(written).unwrap().replace("\r\x1b[K", "|")
    }

    #[test]
    fn a_file_shows_its_part_and_a_stream_its_size() {
        assert_eq!(shown(Some(4_000_000), 2_000_000), "| 50 %  a.log|100 %  a.log|100 %  a.log");
        assert_eq!(shown(None, 4_000_000), "|4 MB  a.log|4 MB  a.log");
        // It has grown since, or is a device.
        assert_eq!(shown(Some(1), 4_000_000), "|100 %  a.log|100 %  a.log");
        assert_eq!(shown(Some(0), 4_000_000), "|4 MB  a.log|4 MB  a.log");
    }
}
