//! Messages that stand in several lines, as pretty printers write them.

use super::vscode;
use crate::trace::lines::LONGEST;

/// An object that a line begins and a later line ends.
///
/// Invariant: `text` has the lines so far, with a line feed between two of them, and ends in an object that is not closed.
/// `lines` has a place for each of them.
#[derive(Debug)]
pub(super) struct Spread {
    text: Vec<u8>,
    lines: Vec<SpreadLine>,
    brackets: Brackets,
}

/// One of the lines, and where it ends in the text.
#[derive(Clone, Copy, Debug)]
struct SpreadLine {
    number: u64,
    end: usize,
}

/// What another line makes of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It goes on.
    GoesOn,
    /// The line ends it.
    Ended,
    /// The line does not belong to it: it was never an object.
    Foreign,
}

impl Spread {
    /// An object that this line begins and does not end. The line ends where a pretty printer ends one: behind a bracket or
    /// a comma. One that is cut off ends anywhere.
    pub(super) fn begin(number: u64, line: &[u8]) -> Option<Spread> {
        let shown = line.trim_ascii_end();
        if !matches!(shown.last(), Some(b'{' | b'[' | b',')) {
            return None;
        }
        let start = match vscode::begins_list(shown) {
            true => shown.len() - 1,
            false => memchr::memchr(b'{', shown)?,
        };
        let mut brackets = Brackets::default();
        brackets.follow(shown.get(start..)?);
        let is_open = brackets.open > 0 && !brackets.in_text;
        is_open.then(|| Spread {
            text: line.to_vec(),
            lines: vec![SpreadLine { number, end: line.len() }],
            brackets,
        })
    }

    /// The number of the first line.
    pub(super) fn number(&self) -> u64 {
        self.lines.first().map_or(0, |line| line.number)
    }

    /// All lines so far, as they stand in the log: so an error names the line of the object that it is in.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Each line by itself, with its number.
    pub(super) fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let starts = std::iter::once(0).chain(self.lines.iter().map(|line| line.end + 1));
        starts
            .zip(&self.lines)
            .filter_map(|(start, line)| Some((line.number, self.text.get(start..line.end)?)))
    }

    /// Adds a line, if it belongs to the object.
    pub(super) fn add(&mut self, number: u64, line: &[u8]) -> Next {
        let belongs = line.first().is_some_and(|first| goes_on_with(*first));
        if !belongs || self.text.len() + line.len() > LONGEST {
            return Next::Foreign;
        }
        let mut brackets = self.brackets;
        brackets.follow(line);
        if brackets.in_text {
            // No pretty printer breaks a text.
            return Next::Foreign;
        }
        self.brackets = brackets;
        self.text.push(b'\n');
        self.text.extend_from_slice(line);
        self.lines.push(SpreadLine { number, end: self.text.len() });
        if brackets.open == 0 { Next::Ended } else { Next::GoesOn }
    }
}

/// Whether a line that begins so may be a further line of an object.
pub(super) fn goes_on_with(first: u8) -> bool {
    matches!(first, b' ' | b'\t' | b'}' | b']')
}

/// How many brackets are open, and whether a text is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Brackets {
    open: usize,
    pub(super) in_text: bool,
    /// What the text begins and ends with, if it is one. JSON has no other quotes than `"`, what JavaScript shows has.
    quote: u8,
    escaped: bool,
}

impl Brackets {
    /// Follows a part of JSON as far as it closes what is open. Returns how much of it that is.
    pub(super) fn follow(&mut self, json: &[u8]) -> Option<usize> {
        for (place, byte) in json.iter().enumerate() {
            match (self.in_text, byte) {
                (true, _) if self.escaped => self.escaped = false,
                (true, b'\\') => self.escaped = true,
                (true, byte) if *byte == self.quote => self.in_text = false,
                (false, b'"' | b'\'' | b'`') => (self.in_text, self.quote) = (true, *byte),
                (false, b'{' | b'[') => self.open += 1,
                (false, b'}' | b']') if self.open <= 1 => {
                    self.open = 0;
                    return Some(place + 1);
                }
                (false, b'}' | b']') => self.open -= 1,
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_until_the_object_ends() {
        let mut spread = Spread::begin(3, b"12:00 sent: {").unwrap();
        assert_eq!(spread.add(4, b"  \"a\": \"}\\\"{\","), Next::GoesOn);
        assert_eq!(spread.add(5, b"  \"b\": [{}]"), Next::GoesOn);
        assert_eq!(spread.add(6, b"} and more {"), Next::Ended);
        assert_eq!(spread.number(), 3);
        let lines: Vec<_> = spread.lines().map(|(number, line)| (number, line.len())).collect();
        assert_eq!(lines, [(3, 13), (4, 14), (5, 11), (6, 12)]);
    }

    #[test]
    fn texts_may_have_the_quotes_of_javascript() {
        let mut spread = Spread::begin(1, b"sent: {").unwrap();
        assert_eq!(spread.add(2, b"  a: 'say \"hi\" {',"), Next::GoesOn);
        assert_eq!(spread.add(3, b"  b: \"it's\", c: `{ it's \"`"), Next::GoesOn);
        assert_eq!(spread.add(4, b"}"), Next::Ended);
    }

    #[test]
    fn what_is_no_object_in_several_lines_begins_none() {
        for line in [
            &b"{\"a\":1}"[..],
            b"{\"a\":1},",
            b"{\"a\":\"{",
            b"{\"jsonrpc\":\"2.0\",\"meth",
            b"a, b,",
            b"[",
            b"",
        ] {
            assert!(Spread::begin(1, line).is_none(), "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn a_line_that_begins_at_the_margin_does_not_belong() {
        let mut spread = Spread::begin(1, b"{\"a\": 1,").unwrap();
        assert_eq!(spread.add(2, b"{\"jsonrpc\": \"2.0\"}"), Next::Foreign);
        let mut spread = Spread::begin(1, b"{").unwrap();
        assert_eq!(spread.add(2, b"  \"a: 1"), Next::Foreign, "a text is never broken");
    }

    #[test]
    fn an_object_has_a_limit() {
        let mut spread = Spread::begin(1, b"{").unwrap();
        let line = vec![b' '; LONGEST];
        assert_eq!(spread.add(2, &line), Next::Foreign);
        assert_eq!(spread.lines().count(), 1);
    }
}
