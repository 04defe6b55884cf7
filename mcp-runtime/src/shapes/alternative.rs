//! Which alternative of a union a value is.
//!
//! Any part of a value may decide that, so it is read into memory first. But where the first member of an object decides,
//! as `type` does, the others are read as those of the alternative while they are parsed.

use std::borrow::Cow;

use mcp_protocol_machine::protocol::{Protocol, Shape, ShapeIndex};
use mcp_protocol_machine::shape::{choose, choose_by_text, judge};
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess};

use super::from_json::mismatch;
use super::tree::JsonTree;
use crate::jsonrpc::JsonKey;

/// Which alternative of a union a value is, by its place.
///
/// # Errors
/// Where the value fits none of them.
#[doc(hidden)]
pub fn chosen<E: Error>(protocol: &Protocol, union: ShapeIndex, value: &JsonTree<'_>) -> Result<usize, E> {
    match choose(protocol, parts(protocol, union), value) {
        Some(place) => Ok(place),
        None => Err(match judge(protocol, &Shape::Named(union), value) {
            Err(mismatch) => E::custom(mismatch.rooted()),
            Ok(()) => mismatch("one of several shapes", value),
        }),
    }
}

fn parts(protocol: &Protocol, union: ShapeIndex) -> &[Shape] {
    match protocol.shape(union).map(|named| &named.shape) {
        Some(Shape::Union(parts)) => parts,
        Some(other) => std::slice::from_ref(other),
        None => &[],
    }
}

/// An object whose first member was read already. It still comes first.
#[derive(Debug)]
pub struct Begun<'de, A> {
    key: Option<Cow<'de, str>>,
    value: Option<JsonTree<'de>>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> Begun<'de, A> {
    /// Reads the first member, if there is one.
    ///
    /// # Errors
    /// The error of the parser.
    pub fn of(mut object: A) -> Result<Self, A::Error> {
        Ok(match object.next_key()? {
            Some(JsonKey(key)) => Begun { key: Some(key), value: Some(object.next_value()?), rest: object },
            None => Begun { key: None, value: None, rest: object },
        })
    }

    /// Which alternative of a union the object is, by its place, if the first member decides that.
    pub fn chosen(&self, protocol: &Protocol, union: ShapeIndex) -> Option<usize> {
        let text = self.value.as_ref()?.text()?;
        choose_by_text(protocol, parts(protocol, union), self.key.as_ref()?, text)
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Begun<'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.key.take() {
            Some(key) => seed.deserialize(JsonTree::Text(key).into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(value) => seed.deserialize(value.into_deserializer()),
            None => self.rest.next_value_seed(seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use mcp_protocol_machine::protocol::{NamedShape, RecordField};
    use serde::de::{Deserializer, Visitor};
    use serde_json::{Value, json};

    use super::super::FromJson;
    use super::*;

    static TEXT: [RecordField; 2] =
        [RecordField::required("type", Shape::literal("text")), RecordField::required("text", Shape::Text)];
    static IMAGE: [RecordField; 1] = [RecordField::required("type", Shape::literal("image"))];
    static PARTS: [Shape; 3] = [Shape::record(&TEXT), Shape::Text, Shape::record(&IMAGE)];
    static CONTENT: [NamedShape; 1] = [NamedShape::named("Content", Shape::union(&PARTS))];
    static TABLES: Protocol = Protocol::table("Test", &[]).shapes(&CONTENT);

    /// What the first member decides, and the whole object.
    struct Decided;

    impl<'de> Visitor<'de> for Decided {
        type Value = (Option<usize>, Value);

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
            let object = Begun::of(object)?;
            let chosen = object.chosen(&TABLES, ShapeIndex(0));
            Ok((chosen, JsonTree::from_object(object)?.into()))
        }
    }

    fn decided(text: &str) -> Result<(Option<usize>, Value), String> {
        serde_json::Deserializer::from_str(text).deserialize_any(Decided).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_member_decides_and_stays_where_it_is() {
        let text = json!({ "type": "text", "text": "hi" });
        assert_eq!(decided(r#"{ "type": "text", "text": "hi" }"#), Ok((Some(0), text.clone())));
        assert_eq!(decided(r#"{ "ty\u0070e": "im\u0061ge" }"#), Ok((Some(2), json!({ "type": "image" }))));
        assert_eq!(decided(r#"{ "text": "hi", "type": "text" }"#), Ok((None, text)), "another one is first");
        assert_eq!(decided(r#"{ "type": "sound" }"#), Ok((None, json!({ "type": "sound" }))));
        assert_eq!(decided(r#"{ "type": 5 }"#), Ok((None, json!({ "type": 5 }))));
        assert_eq!(decided("{}"), Ok((None, json!({}))));
    }

    #[test]
    fn errors_of_the_parser_are_told() {
        for text in ["{", r#"{ "type""#, r#"{ "type":"#, r#"{ "type": "text""#, r#"{ "type": "text", }"#] {
            assert!(decided(text).is_err(), "{text}");
        }
    }
}
