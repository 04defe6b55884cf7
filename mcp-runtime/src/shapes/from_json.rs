//! How a type is read from JSON: from the text as it is parsed, or from a value that is in memory.

use std::borrow::Cow;
use std::fmt;

use mcp_protocol_machine::protocol::{Protocol, ShapeIndex};
use mcp_protocol_machine::shape::ShapeMismatch;
use serde::de::{Deserializer, Error};
use serde_json::Value;

use super::alternative::chosen_by_member;
use super::read_error::ReadError;
use super::source::{ListSource, ObjectSource, ValuePlace, parse, take};
use super::tree::JsonTree;

/// A type that is read from JSON, piece by piece. Every shape that the language has by itself is one, and so is every type
/// that is generated.
///
/// A type says what it makes of a list and of an object while they are parsed. What it says nothing about is read into
/// memory and given to [`from_tree`](FromJson::from_tree).
///
/// ```
/// use mcp_runtime::shapes::{FromJson, JsonTree, Members, ReadError};
///
/// /// `{ name: string }`, whatever else it has.
/// struct Named(String);
///
/// impl<'de> FromJson<'de> for Named {
///     const EXPECTED: &'static str = "an object with a name";
///
///     fn from_object(object: &mut Members<'_, 'de>) -> Result<Self, ReadError> {
///         let mut name = None;
///         while let Some(key) = object.next_key()? {
///             match &*key {
///                 "name" => name = Some(object.value("name")?),
///                 _ => object.ignore()?,
///             }
///         }
///         name.map(Named).ok_or_else(|| ReadError::missing("name", String::EXPECTED))
///     }
/// }
///
/// let tool: JsonTree = serde_json::from_str(r#"{ "name": "echo", "title": "Echo" }"#)?;
/// assert_eq!(tool.read::<Named>()?.0, "echo");
/// let wrong: JsonTree = serde_json::from_str(r#"{ "name": 5 }"#)?;
/// let error = wrong.read::<Named>().err().map(|error| error.to_string());
/// assert_eq!(error.as_deref(), Some("name: expected a string, found 5"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait FromJson<'de>: Sized {
    /// What a value should be, in a sentence: `a string`.
    const EXPECTED: &'static str;

    /// Reads what is in memory as a whole: anything but a list or an object that the type reads while it is parsed.
    ///
    /// # Errors
    /// The first place where the value does not have the shape.
    fn from_tree(value: JsonTree<'de>) -> Result<Self, ReadError> {
        Err(mismatch(Self::EXPECTED, &value))
    }

    /// Reads a list.
    ///
    /// # Errors
    /// The first place where the value does not have the shape, or the error of the parser.
    fn from_list(list: &mut Elements<'_, 'de>) -> Result<Self, ReadError> {
        Self::from_tree(JsonTree::from_list(list)?)
    }

    /// Reads an object.
    ///
    /// # Errors
    /// The first place where the value does not have the shape, or the error of the parser.
    fn from_object(object: &mut Members<'_, 'de>) -> Result<Self, ReadError> {
        Self::from_tree(JsonTree::from_object(object)?)
    }
}

/// The error that a value is something else.
#[doc(hidden)]
pub fn mismatch(expected: &str, value: &JsonTree<'_>) -> ReadError {
    ShapeMismatch::of_value(expected, value).into()
}

/// Reads a type from any JSON that serde reads.
#[doc(hidden)]
pub fn deserialize<'de, T: FromJson<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    into_slot(|place| parse(deserializer, place)).map_err(D::Error::custom)
}

impl<'de> JsonTree<'de> {
    /// Reads a type.
    ///
    /// # Errors
    /// The first place where the value does not have the shape.
    pub fn read<T: FromJson<'de>>(self) -> Result<T, ReadError> {
        into_slot(|place| take(self, place))
    }
}

/// The elements of a list that is read, one after the other.
pub struct Elements<'a, 'de> {
    list: &'a mut dyn ListSource<'de>,
    /// How many were read.
    count: usize,
    /// Whether there are no more.
    has_ended: bool,
}

