//! How a type is read from JSON: from the text as it is parsed, or from a value that is in memory.

use std::fmt;
use std::marker::PhantomData;

use mcp_protocol_machine::shape::ShapeMismatch;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::tree::JsonTree;

/// A type that is read from JSON, piece by piece. Every shape that the language has by itself is one, and so is every type
/// that is generated.
///
/// A type says what it makes of a list and of an object while they are parsed. What it says nothing about is read into
/// memory and given to [`from_tree`](FromJson::from_tree).
pub trait FromJson<'de>: Sized {
    /// What a value should be, in a sentence: `a string`.
    const EXPECTED: &'static str;

    /// Reads what is in memory as a whole: anything but a list or an object that the type reads while it is parsed.
    ///
    /// # Errors
    /// The first place where the value does not have the shape.
    fn from_tree<E: Error>(value: JsonTree<'de>) -> Result<Self, E> {
        Err(mismatch(Self::EXPECTED, &value))
    }

    /// Reads a list.
    ///
    /// # Errors
    /// The first place where the value does not have the shape, or the error of the parser.
    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Self::from_tree(JsonTree::from_list(list)?)
    }

    /// Reads an object.
    ///
    /// # Errors
    /// The first place where the value does not have the shape, or the error of the parser.
    fn from_object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        Self::from_tree(JsonTree::from_object(object)?)
    }
}

/// The error that a value is something else.
#[doc(hidden)]
pub fn mismatch<E: Error>(expected: &str, value: &JsonTree<'_>) -> E {
    E::custom(ShapeMismatch::of_value(expected, value))
}

/// Reads a type from any JSON that serde reads.
#[doc(hidden)]
pub fn deserialize<'de, T: FromJson<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Reader(PhantomData))
}

/// Reads a type where serde asks what a value, an element or a member is to become.
pub(super) struct Reader<T>(PhantomData<T>);

impl<T> Reader<T> {
    pub(super) fn new() -> Reader<T> {
        Reader(PhantomData)
    }
}

impl<'de, T: FromJson<'de>> DeserializeSeed<'de> for Reader<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: FromJson<'de>> Visitor<'de> for Reader<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(T::EXPECTED)
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        T::from_tree(JsonTree::Null)
    }

    fn visit_none<E: Error>(self) -> Result<T, E> {
        T::from_tree(JsonTree::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        T::from_tree(JsonTree::Bool(value))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::from_tree(JsonTree::Number(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        T::from_tree(JsonTree::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        T::from_tree(JsonTree::Number(number.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<T, E> {
        T::from_tree(JsonTree::Text(text.into()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<T, E> {
        T::from_tree(JsonTree::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::from_object(object)
    }
}
