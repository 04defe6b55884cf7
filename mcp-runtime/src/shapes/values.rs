//! Reads the shapes that the language has by itself.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer};
use serde_json::Value;

use super::from_json::{Elements, FromJson, Members, deserialize, mismatch};
use super::in_memory::{NUMBER, written_number};
use super::number::Number;
use super::read_error::ReadError;
use super::tree::{JsonTree, Object};

macro_rules! from_tree {
    ($($type:ty, $expected:literal, $pattern:pat => $taken:expr;)*) => { $(
        impl<'de> FromJson<'de> for $type {
            const EXPECTED: &'static str = $expected;

            fn from_tree(value: JsonTree<'de>) -> Result<Self, ReadError> {
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

            fn from_tree(value: JsonTree<'de>) -> Result<Self, ReadError> {
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

    fn from_tree(value: JsonTree<'de>) -> Result<Self, ReadError> {
        Ok(value.into())
    }

    fn from_list(list: &mut Elements<'_, 'de>) -> Result<Self, ReadError> {
        let mut elements = Vec::new();
        while let Some(element) = list.any_element()? {
            elements.push(element);
        }
        Ok(Value::Array(elements))
    }

    fn from_object(object: &mut Members<'_, 'de>) -> Result<Self, ReadError> {
        Ok(match members(object)? {
            Ok(members) => Value::Object(members),
            Err(number) => number.into(),
        })
    }
}

/// The members of an object, or the number that is shown as one, see [`NUMBER`].
fn members(object: &mut Members<'_, '_>) -> Result<Result<Object, Number>, ReadError> {
    let mut members = Object::new();
    while let Some(key) = object.next_key()? {
        if key == NUMBER {
            return written_number(object.value(&key)?).map(Err);
        }
        members.insert(key.into_owned(), object.any_value()?);
    }
    Ok(Ok(members))
}

impl<'de> FromJson<'de> for Object {
    const EXPECTED: &'static str = "an object";

    fn from_object(object: &mut Members<'_, 'de>) -> Result<Self, ReadError> {
        let number = match members(object)? {
            Ok(members) => return Ok(members),
            Err(number) => JsonTree::Number(number),
        };
        Err(mismatch(Self::EXPECTED, &number))
    }
}

impl<'de, T: FromJson<'de>> FromJson<'de> for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn from_list(list: &mut Elements<'_, 'de>) -> Result<Self, ReadError> {
        list.rest()
    }
}

macro_rules! from_tuple {
    ($($expected:literal: $($type:ident)*;)*) => { $(
        impl<'de, $($type: FromJson<'de>),*> FromJson<'de> for ($($type,)*) {
            const EXPECTED: &'static str = $expected;

            fn from_list(list: &mut Elements<'_, 'de>) -> Result<Self, ReadError> {
                let tuple = ($(list.required::<$type>()?,)*);
                list.end().map(|()| tuple)
            }
        }
    )* };
}

from_tuple! {
    "a list of 1 element": A;
    "a list of 2 elements": A B;
    "a list of 3 elements": A B C;
    "a list of 4 elements": A B C D;
    "a list of 5 elements": A B C D E;
    "a list of 6 elements": A B C D E F;
    "a list of 7 elements": A B C D E F G;
    "a list of 8 elements": A B C D E F G H;
    "a list of 9 elements": A B C D E F G H I;
    "a list of 10 elements": A B C D E F G H I J;
    "a list of 11 elements": A B C D E F G H I J K;
    "a list of 12 elements": A B C D E F G H I J K L;
}

/// A member that is `null` is taken for absent unless `null` is a value of it, as an optional member is: Python's clients
/// fill in the empty fields of a form in this way.
impl<'de, T: FromJson<'de>> FromJson<'de> for BTreeMap<String, T> {
    const EXPECTED: &'static str = "an object";

    fn from_object(object: &mut Members<'_, 'de>) -> Result<Self, ReadError> {
        let mut members = BTreeMap::new();
        while let Some(key) = object.next_key()? {
            if let Some(value) = object.value::<Option<T>>(&key)? {
                members.insert(key.into_owned(), value);
            }
        }
        Ok(members)
    }
}

/// `T | null`, and an optional member: there, `null` is taken for absent unless it is a value of the member, because there
/// are peers that write it.
impl<'de, T: FromJson<'de>> FromJson<'de> for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_tree(value: JsonTree<'de>) -> Result<Self, ReadError> {
        match value {
            JsonTree::Null => Ok(T::from_tree(JsonTree::Null).ok()),
            value => T::from_tree(value).map(Some),
        }
    }

    fn from_list(list: &mut Elements<'_, 'de>) -> Result<Self, ReadError> {
        T::from_list(list).map(Some)
    }

    fn from_object(object: &mut Members<'_, 'de>) -> Result<Self, ReadError> {
        T::from_object(object).map(Some)
    }
}

impl<'de, T: FromJson<'de>> FromJson<'de> for Box<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_tree(value: JsonTree<'de>) -> Result<Self, ReadError> {
        T::from_tree(value).map(Box::new)
    }

    fn from_list(list: &mut Elements<'_, 'de>) -> Result<Self, ReadError> {
        T::from_list(list).map(Box::new)
    }

    fn from_object(object: &mut Members<'_, 'de>) -> Result<Self, ReadError> {
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
        let (in_memory, place) = (tree.read::<T>(), " at line 1 column ");
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
    fn null_in_a_map_is_absent_unless_it_is_a_value() {
        let texts = read::<BTreeMap<String, String>>(r#"{ "a": null, "b": "x" }"#);
        assert_eq!(texts, Ok(BTreeMap::from([("b".to_owned(), "x".to_owned())])));
        let or_null = read::<BTreeMap<String, Option<String>>>(r#"{ "a": null }"#);
        assert_eq!(or_null, Ok(BTreeMap::from([("a".to_owned(), None)])));
        let any = read::<BTreeMap<String, Value>>(r#"{ "a": null }"#);
        assert_eq!(any, Ok(BTreeMap::from([("a".to_owned(), Value::Null)])));
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
