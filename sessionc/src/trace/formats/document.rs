//! A JSON document that may be longer than memory: its parts are read one after another.

use std::io::{self, Read};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::trace::lines::Lines;

/// Why a document cannot be read on.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The file cannot be read.
    File(io::Error),
    /// A part is longer than permitted.
    TooLong,
    /// It is not JSON, or not what is expected in this place.
    Json { line: u64, problem: String },
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Unreadable {
        Unreadable::File(error)
    }
}

/// What has members or elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bracket {
    Object,
    List,
}

/// Reads a document from front to back. Of what was read it keeps the part at hand, and a chunk.
///
/// Invariant: `column` bytes of the line in which what is ahead begins have been passed.
pub(super) struct Document<'l, R> {
    lines: &'l mut Lines<R>,
    longest: usize,
    column: usize,
}

impl<'l, R: Read> Document<'l, R> {
    /// The document that is ahead. A part of it may have `longest` bytes.
    pub(super) fn new(lines: &'l mut Lines<R>, longest: usize) -> Document<'l, R> {
        Document { lines, longest, column: 0 }
    }

    /// The line in which what is ahead begins.
    pub(super) fn line(&self) -> u64 {
        self.lines.number()
    }

    /// An object or a list begins. What has to be there is said if it is not.
    pub(super) fn begin(&mut self, bracket: Bracket, expected: &str) -> Result<(), Unreadable> {
        let first = match bracket {
            Bracket::Object => b'{',
            Bracket::List => b'[',
        };
        match self.peek()? {
            Some(byte) if byte == first => self.pass(1),
            Some(_) => {
                let problem = self.problem(&format!("expected {expected}"));
                self.pass_value()?;
                return Err(problem);
            }
            None => return Err(self.problem("EOF while parsing a value")),
        }
        Ok(())
    }

    /// Whether a member or an element follows, and not the end of what is around it.
    pub(super) fn goes_on(&mut self, bracket: Bracket, is_first: bool) -> Result<bool, Unreadable> {
        let (end, within, otherwise) = match bracket {
            Bracket::Object => (b'}', "EOF while parsing an object", "expected `,` or `}`"),
            Bracket::List => (b']', "EOF while parsing a list", "expected `,` or `]`"),
        };
        match self.peek()? {
            Some(byte) if byte == end => {
                self.pass(1);
                return Ok(false);
            }
            Some(b',') if !is_first => self.pass(1),
            Some(_) if is_first => return Ok(true),
            Some(_) => return Err(self.problem(otherwise)),
            None => return Err(self.problem(within)),
        }
        match self.peek()? {
            Some(byte) if byte == end => Err(self.problem("trailing comma")),
            Some(_) => Ok(true),
            None => Err(self.problem("EOF while parsing a value")),
        }
    }

    /// Passes over the members of an object up to the one with this key. Returns false if there is none.
    pub(super) fn find_member(&mut self, wanted: &str) -> Result<bool, Unreadable> {
        let mut is_first = true;
        while self.goes_on(Bracket::Object, std::mem::take(&mut is_first))? {
            if self.key()? == wanted {
                return Ok(true);
            }
            self.pass_value()?;
        }
        Ok(false)
    }

    /// Passes over the members that an object has behind one of them.
    pub(super) fn end_object(&mut self) -> Result<(), Unreadable> {
        while self.goes_on(Bracket::Object, false)? {
            self.key()?;
            self.pass_value()?;
        }
        Ok(())
    }

    /// Reads the value that is ahead. `read` is given all that was read of the document. It returns how much of it the value
    /// is, or nothing if the value may go on behind that; then it is called once more, with more of the document.
    pub(super) fn value(
        &mut self,
        mut read: impl FnMut(&[u8]) -> Result<Option<usize>, serde_json::Error>,
    ) -> Result<(), Unreadable> {
        self.peek()?;
        let mut last = None;
        loop {
            let ahead = self.lines.ahead();
            let known = ahead.len();
            let error = match read(ahead) {
                Ok(Some(size)) => {
                    self.pass(size);
                    return Ok(());
                }
                Ok(None) => None,
                Err(error) => Some(error),
            };
            // A number that is cut off is not a number. What is wrong stays wrong with more of the document.
            let wrong = error.as_ref().filter(|error| !error.is_eof());
            let wrong = wrong.map(|error| (error.line(), error.column()));
            let is_wrong = wrong.is_some() && wrong == std::mem::replace(&mut last, wrong);
            if !is_wrong {
                if known > self.longest {
                    return Err(Unreadable::TooLong);
                }
                // Twice as much each time: so a value of any length is read twice at most.
                while self.lines.ahead().len() < known * 2 && self.lines.read_on()? {}
            }
            if is_wrong || self.lines.ahead().len() == known {
                let cut_off = || self.problem("EOF while parsing a value");
                return Err(error.map_or_else(cut_off, |error| self.problem_of(&error)));
            }
        }
    }

    /// A key, and the colon behind it.
    fn key(&mut self) -> Result<String, Unreadable> {
        if self.peek()? != Some(b'"') {
            return Err(self.problem("key must be a string"));
        }
        let mut key = String::new();
        self.value(|ahead| {
            let (read, size) = one::<String>(ahead)?;
            key = read;
            Ok(Some(size))
        })?;
        match self.peek()? {
            Some(b':') => self.pass(1),
            Some(_) => return Err(self.problem("expected `:`")),
            None => return Err(self.problem("EOF while parsing an object")),
        }
        Ok(key)
    }

    fn pass_value(&mut self) -> Result<(), Unreadable> {
        self.value(|ahead| {
            let (IgnoredAny, size) = one(ahead)?;
            // A number may go on.
            Ok((size < ahead.len()).then_some(size))
        })
    }

    /// The next byte that is not blank.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            let ahead = self.lines.ahead();
            let blanks = ahead.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let first = ahead.get(blanks).copied();
            self.pass(blanks);
            if first.is_some() || !self.lines.read_on()? {
                return Ok(first);
            }
        }
    }

    fn pass(&mut self, count: usize) {
        let passed = self.lines.ahead().get(..count).unwrap_or_default();
        self.column = match memchr::memrchr(b'\n', passed) {
            Some(feed) => count - feed - 1,
            None => self.column + count,
        };
        self.lines.pass(count);
    }

    /// What is wrong with the byte that is ahead, or with the end.
    fn problem(&self, what: &str) -> Unreadable {
        let (line, column) = (self.line(), self.column + usize::from(!self.lines.ahead().is_empty()));
        Unreadable::Json { line, problem: format!("{what} at line {line} column {column}") }
    }

    /// What is wrong with the value that is ahead.
    fn problem_of(&self, error: &serde_json::Error) -> Unreadable {
        let what = without_place(error);
        let line = self.line() + u64::try_from(error.line()).unwrap_or_default().saturating_sub(1);
        let column = error.column() + if error.line() > 1 { 0 } else { self.column };
        Unreadable::Json { line, problem: format!("{what} at line {line} column {column}") }
    }
}

