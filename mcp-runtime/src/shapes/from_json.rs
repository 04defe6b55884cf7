//! Reads the shapes that the language has by itself.

use std::collections::BTreeMap;

use mcp_protocol_machine::protocol::{Protocol, Shape, ShapeIndex};
use mcp_protocol_machine::shape::{ShapeMismatch, choose, judge};
use serde::Deserializer;
use serde::de::{Deserialize, Error as _};
use serde_json::Value;

use super::view::ValueView;

/// An object whose members nothing is said about.
pub type Object = serde_json::Map<String, Value>;

/// A type that is read from JSON, piece by piece.
pub trait FromJson: Sized {
    /// What a value should be, in a sentence: `a string`.
    const EXPECTED: &'static str;

    /// Reads a value.
    ///
    /// # Errors
    /// The first place where the value does not have the shape.
    fn from_json(value: Value) -> Result<Self, ShapeMismatch>;

    /// What is wrong with a value that is something else altogether.
    #[doc(hidden)]
    fn mismatch(value: &Value) -> ShapeMismatch {
        ShapeMismatch::of_value(Self::EXPECTED, &ValueView(value))
    }
}

macro_rules! from_json {
    ($($type:ty, $expected:literal, $pattern:pat => $taken:expr;)*) => { $(
        impl FromJson for $type {
            const EXPECTED: &'static str = $expected;

            fn from_json(value: Value) -> Result<Self, ShapeMismatch> {
                match value {
                    $pattern => Ok($taken),
                    other => Err(Self::mismatch(&other)),
                }
            }
        }
    )* };
}

from_json! {
    String, "a string", Value::String(text) => text;
    bool, "true or false", Value::Bool(value) => value;
    Object, "an object", Value::Object(members) => members;
    (), "null", Value::Null => ();
}

impl FromJson for Value {
    const EXPECTED: &'static str = "any value";

    fn from_json(value: Value) -> Result<Self, ShapeMismatch> {
        Ok(value)
    }
}

/// The largest whole number to which every whole number can be told from its neighbours as an `f64`.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// A whole number that is written like `1.0` or `1e3`.
fn whole(value: &Value) -> Option<i64> {
    let number = value.as_f64().filter(|_| value.is_f64())?;
    (number.fract() == 0.0 && number.abs() <= LARGEST_EXACT).then_some(number as i64)
}

impl FromJson for i64 {
    const EXPECTED: &'static str = "a whole number";

    fn from_json(value: Value) -> Result<Self, ShapeMismatch> {
        value.as_i64().or_else(|| whole(&value)).ok_or_else(|| Self::mismatch(&value))
    }
}

impl FromJson for u64 {
    const EXPECTED: &'static str = "a whole number that is not negative";

    fn from_json(value: Value) -> Result<Self, ShapeMismatch> {
        let whole = || whole(&value).and_then(|number| u64::try_from(number).ok());
        value.as_u64().or_else(whole).ok_or_else(|| Self::mismatch(&value))
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn from_json(value: Value) -> Result<Self, ShapeMismatch> {
        let Value::Array(elements) = value else { return Err(Self::mismatch(&value)) };
        let element = |(place, value)| T::from_json(value).map_err(|mismatch| mismatch.in_element(place));
        elements.into_iter().enumerate().map(element).collect()
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    const EXPECTED: &'static str = "an object";

    fn from_json(value: Value) -> Result<Self, ShapeMismatch> {
        let Value::Object(members) = value else { return Err(Self::mismatch(&value)) };
        let member = |(key, value): (String, Value)| match T::from_json(value) {
            Ok(value) => Ok((key, value)),
            Err(mismatch) => Err(mismatch.in_member(&key)),
        };
        members.into_iter().map(member).collect()
    }
}

/// `T | null`
impl<T: FromJson> FromJson for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_json(value: Value) -> Result<Self, ShapeMismatch> {
        match value {
            Value::Null => Ok(None),
            value => T::from_json(value).map(Some),
        }
    }
}

impl<T: FromJson> FromJson for Box<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_json(value: Value) -> Result<Self, ShapeMismatch> {
        T::from_json(value).map(Box::new)
    }
}

/// Which alternative of a union a value is, by its place.
#[doc(hidden)]
pub fn chosen(protocol: &Protocol, union: ShapeIndex, value: &Value) -> Result<usize, ShapeMismatch> {
    let shape = protocol.shape(union).map(|named| &named.shape);
    let parts: &[Shape] = match shape {
        Some(Shape::Union(parts)) => parts,
        Some(other) => std::slice::from_ref(other),
        None => &[],
    };
    match choose(protocol, parts, &ValueView(value)) {
        Some(place) => Ok(place),
        None => Err(match judge(protocol, &Shape::Named(union), &ValueView(value)) {
            Err(mismatch) => mismatch,
            Ok(()) => ShapeMismatch::of_value("one of several shapes", &ValueView(value)),
        }),
    }
}

/// Reads a generated type from any JSON that serde reads.
#[doc(hidden)]
pub fn deserialize<'de, T: FromJson, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::from_json(Value::deserialize(deserializer)?).map_err(|mismatch| D::Error::custom(mismatch.rooted()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mismatch_says_where() {
        let error = |value| Vec::<BTreeMap<String, i64>>::from_json(value).unwrap_err().rooted().to_string();
        assert_eq!(error(json!([{ "a": 1 }, { "b": "x" }])), "[1].b: expected a whole number, found \"x\"");
        assert_eq!(error(json!({})), "expected a list, found an object");
    }

    #[test]
    fn whole_numbers_may_be_written_with_a_point() {
        assert_eq!(i64::from_json(json!(2.0)).unwrap(), 2);
        assert!(i64::from_json(json!(2.5)).is_err());
        assert_eq!(u64::from_json(json!(u64::MAX)).unwrap(), u64::MAX);
        assert!(u64::from_json(json!(-1.0)).is_err());
    }
}
