//! Shapes: what the payloads of messages look like.

use std::ops::Deref;

use super::{List, ShapeIndex, Text};

/// A shape by its name: `type Name = shape`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedShape {
    /// The name after `type`.
    pub name: Text,
    /// What it stands for.
    pub shape: Shape,
}

/// What a JSON value looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `any`: any value.
    Any,
    /// `null`
    Null,
    /// `bool`
    Bool,
    /// `int`: a whole number from -2⁶³ to 2⁶³ - 1, however it is written: `1.0` is one.
    Int,
    /// `uint`: a whole number from 0 to 2⁶⁴ - 1.
    Uint,
    /// `number`: any number.
    Number,
    /// `string`
    Text,
    /// `object`: any object.
    Object,
    /// `"text"`, `1`, `true`: exactly this value.
    Literal(Literal),
    /// `[shape]`: a list of any length.
    List(Of),
    /// `[first, second?, ...third]`: a list with exactly these positions, of which the last ones may be absent, and the
    /// last one may stand for any number of elements.
    Tuple(List<Position>),
    /// `map shape`: an object with any keys, whose values all have this shape.
    Map(Of),
    /// `{ … }`: an object with these fields.
    Record(Record),
    /// `A | B`: a value of one of these shapes, which [`choose`](crate::shape::choose) finds.
    Union(List<Shape>),
    /// Another shape, by its name. An index that the tables do not have fits no value.
    Named(ShapeIndex),
}

/// The one value that a shape is. Two of them are equal if they are one value in JSON.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Literal {
    /// `"text"`
    Text(Text),
    /// `1`, however it is written: `1.0` is the same number.
    Int(i64),
    /// `true` or `false`
    Bool(bool),
}

impl From<&'static str> for Literal {
    fn from(text: &'static str) -> Literal {
        Literal::Text(text.into())
    }
}

impl From<String> for Literal {
    fn from(text: String) -> Literal {
        Literal::Text(text.into())
    }
}

impl From<i64> for Literal {
    fn from(number: i64) -> Literal {
        Literal::Int(number)
    }
}

impl From<bool> for Literal {
    fn from(value: bool) -> Literal {
        Literal::Bool(value)
    }
}

/// The one shape of which a list or a map is made.
#[derive(Clone, Debug)]
pub struct Of(pub(super) ShapePlace);

#[derive(Clone, Debug)]
pub(super) enum ShapePlace {
    Borrowed(&'static Shape),
    Owned(Box<Shape>),
}

impl Deref for Of {
    type Target = Shape;

    fn deref(&self) -> &Shape {
        match &self.0 {
            ShapePlace::Borrowed(shape) => shape,
            ShapePlace::Owned(shape) => shape,
        }
    }
}

impl From<Shape> for Of {
    fn from(shape: Shape) -> Of {
        Of(ShapePlace::Owned(Box::new(shape)))
    }
}

/// It does not matter who owns the shape.
impl PartialEq for Of {
    fn eq(&self, other: &Of) -> bool {
        **self == **other
    }
}

impl Eq for Of {}

/// An object by its fields. The fields of other records that it spreads are among its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The fields, each name once.
    pub fields: List<RecordField>,
    /// `..rest`: members that are not among the fields are kept. Otherwise they are ignored.
    pub rest: bool,
}

impl Record {
    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&RecordField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordField {
    /// The key of the member.
    pub name: Text,
    /// Whether the member must be there. One that is `null` is there.
    pub required: bool,
    /// The shape of its value.
    pub shape: Shape,
}

/// A position of a tuple.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// What its author calls it. It is not in the JSON.
    pub label: Option<Text>,
    /// How many elements it stands for. No position that must be there stands behind one that need not, and none at all
    /// behind the rest.
    pub presence: Presence,
    /// The shape of the element, or of each of them.
    pub shape: Shape,
}

/// How many elements a position of a tuple stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// One, which must be there. One that is `null` is there.
    Required,
    /// One, which may be absent.
    Optional,
    /// `...shape`: all that are left, of any number.
    Rest,
}

impl Presence {
    /// Whether an element must be there.
    pub fn is_required(self) -> bool {
        self == Presence::Required
    }

    /// Whether it stands for any number of elements.
    pub fn is_rest(self) -> bool {
        self == Presence::Rest
    }
}

impl Position {
    /// The position of an element, by the number of the element in its list. All elements behind the other positions have
    /// that of the rest, if there is one.
    pub fn of_element(positions: &[Position], element: usize) -> Option<&Position> {
        positions.get(element).or_else(|| Position::rest_of(positions))
    }

    /// The rest of a tuple, if it has one.
    pub fn rest_of(positions: &[Position]) -> Option<&Position> {
        positions.last().filter(|last| last.presence.is_rest())
    }
}
