//! Constructors of shapes.

use std::borrow::Cow;

use crate::protocol::shape::ShapePlace;
use crate::protocol::{List, Literal, NamedShape, Of, Position, Presence, Record, RecordField, Shape, Text};

impl NamedShape {
    /// A shape by its name.
    pub const fn new(name: Text, shape: Shape) -> NamedShape {
        NamedShape { name, shape }
    }

    /// A constant shape by its name.
    pub const fn named(name: &'static str, shape: Shape) -> NamedShape {
        NamedShape::new(Cow::Borrowed(name), shape)
    }
}

impl Shape {
    /// A constant text.
    pub const fn literal(text: &'static str) -> Shape {
        Shape::Literal(Literal::Text(Cow::Borrowed(text)))
    }

    /// A constant whole number.
    pub const fn literal_int(number: i64) -> Shape {
        Shape::Literal(Literal::Int(number))
    }

    /// `true` alone, or `false` alone.
    pub const fn literal_bool(value: bool) -> Shape {
        Shape::Literal(Literal::Bool(value))
    }

    /// A list of a constant shape.
    pub const fn list(of: &'static Shape) -> Shape {
        Shape::List(Of(ShapePlace::Borrowed(of)))
    }

    /// A list with constant positions.
    pub const fn tuple(positions: &'static [Position]) -> Shape {
        Shape::Tuple(Cow::Borrowed(positions))
    }

    /// An object with any keys, whose values have a constant shape.
    pub const fn map(of: &'static Shape) -> Shape {
        Shape::Map(Of(ShapePlace::Borrowed(of)))
    }

    /// A record of constant fields.
    pub const fn record(fields: &'static [RecordField]) -> Shape {
        Shape::Record(Record::new(Cow::Borrowed(fields)))
    }

    /// The same, which keeps the members that it does not know.
    pub const fn record_with_rest(fields: &'static [RecordField]) -> Shape {
        Shape::Record(Record::new(Cow::Borrowed(fields)).rest())
    }

    /// A union of constant shapes.
    pub const fn union(shapes: &'static [Shape]) -> Shape {
        Shape::Union(Cow::Borrowed(shapes))
    }
}

impl Record {
    /// A record that ignores the members that it does not know.
    pub const fn new(fields: List<RecordField>) -> Record {
        Record { fields, rest: false }
    }

    /// Keeps the members that the record does not know.
    #[must_use]
    pub const fn rest(mut self) -> Record {
        self.rest = true;
        self
    }
}

impl RecordField {
    /// A field, which must be there if it is required.
    pub const fn new(name: Text, required: bool, shape: Shape) -> RecordField {
        RecordField { name, required, shape }
    }

    /// A constant field that must be there.
    pub const fn required(name: &'static str, shape: Shape) -> RecordField {
        RecordField::new(Cow::Borrowed(name), true, shape)
    }

    /// A constant field that may be absent.
    pub const fn optional(name: &'static str, shape: Shape) -> RecordField {
        RecordField::new(Cow::Borrowed(name), false, shape)
    }
}

impl Position {
    /// A position.
    pub const fn new(label: Option<Text>, presence: Presence, shape: Shape) -> Position {
        Position { label, presence, shape }
    }

    /// A constant position without a label that must be there.
    pub const fn required(shape: Shape) -> Position {
        Position::new(None, Presence::Required, shape)
    }

    /// A constant position without a label that may be absent.
    pub const fn optional(shape: Shape) -> Position {
        Position::new(None, Presence::Optional, shape)
    }

    /// A constant position with a label that must be there.
    pub const fn required_as(label: &'static str, shape: Shape) -> Position {
        Position::new(Some(Cow::Borrowed(label)), Presence::Required, shape)
    }

    /// A constant position with a label that may be absent.
    pub const fn optional_as(label: &'static str, shape: Shape) -> Position {
        Position::new(Some(Cow::Borrowed(label)), Presence::Optional, shape)
    }

    /// A constant position without a label that stands for any number of elements.
    pub const fn rest(shape: Shape) -> Position {
        Position::new(None, Presence::Rest, shape)
    }

    /// A constant position with a label that stands for any number of elements.
    pub const fn rest_as(label: &'static str, shape: Shape) -> Position {
        Position::new(Some(Cow::Borrowed(label)), Presence::Rest, shape)
    }
}