impl<'de> Elements<'_, 'de> {
    /// The next element.
    ///
    /// # Errors
    /// It does not have its shape, or the error of the parser.
    pub fn next_element<T: FromJson<'de>>(&mut self) -> Result<Option<T>, ReadError> {
        let mut slot = ValueSlot(None);
        self.element_for(&mut slot)?;
        Ok(slot.0)
    }

    /// How many elements were read.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    fn element_for(&mut self, place: &mut dyn ValuePlace<'de>) -> Result<(), ReadError> {
        if !self.has_ended {
            let is_there = self.list.element(place).map_err(|error| error.in_element(self.count))?;
            self.has_ended = !is_there;
            self.count += usize::from(is_there);
        }
        Ok(())
    }

    /// The next element, which must be there.
    ///
    /// # Errors
    /// It is not there or does not have its shape, or the error of the parser.
    pub fn required<T: FromJson<'de>>(&mut self) -> Result<T, ReadError> {
        let place = self.count;
        self.next_element()?.ok_or_else(|| ReadError::missing_element(place, T::EXPECTED))
    }

    /// The next element, which may be absent. `null` is taken for absent unless it is a value of the type.
    ///
    /// # Errors
    /// It does not have its shape, or the error of the parser.
    pub fn optional<T: FromJson<'de>>(&mut self) -> Result<Option<T>, ReadError> {
        Ok(self.next_element::<Option<T>>()?.flatten())
    }

    /// All elements that are left.
    ///
    /// # Errors
    /// One of them does not have its shape, or the error of the parser.
    pub fn rest<T: FromJson<'de>>(&mut self) -> Result<Vec<T>, ReadError> {
        let mut elements = Vec::new();
        while let Some(element) = self.next_element()? {
            elements.push(element);
        }
        Ok(elements)
    }

    /// Goes to the end of the list, where no element is left.
    ///
    /// # Errors
    /// There is another element, or the error of the parser.
    ///
    /// ```
    /// use mcp_runtime::shapes::{Elements, FromJson, JsonTree, ReadError};
    ///
    /// /// `[string, int?]`
    /// struct Entry(String, Option<i64>);
    ///
    /// impl<'de> FromJson<'de> for Entry {
    ///     const EXPECTED: &'static str = "a list of 1 or 2 elements";
    ///
    ///     fn from_list(list: &mut Elements<'_, 'de>) -> Result<Self, ReadError> {
    ///         let entry = Entry(list.required()?, list.optional()?);
    ///         list.end().map(|()| entry)
    ///     }
    /// }
    ///
    /// let read = |text| serde_json::from_str::<JsonTree>(text)?.read::<Entry>().map_err(Into::into);
    /// let error = |text| read(text).err().map(|error: Box<dyn std::error::Error>| error.to_string());
    /// assert_eq!(error(r#"["a", 5]"#), None);
    /// assert_eq!(error("[]").as_deref(), Some("[0]: expected a string, found nothing"));
    /// assert_eq!(error(r#"["a", 5, 6]"#).as_deref(), Some("[2]: expected the end of the list, found 6"));
    /// ```
    pub fn end(&mut self) -> Result<(), ReadError> {
        let place = self.count;
        match self.next_element::<JsonTree<'de>>()? {
            Some(found) => Err(mismatch(ShapeMismatch::END_OF_LIST, &found).in_element(place)),
            None => Ok(()),
        }
    }

    /// The next element as it is.
    ///
    /// # Errors
    /// The error of the parser.
    pub(super) fn any_element(&mut self) -> Result<Option<Value>, ReadError> {
        self.list.any()
    }
}

/// The members of an object that is read, one after the other.
pub struct Members<'a, 'de> {
    object: &'a mut dyn ObjectSource<'de>,
    first: First<'de>,
}

/// The first member of an object.
enum First<'de> {
    /// It was looked at, and comes next all the same.
    Key(Cow<'de, str>, JsonTree<'de>),
    /// It was looked at, and its key was taken.
    Value(JsonTree<'de>),
    /// It comes from the source, or came from there.
    Source,
}