/// The value with which a text begins, and how long it is.
///
/// # Errors
/// If there is none. If the text ends within it, the error says so.
pub(super) fn one<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<(T, usize), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter();
    match values.next() {
        Some(value) => Ok((value?, values.byte_offset())),
        None => T::deserialize(&mut serde_json::Deserializer::from_slice(b"")).map(|value| (value, 0)),
    }
}

/// What an error says, without the line and the column.
pub(super) fn without_place(error: &serde_json::Error) -> String {
    let (whole, place) = (error.to_string(), format!(" at line {} column {}", error.line(), error.column()));
    whole.strip_suffix(&place).map(str::to_owned).unwrap_or(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::lines::tests::Pieces;

    /// The numbers in the list `all` of an object, whatever stands around it.
    fn numbers(text: &str, piece: usize, longest: usize) -> Result<Vec<(u64, String)>, Unreadable> {
        let mut lines = Lines::new(Pieces(text.as_bytes(), piece));
        let mut document = Document::new(&mut lines, longest);
        let mut found = Vec::new();
        document.begin(Bracket::Object, "an object")?;
        assert!(document.find_member("all")?);
        document.begin(Bracket::List, "a list")?;
        while document.goes_on(Bracket::List, found.is_empty())? {
            let line = document.line();
            document.value(|ahead| {
                let (value, size) = one::<serde_json::Value>(ahead)?;
                found.push((line, value["n"].to_string()));
                Ok(Some(size))
            })?;
        }
        document.end_object()?;
        Ok(found)
    }

    #[test]
    fn a_document_is_the_same_whatever_the_pieces() {
        let text = "{\n\"before\" : [1, {\"all\": 2}], \"num\":-12.5e3 , \"\\u0061ll\":\n [{\"n\": 1},\n\n{ \"n\":\n2}\n, {\"n\":\"]\"}\n] , \"behind\": true\n}\n";
        let expected = [(3, "1"), (5, "2"), (7, "\"]\"")].map(|(line, number)| (line, number.to_owned()));
        for piece in 1..40 {
            assert_eq!(numbers(text, piece, 1000).unwrap(), expected, "{piece}");
        }
    }

    #[test]
    fn a_part_has_a_limit() {
        let text = format!("{{\"all\":[{{\"n\":1}},{{\"n\":\"{}\"}}]}}", "x".repeat(500));
        assert_eq!(numbers(&text, 10, 1000).unwrap().len(), 2);
        assert!(matches!(numbers(&text, 10, 100), Err(Unreadable::TooLong)));
        let text = text.replace("{\"all\"", "{\"before\":{\"n\":[2]},\"all\"");
        assert_eq!(numbers(&text, 10, 1000).unwrap().len(), 2);
    }
}
