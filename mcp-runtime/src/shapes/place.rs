//! Where in a payload an error is: each object and list that is left puts its step before what it got.

use mcp_protocol_machine::shape::ShapeMismatch;
use serde::de::Error;

/// The error, seen from the object that has the value as a member.
pub(super) fn in_member<E: Error>(key: &str, error: E) -> E {
    within(ShapeMismatch::of_nothing("").in_member(key), &error)
}

/// The error, seen from the list that has the value as an element.
pub(super) fn in_element<E: Error>(place: usize, error: E) -> E {
    within(ShapeMismatch::of_nothing("").in_element(place), &error)
}

/// The error that a member is not there.
pub(super) fn missing<E: Error>(key: &str, expected: &str) -> E {
    in_member(key, E::custom(ShapeMismatch::of_nothing(expected)))
}

/// Parsers know errors as texts only, so the path is put together in the text: `content[2].text: expected a string, …`.
/// What is wrong there begins with this word; errors of parsers themselves have no path.
const WRONG: &str = "expected ";

fn within<E: Error>(step: ShapeMismatch, error: &E) -> E {
    let (step, error) = (step.rooted().path, error.to_string());
    let has_path = !error.starts_with(WRONG) && error.contains(&format!(": {WRONG}"));
    let between = match has_path {
        true if error.starts_with('[') => "",
        true => ".",
        false => ": ",
    };
    E::custom(format!("{step}{between}{error}"))
}

#[cfg(test)]
mod tests {
    use serde::de::value::Error as AnyError;

    use super::*;

    fn wrong(text: &str) -> AnyError {
        AnyError::custom(text)
    }

    #[test]
    fn steps_become_one_path() {
        let text = missing::<AnyError>("text", "a string");
        assert_eq!(text.to_string(), "text: expected a string, found nothing");
        let element = in_element(2, text);
        assert_eq!(element.to_string(), "[2].text: expected a string, found nothing");
        let content = in_member("content", element);
        assert_eq!(content.to_string(), "content[2].text: expected a string, found nothing");
        let meta = in_member("_meta", in_member("example.org/a", wrong("expected null, found 1")));
        assert_eq!(meta.to_string(), "_meta[\"example.org/a\"]: expected null, found 1");
    }

    #[test]
    fn what_was_found_is_no_path() {
        let error = in_member("a", in_member("b", wrong("expected null, found \"x: expected y\"")));
        assert_eq!(error.to_string(), "a.b: expected null, found \"x: expected y\"");
    }

    #[test]
    fn errors_of_parsers_stay_whole() {
        let error = in_member("a", in_element(0, wrong("EOF while parsing a string at line 1 column 3")));
        assert_eq!(error.to_string(), "a: [0]: EOF while parsing a string at line 1 column 3");
    }
}