impl<'de> Members<'_, 'de> {
    /// The key of the next member.
    ///
    /// # Errors
    /// The error of the parser.
    pub fn next_key(&mut self) -> Result<Option<Cow<'de, str>>, ReadError> {
        match std::mem::replace(&mut self.first, First::Source) {
            First::Key(key, value) => {
                self.first = First::Value(value);
                Ok(Some(key))
            }
            First::Value(_) | First::Source => self.object.key(),
        }
    }

    /// The value of the member whose key was the last one.
    ///
    /// # Errors
    /// It does not have its shape, or the error of the parser.
    pub fn value<T: FromJson<'de>>(&mut self, key: &str) -> Result<T, ReadError> {
        into_slot(|place| self.value_for(place, key))
    }

    fn value_for(&mut self, place: &mut dyn ValuePlace<'de>, key: &str) -> Result<(), ReadError> {
        let read = match self.take_first() {
            Some(value) => take(value, place),
            None => self.object.value(place),
        };
        read.map_err(|error| error.in_member(key))
    }

    /// The value as it is.
    ///
    /// # Errors
    /// The error of the parser.
    pub fn any_value(&mut self) -> Result<Value, ReadError> {
        match self.take_first() {
            Some(value) => Ok(value.into()),
            None => self.object.any(),
        }
    }

    /// Leaves a value.
    ///
    /// # Errors
    /// The error of the parser.
    pub fn ignore(&mut self) -> Result<(), ReadError> {
        match self.take_first() {
            Some(_) => Ok(()),
            None => self.object.ignore(),
        }
    }

    /// Which alternative of a union the object is, by its place, if the first member decides that. It still comes first.
    ///
    /// # Errors
    /// The error of the parser.
    #[doc(hidden)]
    pub fn chosen(&mut self, protocol: &Protocol, union: ShapeIndex) -> Result<Option<usize>, ReadError> {
        if let First::Source = self.first
            && let Some(key) = self.object.key()?
        {
            let value = into_slot(|place| self.object.value(place))?;
            self.first = First::Key(key, value);
        }
        let First::Key(key, value) = &self.first else { return Ok(None) };
        Ok(chosen_by_member(protocol, union, key, value))
    }

    fn take_first(&mut self) -> Option<JsonTree<'de>> {
        match std::mem::replace(&mut self.first, First::Source) {
            First::Value(value) => Some(value),
            First::Key(..) | First::Source => None,
        }
    }
}

impl fmt::Debug for Elements<'_, '_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Elements").field("count", &self.count).finish_non_exhaustive()
    }
}

impl fmt::Debug for Members<'_, '_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Members").finish_non_exhaustive()
    }
}

/// The place of a value of one type.
struct ValueSlot<T>(Option<T>);

/// What was read into a slot.
fn into_slot<'de, T: FromJson<'de>>(
    read: impl FnOnce(&mut dyn ValuePlace<'de>) -> Result<(), ReadError>,
) -> Result<T, ReadError> {
    let mut slot = ValueSlot(None);
    read(&mut slot)?;
    slot.0.ok_or_else(|| ShapeMismatch::of_nothing(T::EXPECTED).into())
}

impl<'de, T: FromJson<'de>> ValuePlace<'de> for ValueSlot<T> {
    fn leaf(&mut self, value: JsonTree<'de>) -> Result<(), ReadError> {
        self.0 = Some(T::from_tree(value)?);
        Ok(())
    }

    fn list(&mut self, list: &mut dyn ListSource<'de>) -> Result<(), ReadError> {
        self.0 = Some(T::from_list(&mut Elements { list, count: 0, has_ended: false })?);
        Ok(())
    }

    fn object(&mut self, object: &mut dyn ObjectSource<'de>) -> Result<(), ReadError> {
        self.0 = Some(T::from_object(&mut Members { object, first: First::Source })?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mcp_protocol_machine::protocol::{NamedShape, RecordField, Shape};
    use serde_json::json;

    use super::*;

    static TEXT: [RecordField; 2] =
        [RecordField::required("type", Shape::literal("text")), RecordField::required("text", Shape::Text)];
    static IMAGE: [RecordField; 1] = [RecordField::required("type", Shape::literal("image"))];
    static PARTS: [Shape; 3] = [Shape::record(&TEXT), Shape::Text, Shape::record(&IMAGE)];
    static CONTENT: [NamedShape; 1] = [NamedShape::named("Content", Shape::union(&PARTS))];
    static TABLES: Protocol = Protocol::table("Test", &[]).shapes(&CONTENT);

    /// What the first member decides, and the whole object.
    #[derive(Debug, PartialEq)]
    struct Decided(Option<usize>, Value);

    impl<'de> FromJson<'de> for Decided {
        const EXPECTED: &'static str = "an object";

        fn from_object(object: &mut Members<'_, 'de>) -> Result<Self, ReadError> {
            let chosen = object.chosen(&TABLES, ShapeIndex(0))?;
            assert_eq!(object.chosen(&TABLES, ShapeIndex(0))?, chosen, "it may be asked again");
            Ok(Decided(chosen, JsonTree::from_object(object)?.into()))
        }
    }

    fn decided(text: &str) -> Result<(Option<usize>, Value), String> {
        let decided = deserialize(&mut serde_json::Deserializer::from_str(text));
        decided.map(|Decided(chosen, value)| (chosen, value)).map_err(|error| error.to_string())
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
    fn errors_of_the_parser_are_passed_on() {
        for text in ["{", r#"{ "type""#, r#"{ "type":"#, r#"{ "type": "text""#, r#"{ "type": "text", }"#] {
            assert!(decided(text).is_err(), "{text}");
        }
    }
}
