//! Reads the shapes that the language has by itself.

use std::collections::BTreeMap;

use serde::de::value::{Error as AnyError, MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess};
use serde_json::Value;

use super::from_json::{FromJson, Reader, deserialize, mismatch};
use super::number::Number;
use super::place::{in_element, in_member};
use super::tree::{JsonTree, Object};
use crate::jsonrpc::JsonKey;

macro_rules! from_tree {
    ($($type:ty, $expected:literal, $pattern:pat => $taken:expr;)*) => { $(
        impl<'de> FromJson<'de> for $type {
            const EXPECTED: &'static str = $expected;

            fn from_tree<E: Error>(value: JsonTree<'de>) -> Result<Self, E> {
                match value {
                    $pattern => Ok($taken),
                    other => Err(mismatch(Self::EXPECTED, &other)),
                }
            }
        }
    )* };
}

from_tree! {
    String, "a string", JsonTree::Text(text) => text.into_owned();
    bool, "true or false", JsonTree::Bool(value) => value;
    Number, "a number", JsonTree::Number(number) => number;
    (), "null", JsonTree::Null => ();
}

macro_rules! from_whole_number {
    ($($type:ty, $expected:literal, $taken:ident;)*) => { $(
        impl<'de> FromJson<'de> for $type {
            const EXPECTED: &'static str = $expected;

            fn from_tree<E: Error>(value: JsonTree<'de>) -> Result<Self, E> {
                let whole = match &value {
                    JsonTree::Number(number) => number.$taken(),
                    _ => None,
                };
                whole.ok_or_else(|| mismatch(Self::EXPECTED, &value))
            }
        }
    )* };
}

from_whole_number! {
    i64, "a whole number", as_i64;
    u64, "a whole number that is not negative", as_u64;
}

impl<'de> FromJson<'de> for Value {
    const EXPECTED: &'static str = "any value";

    fn from_tree<E: Error>(value: JsonTree<'de>) -> Result<Self, E> {
        Ok(value.into())
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(list))
    }

    fn from_object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(object))
    }
}

impl<'de> FromJson<'de> for Object {
    const EXPECTED: &'static str = "an object";

    fn from_object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        // What comes as an object may still be a number, see `tree::NUMBER`.
        match Value::from_object(object)? {
            Value::Object(members) => Ok(members),
            other => Err(mismatch(Self::EXPECTED, &JsonTree::deserialize(other).map_err(A::Error::custom)?)),
        }
    }
}

impl<'de, T: FromJson<'de>> FromJson<'de> for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut elements = Vec::new();
        loop {
            match list.next_element_seed(Reader::new()) {
                Ok(Some(element)) => elements.push(element),
                Ok(None) => return Ok(elements),
                Err(error) => return Err(in_element(elements.len(), error)),
            }
        }
    }
}

impl<'de, T: FromJson<'de>> FromJson<'de> for BTreeMap<String, T> {
    const EXPECTED: &'static str = "an object";

    fn from_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut members = BTreeMap::new();
        while let Some(JsonKey(key)) = object.next_key()? {
            let value = object.next_value_seed(Reader::new()).map_err(|error| in_member(&key, error))?;
            members.insert(key.into_owned(), value);
        }
        Ok(members)
    }
}

/// `T | null`, and an optional member: there, `null` is taken for absent unless it is a value of the member, because there
/// are peers that write it.
impl<'de, T: FromJson<'de>> FromJson<'de> for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_tree<E: Error>(value: JsonTree<'de>) -> Result<Self, E> {
        match value {
            JsonTree::Null => Ok(T::from_tree::<AnyError>(JsonTree::Null).ok()),
            value => T::from_tree(value).map(Some),
        }
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        T::from_list(list).map(Some)
    }

    fn from_object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        T::from_object(object).map(Some)
    }
}

impl<'de, T: FromJson<'de>> FromJson<'de> for Box<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_tree<E: Error>(value: JsonTree<'de>) -> Result<Self, E> {
        T::from_tree(value).map(Box::new)
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        T::from_list(list).map(Box::new)
    }

    fn from_object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        T::from_object(object).map(Box::new)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'de, T: FromJson<'de>>(text: &'de str) -> Result<T, String> {
        let mut parser = serde_json::Deserializer::from_str(text);
        let error = |error: serde_json::Error| error.to_string();
        let parsed = deserialize(&mut parser).map_err(error);
        // The same value from memory is read in the same way, but for the place in the text.
        let tree: JsonTree<'_> = serde_json::from_str(text).map_err(error)?;
        let (in_memory, place) = (tree.read::<T, AnyError>(), " at line 1 column ");
        match (&parsed, &in_memory) {
            (Err(parsed), Err(in_memory)) => {
                assert_eq!(parsed.split(place).next(), Some(&*in_memory.to_string()));
            }
            (parsed, in_memory) => assert_eq!(parsed.is_ok(), in_memory.is_ok()),
        }
        parsed
    }

    #[test]
    fn a_mismatch_says_where() {
        let error = |text| read::<Vec<BTreeMap<String, i64>>>(text).unwrap_err();
        assert_eq!(
            error(r#"[{ "a": 1 }, { "b": "x" }]"#),
            "[1].b: expected a whole number, found \"x\" at line 1 column 23"
        );
        assert_eq!(error("{}"), "expected a list, found an object at line 1 column 2");
        assert_eq!(error("[null]"), "[0]: expected an object, found null at line 1 column 5");
    }

    #[test]
    fn whole_numbers_may_be_written_with_a_point() {
        assert_eq!(read::<i64>("2.0"), Ok(2));
        assert!(read::<i64>("2.5").is_err());
        assert_eq!(read::<u64>(&u64::MAX.to_string()), Ok(u64::MAX));
        assert!(read::<u64>("-1.0").is_err());
    }

    #[test]
    fn null_stays_null_where_it_is_a_value() {
        type Parent = Option<Option<String>>;
        assert_eq!(read::<Parent>("null"), Ok(Some(None)));
        assert_eq!(read::<Option<String>>("null"), Ok(None));
        assert_eq!(read::<Option<Value>>("null"), Ok(Some(Value::Null)));
        assert_eq!(read::<Option<Vec<i64>>>("[1]"), Ok(Some(vec![1])));
        assert_eq!(read::<Option<Box<Object>>>("{}"), Ok(Some(Box::new(Object::new()))));
    }
}
