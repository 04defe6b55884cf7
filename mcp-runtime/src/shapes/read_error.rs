//! Where in a payload a value is that was not read, and what is wrong there.

use std::fmt;

use mcp_protocol_machine::shape::ShapeMismatch;

/// Why a value was not read: it does not have its shape, or its text is not JSON.
///
/// What does not have its shape says where: `content[2].text: expected a string, found 5`.
#[derive(Debug)]
pub struct ReadError(Box<Wrong>);

/// Invariant: `path` begins with `.` or `[`, or is empty.
#[derive(Debug)]
struct Wrong {
    path: String,
    what: String,
    /// Whether `what` says all that the parser has to say, such as the line and the column.
    from_parser: bool,
}

impl ReadError {
    fn new(path: String, what: String, from_parser: bool) -> ReadError {
        ReadError(Box::new(Wrong { path, what, from_parser }))
    }

    /// What a parser says of its text.
    pub(super) fn of_parser(error: &dyn fmt::Display) -> ReadError {
        ReadError::new(String::new(), error.to_string(), true)
    }

    /// The error that a member is not there, which should be `expected`: `a string`.
    pub fn missing(key: &str, expected: &str) -> ReadError {
        ReadError::from(ShapeMismatch::of_nothing(expected)).in_member(key)
    }

    /// The error that an element is not there, which should be `expected`.
    pub(super) fn missing_element(place: usize, expected: &str) -> ReadError {
        ReadError::from(ShapeMismatch::of_nothing(expected)).in_element(place)
    }

    /// The same, seen from the object that has the value as a member.
    pub(super) fn in_member(self, key: &str) -> ReadError {
        self.within(ShapeMismatch::of_nothing("").in_member(key))
    }

    /// The same, seen from the list that has the value as an element.
    pub(super) fn in_element(self, place: usize) -> ReadError {
        self.within(ShapeMismatch::of_nothing("").in_element(place))
    }

    fn within(mut self, step: ShapeMismatch) -> ReadError {
        self.0.path.insert_str(0, &step.path);
        self
    }

    /// The same, with what a parser adds to an error that it passes on: the line and the column.
    pub(super) fn passed_on(mut self, by_parser: &dyn fmt::Display) -> ReadError {
        if !self.0.from_parser {
            self.0.what.push_str(&by_parser.to_string());
            self.0.from_parser = true;
        }
        self
    }
}

impl From<ShapeMismatch> for ReadError {
    fn from(mut mismatch: ShapeMismatch) -> ReadError {
        let mut path = std::mem::take(&mut mismatch.path);
        // One that the judge has found is without the dot of its first member.
        if !path.is_empty() && !path.starts_with(['.', '[']) {
            path.insert(0, '.');
        }
        ReadError::new(path, mismatch.to_string(), false)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wrong { path, what, .. } = &*self.0;
        match path.strip_prefix('.').unwrap_or(path) {
            "" => formatter.write_str(what),
            path => write!(formatter, "{path}: {what}"),
        }
    }
}

impl std::error::Error for ReadError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_become_one_path() {
        let text = ReadError::missing("text", "a string");
        assert_eq!(text.to_string(), "text: expected a string, found nothing");
        let element = text.in_element(2);
        assert_eq!(element.to_string(), "[2].text: expected a string, found nothing");
        assert_eq!(
            element.in_member("content").to_string(),
            "content[2].text: expected a string, found nothing"
        );
        let meta =
            ReadError::of_parser(&"expected null, found 1").in_member("example.org/a").in_member("_meta");
        assert_eq!(meta.to_string(), "_meta[\"example.org/a\"]: expected null, found 1");
    }

    #[test]
    fn what_was_found_is_not_a_path() {
        let error =
            ReadError::of_parser(&"expected null, found \"x: expected y\"").in_member("b").in_member("a");
        assert_eq!(error.to_string(), "a.b: expected null, found \"x: expected y\"");
    }

    #[test]
    fn the_parser_says_where_it_is_once() {
        let error = ReadError::missing("a", "a string").passed_on(&" at line 1 column 3");
        let error = error.in_element(0).passed_on(&" at line 1 column 9");
        assert_eq!(error.to_string(), "[0].a: expected a string, found nothing at line 1 column 3");
        let error =
            ReadError::of_parser(&"EOF while parsing a string at line 1 column 3").passed_on(&" at line 9");
        assert_eq!(error.to_string(), "EOF while parsing a string at line 1 column 3");
    }
}
