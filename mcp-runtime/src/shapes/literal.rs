//! Members and elements that must be a certain value, and those that must be there.

use mcp_protocol_machine::protocol;
use mcp_protocol_machine::shape::expected_literal;

use super::from_json::{Elements, FromJson, Members, mismatch};
use super::read_error::ReadError;
use super::tree::JsonTree;

/// A member that must be a certain value.
#[derive(Debug)]
pub struct Literal {
    key: &'static str,
    value: protocol::Literal,
    is_there: bool,
}

impl Literal {
    /// `key: "text"`, `key: 1`, `key: true`, which has not been seen.
    pub fn new(key: &'static str, value: impl Into<protocol::Literal>) -> Literal {
        Literal { key, value: value.into(), is_there: false }
    }

    fn is(&self, found: &JsonTree<'_>) -> bool {
        match (&self.value, found) {
            (protocol::Literal::Text(text), found) => found.text() == Some(text),
            (protocol::Literal::Int(one), JsonTree::Number(other)) => other.as_i64() == Some(*one),
            (protocol::Literal::Bool(one), JsonTree::Bool(other)) => one == other,
            _ => false,
        }
    }

    /// Reads the value of a member that must be one of the literals.
    ///
    /// # Errors
    /// It is something else, or the error of the parser.
    pub fn read(literals: &mut [Literal], members: &mut Members<'_, '_>, key: &str) -> Result<(), ReadError> {
        let found: JsonTree<'_> = members.value(key)?;
        for literal in literals.iter_mut().filter(|literal| literal.key == key) {
            if !literal.is(&found) {
                return Err(mismatch(&expected_literal(&literal.value), &found).in_member(key));
            }
            literal.is_there = true;
        }
        Ok(())
    }

    /// Whether all have been seen.
    ///
    /// # Errors
    /// The first one that has not.
    pub fn all_there(literals: &[Literal]) -> Result<(), ReadError> {
        match literals.iter().find(|literal| !literal.is_there) {
            Some(literal) => Err(ReadError::missing(literal.key, &expected_literal(&literal.value))),
            None => Ok(()),
        }
    }
}

/// Reads an element that must be a certain value.
///
/// # Errors
/// It is something else or not there, or the error of the parser.
pub fn literal_element(
    list: &mut Elements<'_, '_>,
    value: impl Into<protocol::Literal>,
) -> Result<(), ReadError> {
    let (place, literal) = (list.count(), Literal::new("", value));
    let expected = expected_literal(&literal.value);
    match list.next_element()? {
        Some(found) if literal.is(&found) => Ok(()),
        Some(found) => Err(mismatch(&expected, &found).in_element(place)),
        None => Err(ReadError::missing_element(place, &expected)),
    }
}

/// What an element that must be there has become.
///
/// # Errors
/// It was not read.
pub fn required_element<'de, T: FromJson<'de>>(value: Option<T>, place: usize) -> Result<T, ReadError> {
    value.ok_or_else(|| ReadError::missing_element(place, T::EXPECTED))
}

/// The error that a tuple has a position, and one before it is absent.
pub fn gap<E: serde::ser::Error>(absent: usize, there: usize) -> E {
    E::custom(format!("[{absent}] is absent and [{there}] is not: only the last positions may be absent"))
}

/// What a member that must be there has become.
///
/// # Errors
/// It is not there.
pub fn required<'de, T: FromJson<'de>>(value: Option<T>, key: &str) -> Result<T, ReadError> {
    value.ok_or_else(|| ReadError::missing(key, T::EXPECTED))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::from_json::deserialize;
    use super::super::tree::Object;
    use super::*;

    /// `{ type: "text", text: string, title?: string, ..rest }`
    #[derive(Debug, PartialEq)]
    struct Text {
        text: String,
        title: Option<String>,
        rest: Object,
    }

    impl<'de> FromJson<'de> for Text {
        const EXPECTED: &'static str = "an object `Text`";

        fn from_object(members: &mut Members<'_, 'de>) -> Result<Self, ReadError> {
            let literals = &mut [Literal::new("type", "text")];
            let (mut text, mut title, mut rest) = (None, None, Object::new());
            while let Some(key) = members.next_key()? {
                match &*key {
                    "type" => Literal::read(literals, members, "type")?,
                    "text" => text = Some(members.value("text")?),
                    "title" => title = members.value("title")?,
                    "left" => members.ignore()?,
                    _ => drop(rest.insert(key.into_owned(), members.any_value()?)),
                }
            }
            Literal::all_there(literals)?;
            Ok(Text { text: required(text, "text")?, title, rest })
        }
    }

    fn read(text: &str) -> Result<Text, String> {
        let read = deserialize(&mut serde_json::Deserializer::from_str(text));
        read.map_err(|error: serde_json::Error| {
            error.to_string().split(" at line").next().unwrap_or_default().to_owned()
        })
    }

    #[test]
    fn members_are_taken_by_their_keys() {
        let text = read(r#"{ "type": "text", "text": "hi", "title": null, "left": 1, "more": { "a": [] } }"#);
        let Value::Object(rest) = json!({ "more": { "a": [] } }) else { panic!() };
        assert_eq!(text, Ok(Text { text: "hi".to_owned(), title: None, rest }));
        let error = |text| read(text).unwrap_err();
        assert_eq!(error(r#"{ "type": "text" }"#), "text: expected a string, found nothing");
        assert_eq!(error(r#"{ "text": "hi" }"#), "type: expected \"text\", found nothing");
        assert_eq!(error(r#"{ "type": "image" }"#), "type: expected \"text\", found \"image\"");
        assert_eq!(error(r#"{ "type": 5 }"#), "type: expected \"text\", found 5");
        assert_eq!(error(r#"{ "type": "text", "title": 1 }"#), "title: expected a string, found 1");
        assert_eq!(error("[]"), "expected an object `Text`, found a list");
    }

    #[test]
    fn of_several_members_with_one_key_the_last_one_counts() {
        let text = read(r#"{ "type": "text", "text": "a", "b": 2, "text": "c", "b": 5 }"#).unwrap();
        assert_eq!((&*text.text, &text.rest["b"]), ("c", &json!(5)));
    }
}
