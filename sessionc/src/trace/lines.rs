//! The lines of a log, read in chunks.

use std::io::{self, Read};

/// How many bytes are read at once.
const CHUNK: usize = 256 * 1024;
/// How many bytes a line may have.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;

/// Reads lines. The buffer has at most the longest line and a chunk.
///
/// Invariant: `start <= searched <= end <= buffer.len()`; `start..end` is what was read and not returned, and there is no
/// line feed in `start..searched`.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    from: R,
    longest: usize,
    buffer: Vec<u8>,
    start: usize,
    searched: usize,
    end: usize,
    at_end: bool,
    /// The number of the last line that was returned.
    number: u64,
}

/// One line of a log, without its line feed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub(crate) number: u64,
    /// What stands in it; nothing if the line is longer than permitted.
    pub(crate) text: Option<&'a [u8]>,
    /// Whether a line feed follows.
    pub(crate) is_whole: bool,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(from: R) -> Lines<R> {
        Lines::with_longest(from, LONGEST)
    }

    fn with_longest(from: R, longest: usize) -> Lines<R> {
        Lines { from, longest, buffer: Vec::new(), start: 0, searched: 0, end: 0, at_end: false, number: 0 }
    }

    /// What comes first: as far as one chunk has it, or up to where that is `enough`. A log that a program still writes has not
    /// more than its first lines.
    pub(crate) fn beginning(&mut self, enough: impl Fn(&[u8]) -> bool) -> io::Result<&[u8]> {
        while self.end < CHUNK && !self.at_end && !enough(self.ahead()) {
            self.fill()?;
        }
        Ok(self.ahead())
    }

    /// What was read and not taken.
    pub(crate) fn ahead(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Reads more behind it. Returns false at the end of the log.
    pub(crate) fn read_on(&mut self) -> io::Result<bool> {
        if !self.at_end {
            self.fill()?;
        }
        Ok(!self.at_end)
    }

    /// Takes so many bytes of what is ahead. The rest of a line is returned as a line.
    pub(crate) fn pass(&mut self, count: usize) {
        let end = self.end.min(self.start + count);
        let passed = self.buffer.get(self.start..end).unwrap_or_default();
        let feeds = memchr::memchr_iter(b'\n', passed).count();
        self.number += u64::try_from(feeds).unwrap_or_default();
        (self.start, self.searched) = (end, self.searched.max(end));
    }

    /// The number of the line that what is ahead begins in.
    pub(crate) fn number(&self) -> u64 {
        self.number + 1
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let unsearched = self.buffer.get(self.searched..self.end).unwrap_or_default();
            if let Some(place) = memchr::memchr(b'\n', unsearched) {
                let feed = self.searched + place;
                return Ok(Some(self.take(feed, feed + 1)));
            }
            self.searched = self.end;
            if self.at_end {
                let is_empty = self.start == self.end;
                return Ok((!is_empty).then(|| self.take(self.end, self.end)));
            }
            if self.end - self.start > self.longest {
                return self.skip().map(Some);
            }
            self.fill()?;
        }
    }

    /// Takes the line that ends at `end`; the next one begins at `next`.
    fn take(&mut self, end: usize, next: usize) -> Line<'_> {
        let start = self.start;
        (self.start, self.searched, self.number) = (next, next, self.number + 1);
        let text = self.buffer.get(start..end).filter(|text| text.len() <= self.longest);
        Line { number: self.number, text, is_whole: next > end }
    }

    /// Leaves out the rest of a line that is too long.
    fn skip(&mut self) -> io::Result<Line<'_>> {
        let is_whole = loop {
            let read = self.buffer.get(self.start..self.end).unwrap_or_default();
            let feed = memchr::memchr(b'\n', read);
            self.start = feed.map_or(self.end, |place| self.start + place + 1);
            self.searched = self.start;
            if feed.is_some() || self.at_end {
                break feed.is_some();
            }
            self.fill()?;
        };
        self.number += 1;
        Ok(Line { number: self.number, text: None, is_whole })
    }

    /// Reads more, behind what was read.
    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.searched, self.end, self.start) = (self.searched - self.start, self.end - self.start, 0);
        }
        if self.buffer.len() < self.end + CHUNK {
            self.buffer.resize(self.end + CHUNK, 0);
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let read = loop {
            match self.from.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        (self.end, self.at_end) = (self.end + read, read == 0);
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Gives what it has in pieces of at most so many bytes.
    pub(in crate::trace) struct Pieces<'a>(pub(in crate::trace) &'a [u8], pub(in crate::trace) usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.len().min(self.1).min(into.len());
            into[..piece].copy_from_slice(&self.0[..piece]);
            self.0 = &self.0[piece..];
            Ok(piece)
        }
    }

    fn lines(text: &str, piece: usize, longest: usize) -> Vec<(u64, Option<String>, bool)> {
        let mut lines = Lines::with_longest(Pieces(text.as_bytes(), piece), longest);
        let mut all = Vec::new();
        while let Some(Line { number, text, is_whole }) = lines.next().unwrap() {
            all.push((number, text.map(|text| String::from_utf8(text.to_vec()).unwrap()), is_whole));
        }
        all
    }

    #[test]
    fn lines_are_the_same_whatever_the_pieces() {
        let line = |number, text: &str, is_whole| (number, Some(text.to_owned()), is_whole);
        for piece in 1..9 {
            let expected = [line(1, "a", true), line(2, "", true), line(3, "bcd", true), line(4, "e", false)];
            assert_eq!(lines("a\n\nbcd\ne", piece, 10), expected);
            assert_eq!(lines("", piece, 10), []);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out() {
        for piece in 1..9 {
            let expected =
                [(1, Some("ab".to_owned()), true), (2, None, true), (3, Some("c".to_owned()), true)];
            assert_eq!(lines("ab\nabcdefgh\nc\n", piece, 4), expected);
            assert_eq!(lines("abcdefgh", piece, 4), [(1, None, false)]);
        }
    }

    #[test]
    fn a_long_line_takes_no_more_memory_than_permitted() {
        let mut lines = Lines::with_longest(io::repeat(b'x').take(64 << 20), 1 << 20);
        assert_eq!(lines.next().unwrap(), Some(Line { number: 1, text: None, is_whole: false }));
        assert!(lines.buffer.len() <= (1 << 20) + 2 * CHUNK, "{}", lines.buffer.len());
        assert_eq!(lines.next().unwrap(), None);
    }

    #[test]
    fn what_is_ahead_can_be_taken_piece_by_piece() {
        let mut lines = Lines::new(Pieces(b"[a,\nb]\nc\n", 3));
        while lines.read_on().unwrap() {}
        lines.pass(5);
        assert_eq!((lines.ahead(), lines.number()), (&b"]\nc\n"[..], 2));
        let expected = Line { number: 2, text: Some(&b"]"[..]), is_whole: true };
        assert_eq!(lines.next().unwrap(), Some(expected));
        assert_eq!((lines.ahead(), lines.number()), (&b"c\n"[..], 3));
        lines.pass(9);
        assert_eq!(lines.next().unwrap(), None);
    }
}
