//! Reads the shapes that the language has by itself.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mcp_protocol_machine::protocol::{Protocol, Shape, ShapeIndex};
use mcp_protocol_machine::shape::{ShapeMismatch, choose, judge};
use serde::Deserializer;
use serde::de::{Deserialize, Error as _};
use serde_json::Value;

use super::number::Number;
use super::tree::{JsonTree, Object, object};

/// A type that is read from JSON, piece by piece.
pub trait FromJson: Sized {
    /// What a value should be, in a sentence: `a string`.
    const EXPECTED: &'static str;

    /// Reads a value.
    ///
    /// # Errors
    /// The first place where the value does not have the shape.
    fn from_json(value: JsonTree<'_>) -> Result<Self, ShapeMismatch>;

    /// What is wrong with a value that is something else altogether.
    #[doc(hidden)]
    fn mismatch(value: &JsonTree<'_>) -> ShapeMismatch {
        ShapeMismatch::of_value(Self::EXPECTED, value)
    }
}

macro_rules! from_json {
    ($($type:ty, $expected:literal, $pattern:pat => $taken:expr;)*) => { $(
        impl FromJson for $type {
            const EXPECTED: &'static str = $expected;

            fn from_json(value: JsonTree<'_>) -> Result<Self, ShapeMismatch> {
                match value {
                    $pattern => Ok($taken),
                    other => Err(Self::mismatch(&other)),
                }
            }
        }
    )* };
}

from_json! {
    String, "a string", JsonTree::Text(text) => text.into_owned();
    bool, "true or false", JsonTree::Bool(value) => value;
    Object, "an object", JsonTree::Object(members) => object(members);
    Number, "a number", JsonTree::Number(number) => number;
    (), "null", JsonTree::Null => ();
}

impl FromJson for Value {
    const EXPECTED: &'static str = "any value";

    fn from_json(value: JsonTree<'_>) -> Result<Self, ShapeMismatch> {
        Ok(value.into())
    }
}

impl FromJson for i64 {
    const EXPECTED: &'static str = "a whole number";

    fn from_json(value: JsonTree<'_>) -> Result<Self, ShapeMismatch> {
        match &value {
            JsonTree::Number(number) => number.as_i64(),
            _ => None,
        }
        .ok_or_else(|| Self::mismatch(&value))
    }
}

impl FromJson for u64 {
    const EXPECTED: &'static str = "a whole number that is not negative";

    fn from_json(value: JsonTree<'_>) -> Result<Self, ShapeMismatch> {
        match &value {
            JsonTree::Number(number) => number.as_u64(),
            _ => None,
        }
        .ok_or_else(|| Self::mismatch(&value))
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn from_json(value: JsonTree<'_>) -> Result<Self, ShapeMismatch> {
        let JsonTree::List(elements) = value else { return Err(Self::mismatch(&value)) };
        let element = |(place, value)| T::from_json(value).map_err(|mismatch| mismatch.in_element(place));
        elements.into_iter().enumerate().map(element).collect()
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    const EXPECTED: &'static str = "an object";

    fn from_json(value: JsonTree<'_>) -> Result<Self, ShapeMismatch> {
        let JsonTree::Object(members) = value else { return Err(Self::mismatch(&value)) };
        let member = |(key, value): (Cow<'_, str>, JsonTree<'_>)| match T::from_json(value) {
            Ok(value) => Ok((key.into_owned(), value)),
            Err(mismatch) => Err(mismatch.in_member(&key)),
        };
        members.into_iter().map(member).collect()
    }
}

/// `T | null`
impl<T: FromJson> FromJson for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_json(value: JsonTree<'_>) -> Result<Self, ShapeMismatch> {
        match value {
            JsonTree::Null => Ok(None),
            value => T::from_json(value).map(Some),
        }
    }
}

impl<T: FromJson> FromJson for Box<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_json(value: JsonTree<'_>) -> Result<Self, ShapeMismatch> {
        T::from_json(value).map(Box::new)
    }
}

/// Which alternative of a union a value is, by its place.
#[doc(hidden)]
pub fn chosen(protocol: &Protocol, union: ShapeIndex, value: &JsonTree<'_>) -> Result<usize, ShapeMismatch> {
    let shape = protocol.shape(union).map(|named| &named.shape);
    let parts: &[Shape] = match shape {
        Some(Shape::Union(parts)) => parts,
        Some(other) => std::slice::from_ref(other),
        None => &[],
    };
    match choose(protocol, parts, value) {
        Some(place) => Ok(place),
        None => Err(match judge(protocol, &Shape::Named(union), value) {
            Err(mismatch) => mismatch,
            Ok(()) => ShapeMismatch::of_value("one of several shapes", value),
        }),
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer)
    }
}

/// Reads a generated type from any JSON that serde reads.
#[doc(hidden)]
pub fn deserialize<'de, T: FromJson, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::from_json(JsonTree::deserialize(deserializer)?).map_err(|mismatch| D::Error::custom(mismatch.rooted()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: FromJson>(text: &str) -> Result<T, String> {
        T::from_json(serde_json::from_str(text).unwrap()).map_err(|mismatch| mismatch.rooted().to_string())
    }

    #[test]
    fn a_mismatch_says_where() {
        let error = |text| read::<Vec<BTreeMap<String, i64>>>(text).unwrap_err();
        assert_eq!(error(r#"[{ "a": 1 }, { "b": "x" }]"#), "[1].b: expected a whole number, found \"x\"");
        assert_eq!(error("{}"), "expected a list, found an object");
    }

    #[test]
    fn whole_numbers_may_be_written_with_a_point() {
        assert_eq!(read::<i64>("2.0"), Ok(2));
        assert!(read::<i64>("2.5").is_err());
        assert_eq!(read::<u64>(&u64::MAX.to_string()), Ok(u64::MAX));
        assert!(read::<u64>("-1.0").is_err());
    }
}
