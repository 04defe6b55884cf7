//! Where values come from: a parser, which is anything that serde reads, or a tree in memory.
//!
//! A type is read through trait objects, so that its code exists once, not once for each kind of source; and the code of a
//! source exists once, not once for each type. Protocols have hundreds of types, and their code is most of what a program
//! is built from.

use std::borrow::Cow;
use std::fmt;
use std::vec;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::read_error::ReadError;
use super::tree::JsonTree;
use crate::jsonrpc::JsonKey;

/// What a value is to become, and where it is put.
pub(super) trait ValuePlace<'de> {
    /// Takes a value that is in memory. It is a list or an object only if [`Self::list`] or [`Self::object`] made it one.
    fn leaf(&mut self, value: JsonTree<'de>) -> Result<(), ReadError>;

    fn list(&mut self, list: &mut dyn ListSource<'de>) -> Result<(), ReadError>;

    fn object(&mut self, object: &mut dyn ObjectSource<'de>) -> Result<(), ReadError>;
}

/// The elements of a list, one after the other.
pub(super) trait ListSource<'de> {
    /// Whether there was another element. It is in its place then.
    fn element(&mut self, place: &mut dyn ValuePlace<'de>) -> Result<bool, ReadError>;

    /// The next element as it is.
    fn any(&mut self) -> Result<Option<Value>, ReadError>;
}

/// The members of an object, one after the other.
pub(super) trait ObjectSource<'de> {
    fn key(&mut self) -> Result<Option<Cow<'de, str>>, ReadError>;

    /// The value of the member whose key was the last one.
    fn value(&mut self, place: &mut dyn ValuePlace<'de>) -> Result<(), ReadError>;

    /// The value as it is.
    fn any(&mut self) -> Result<Value, ReadError>;

    /// Leaves the value.
    fn ignore(&mut self) -> Result<(), ReadError>;
}

/// Reads a value where a parser is.
pub(super) fn parse<'de, D: Deserializer<'de>>(
    deserializer: D,
    place: &mut dyn ValuePlace<'de>,
) -> Result<(), ReadError> {
    passed(place, |reading| deserializer.deserialize_any(reading))
}

/// Reads a value that is in memory.
pub(super) fn take<'de>(tree: JsonTree<'de>, place: &mut dyn ValuePlace<'de>) -> Result<(), ReadError> {
    match tree {
        JsonTree::List(elements) => place.list(&mut TreeElements(elements.into_iter())),
        JsonTree::Object(members) => {
            place.object(&mut TreeMembers { members: members.into_iter(), value: JsonTree::Null })
        }
        leaf => place.leaf(leaf),
    }
}

/// A value that a parser reads for a place. Parsers know errors as texts only, so what went wrong in the place is kept.
struct Reading<'a, 'de> {
    place: &'a mut dyn ValuePlace<'de>,
    wrong: &'a mut Option<ReadError>,
}

/// What a parser returns when it has read for a place, or what went wrong there.
fn passed<'de, R, E: Error>(
    place: &mut dyn ValuePlace<'de>,
    read: impl FnOnce(Reading<'_, 'de>) -> Result<R, E>,
) -> Result<R, ReadError> {
    let mut wrong = None;
    read(Reading { place, wrong: &mut wrong }).map_err(|error| match wrong {
        Some(wrong) => wrong.passed_on(&error),
        None => ReadError::of_parser(&error),
    })
}

impl<'de> Reading<'_, 'de> {
    fn leaf<E: Error>(self, value: JsonTree<'de>) -> Result<(), E> {
        let read = self.place.leaf(value);
        keep(read, self.wrong)
    }
}

/// Keeps what went wrong, and gives the parser an error without a text in its place.
fn keep<E: Error>(read: Result<(), ReadError>, wrong: &mut Option<ReadError>) -> Result<(), E> {
    read.map_err(|error| {
        *wrong = Some(error);
        E::custom("")
    })
}

impl<'de> DeserializeSeed<'de> for Reading<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.leaf(JsonTree::Null)
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.leaf(JsonTree::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.leaf(JsonTree::Bool(value))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.leaf(JsonTree::Number(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.leaf(JsonTree::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.leaf(JsonTree::Number(number.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.leaf(JsonTree::Text(text.to_owned().into()))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<(), E> {
        self.leaf(JsonTree::Text(text.into()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<(), E> {
        self.leaf(JsonTree::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        let read = self.place.list(&mut Parsed(list));
        keep(read, self.wrong)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<(), A::Error> {
        let read = self.place.object(&mut Parsed(object));
        keep(read, self.wrong)
    }
}

/// What a parser has found.
struct Parsed<A>(A);

fn of_parser<E: Error>(error: E) -> ReadError {
    ReadError::of_parser(&error)
}

impl<'de, A: SeqAccess<'de>> ListSource<'de> for Parsed<A> {
    fn element(&mut self, place: &mut dyn ValuePlace<'de>) -> Result<bool, ReadError> {
        passed(place, |reading| self.0.next_element_seed(reading)).map(|element| element.is_some())
    }

    fn any(&mut self) -> Result<Option<Value>, ReadError> {
        self.0.next_element().map_err(of_parser)
    }
}

impl<'de, A: MapAccess<'de>> ObjectSource<'de> for Parsed<A> {
    fn key(&mut self) -> Result<Option<Cow<'de, str>>, ReadError> {
        Ok(self.0.next_key().map_err(of_parser)?.map(|JsonKey(key)| key))
    }

    fn value(&mut self, place: &mut dyn ValuePlace<'de>) -> Result<(), ReadError> {
        passed(place, |reading| self.0.next_value_seed(reading))
    }

    fn any(&mut self) -> Result<Value, ReadError> {
        self.0.next_value().map_err(of_parser)
    }

    fn ignore(&mut self) -> Result<(), ReadError> {
        self.0.next_value::<IgnoredAny>().map(drop).map_err(of_parser)
    }
}

/// A list in memory.
struct TreeElements<'de>(vec::IntoIter<JsonTree<'de>>);

impl<'de> ListSource<'de> for TreeElements<'de> {
    fn element(&mut self, place: &mut dyn ValuePlace<'de>) -> Result<bool, ReadError> {
        match self.0.next() {
            Some(element) => take(element, place).map(|()| true),
            None => Ok(false),
        }
    }

    fn any(&mut self) -> Result<Option<Value>, ReadError> {
        Ok(self.0.next().map(Value::from))
    }
}

/// An object in memory, and the value of the member whose key was the last one.
struct TreeMembers<'de> {
    members: vec::IntoIter<(Cow<'de, str>, JsonTree<'de>)>,
    value: JsonTree<'de>,
}

impl<'de> TreeMembers<'de> {
    fn take(&mut self) -> JsonTree<'de> {
        std::mem::replace(&mut self.value, JsonTree::Null)
    }
}

impl<'de> ObjectSource<'de> for TreeMembers<'de> {
    fn key(&mut self) -> Result<Option<Cow<'de, str>>, ReadError> {
        Ok(self.members.next().map(|(key, value)| {
            self.value = value;
            key
        }))
    }

    fn value(&mut self, place: &mut dyn ValuePlace<'de>) -> Result<(), ReadError> {
        take(self.take(), place)
    }

    fn any(&mut self) -> Result<Value, ReadError> {
        Ok(self.take().into())
    }

    fn ignore(&mut self) -> Result<(), ReadError> {
        Ok(())
    }
}
