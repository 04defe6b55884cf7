//! A value that does not have its shape.

use std::fmt;

use super::json::{Json, JsonKind};
use super::whole::whole;
use crate::excerpt::Excerpt;
use crate::protocol::{Literal, Position, Protocol, Record, Shape};

/// A value that does not have its shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ShapeMismatch {
    /// Where: `content[2].text`; empty for the value itself. A key that is not a plain word is in brackets,
    /// `_meta["example.org/key"]`.
    pub path: String,
    /// What the shape has there: `a string`.
    pub expected: String,
    /// What is there: `5`, or `nothing`. Of a long text this is only the beginning.
    pub found: String,
}

impl fmt::Display for ShapeMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        write!(formatter, "expected {}, found {}", self.expected, self.found)
    }
}

impl std::error::Error for ShapeMismatch {}

impl ShapeMismatch {
    /// What is expected behind the last position of a tuple.
    #[doc(hidden)]
    pub const END_OF_LIST: &'static str = "the end of the list";

    /// What a type that is made from a shape says of a value.
    #[doc(hidden)]
    pub fn of_value<J: Json>(expected: &str, value: &J) -> ShapeMismatch {
        ShapeMismatch::of_found(expected.to_owned(), value)
    }

    /// What was expected in place of a value. Where that is a whole number, and the value is one that is too large, the
    /// sentence says how large it may be.
    pub(super) fn of_found<J: Json>(expected: String, value: &J) -> ShapeMismatch {
        let expected = match value.kind() {
            JsonKind::Number(written) if is_large(&written) => with_range(&expected),
            _ => expected,
        };
        ShapeMismatch::here(expected, found(value))
    }

    /// The same where nothing is.
    #[doc(hidden)]
    pub fn of_nothing(expected: &str) -> ShapeMismatch {
        ShapeMismatch::here(expected.to_owned(), "nothing".to_owned())
    }

    pub(super) fn here(expected: String, found: String) -> ShapeMismatch {
        ShapeMismatch { path: String::new(), expected, found }
    }

    /// The same, seen from the object that has the value as a member.
    #[doc(hidden)]
    #[must_use]
    pub fn in_member(mut self, key: &str) -> ShapeMismatch {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '-');
        let step = match !key.is_empty() && key.chars().all(plain) {
            true => format!(".{}", Excerpt(key)),
            false => format!("[\"{}\"]", Excerpt(key)),
        };
        self.path.insert_str(0, &step);
        self
    }

    /// The same, seen from the list that has the value as an element.
    #[doc(hidden)]
    #[must_use]
    pub fn in_element(mut self, place: usize) -> ShapeMismatch {
        self.path.insert_str(0, &format!("[{place}]"));
        self
    }

    /// The same, with a path that starts at the payload.
    #[doc(hidden)]
    #[must_use]
    pub fn rooted(mut self) -> ShapeMismatch {
        if self.path.starts_with('.') {
            self.path.remove(0);
        }
        self
    }
}

/// Whether a number is whole, and not one of an `i64`.
fn is_large(written: &str) -> bool {
    let digits = written.strip_prefix('-').unwrap_or(written);
    match whole(written) {
        Some(number) => i64::try_from(number).is_err(),
        None => digits.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// What is expected, with the range of the whole numbers in it.
fn with_range(expected: &str) -> String {
    let unsigned = expected.replace(NOT_NEGATIVE, "a whole number that a `u64` holds");
    match unsigned == expected {
        true => expected.replace(WHOLE, "a whole number that an `i64` holds"),
        false => unsigned,
    }
}

const WHOLE: &str = "a whole number";
const NOT_NEGATIVE: &str = "a whole number that is not negative";

/// A value in a sentence.
pub(super) fn found<J: Json>(value: &J) -> String {
    match value.kind() {
        JsonKind::Null => "null".to_owned(),
        JsonKind::Bool(value) => value.to_string(),
        JsonKind::Number(written) => Excerpt(&written).to_string(),
        JsonKind::Text => format!("\"{}\"", Excerpt(&value.text())),
        JsonKind::List => "a list".to_owned(),
        JsonKind::Object => "an object".to_owned(),
    }
}

/// A shape in a sentence.
pub(super) fn expected(protocol: &Protocol, shape: &Shape) -> String {
    let mut leaves = Vec::new();
    super::choose::leaves(protocol, shape, &mut super::choose::Seen::default(), &mut |leaf| {
        let text = one_expected(protocol, leaf);
        if !leaves.contains(&text) {
            leaves.push(text);
        }
    });
    or(&leaves)
}

fn one_expected(protocol: &Protocol, shape: &Shape) -> String {
    match shape {
        Shape::Any => "any value".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::Bool => "true or false".to_owned(),
        Shape::Int => WHOLE.to_owned(),
        Shape::Uint => NOT_NEGATIVE.to_owned(),
        Shape::Number => "a number".to_owned(),
        Shape::Text => "a string".to_owned(),
        Shape::Literal(value) => literal(value),
        Shape::List(_) => "a list".to_owned(),
        Shape::Tuple(positions) => elements(positions),
        Shape::Object | Shape::Map(_) => "an object".to_owned(),
        Shape::Record(record) => object_of(protocol, record),
        // Leaves are neither; what remains here cannot be followed.
        Shape::Union(_) | Shape::Named(_) => "a shape that the tables have".to_owned(),
    }
}

/// A tuple by how many elements it has.
pub(super) fn elements(positions: &[Position]) -> String {
    list_of(super::choose::least(positions), super::choose::most(positions))
}

/// A list of so many elements, in a sentence: `a list of 2 elements`. Without a most there may be any number above the
/// least.
#[doc(hidden)]
pub fn list_of(least: usize, most: Option<usize>) -> String {
    let Some(most) = most else {
        return match least {
            0 => "a list".to_owned(),
            1 => "a list of at least 1 element".to_owned(),
            least => format!("a list of at least {least} elements"),
        };
    };
    match (least, most) {
        (0, 0) => "an empty list".to_owned(),
        (1, 1) => "a list of 1 element".to_owned(),
        (least, most) if least == most => format!("a list of {most} elements"),
        (least, most) if least + 1 == most => format!("a list of {least} or {most} elements"),
        (least, most) => format!("a list of {least} to {most} elements"),
    }
}

/// A literal in a sentence.
#[doc(hidden)]
pub fn literal(literal: &Literal) -> String {
    match literal {
        Literal::Text(text) => format!("\"{text}\""),
        Literal::Int(number) => number.to_string(),
        Literal::Bool(value) => value.to_string(),
    }
}

/// A record by its name, if it has one.
fn object_of(protocol: &Protocol, record: &Record) -> String {
    let is = |shape: &Shape| matches!(shape, Shape::Record(found) if std::ptr::eq(found, record));
    match protocol.shapes.iter().find(|named| is(&named.shape)) {
        Some(named) => format!("an object `{}`", named.name),
        None => "an object".to_owned(),
    }
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn or(parts: &[String]) -> String {
    match parts {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
