//! What a record does with its members while its object is parsed.

use std::borrow::Cow;

use serde::de::{Error, IgnoredAny, MapAccess};

use super::from_json::{FromJson, Reader, mismatch};
use super::place::{in_member, missing};
use super::tree::{JsonTree, Object};
use crate::jsonrpc::JsonKey;

/// The members of an object, each of which is read or left, one after the other.
#[derive(Debug)]
pub struct Members<A>(A);

impl<'de, A: MapAccess<'de>> Members<A> {
    /// The members of an object.
    pub fn of(object: A) -> Members<A> {
        Members(object)
    }

    /// The key of the next member.
    ///
    /// # Errors
    /// The error of the parser.
    pub fn next_key(&mut self) -> Result<Option<Cow<'de, str>>, A::Error> {
        Ok(self.0.next_key::<JsonKey<'de>>()?.map(|JsonKey(key)| key))
    }

    /// The value of the member whose key was the last one.
    ///
    /// # Errors
    /// It does not have its shape.
    pub fn value<T: FromJson<'de>>(&mut self, key: &str) -> Result<T, A::Error> {
        self.0.next_value_seed(Reader::new()).map_err(|error| in_member(key, error))
    }

    /// Reads a value that must be one of the texts.
    ///
    /// # Errors
    /// It is something else.
    pub fn literal(&mut self, literals: &mut [Literal], key: &str) -> Result<(), A::Error> {
        let found: JsonTree<'de> = self.value(key)?;
        for literal in literals.iter_mut().filter(|literal| literal.key == key) {
            if found.text() != Some(literal.text) {
                return Err(in_member(key, mismatch(&literal.expected(), &found)));
            }
            literal.is_there = true;
        }
        Ok(())
    }

    /// Leaves a value.
    ///
    /// # Errors
    /// The error of the parser.
    pub fn ignore(&mut self) -> Result<(), A::Error> {
        self.0.next_value::<IgnoredAny>().map(drop)
    }

    /// Keeps a value.
    ///
    /// # Errors
    /// The error of the parser.
    pub fn keep(&mut self, key: Cow<'de, str>, rest: &mut Object) -> Result<(), A::Error> {
        rest.insert(key.into_owned(), self.0.next_value()?);
        Ok(())
    }
}

/// A member that must be a text.
#[derive(Debug)]
pub struct Literal {
    key: &'static str,
    text: &'static str,
    is_there: bool,
}

impl Literal {
    /// `key: "text"`, which has not been seen.
    pub fn new(key: &'static str, text: &'static str) -> Literal {
        Literal { key, text, is_there: false }
    }

    fn expected(&self) -> String {
        format!("\"{}\"", self.text)
    }

    /// Whether all have been seen.
    ///
    /// # Errors
    /// The first one that has not.
    pub fn all_there<E: Error>(literals: &[Literal]) -> Result<(), E> {
        match literals.iter().find(|literal| !literal.is_there) {
            Some(literal) => Err(missing(literal.key, &literal.expected())),
            None => Ok(()),
        }
    }
}

/// What a member that must be there has become.
///
/// # Errors
/// It is not there.
pub fn required<'de, T: FromJson<'de>, E: Error>(value: Option<T>, key: &str) -> Result<T, E> {
    value.ok_or_else(|| missing(key, T::EXPECTED))
}

#[cfg(test)]
mod tests {
    use serde::de::Deserializer as _;
    use serde_json::{Value, json};

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

        fn from_object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
            let mut members = Members::of(object);
            let literals = &mut [Literal::new("type", "text")];
            let (mut text, mut title, mut rest) = (None, None, Object::new());
            while let Some(key) = members.next_key()? {
                match &*key {
                    "type" => members.literal(literals, "type")?,
                    "text" => text = Some(members.value("text")?),
                    "title" => title = members.value("title")?,
                    "left" => members.ignore()?,
                    _ => members.keep(key, &mut rest)?,
                }
            }
            Literal::all_there(literals)?;
            Ok(Text { text: required(text, "text")?, title, rest })
        }
    }

    fn read(text: &str) -> Result<Text, String> {
        let read = serde_json::Deserializer::from_str(text).deserialize_any(Reader::<Text>::new());
        read.map_err(|error| error.to_string().split(" at line").next().unwrap_or_default().to_owned())
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
