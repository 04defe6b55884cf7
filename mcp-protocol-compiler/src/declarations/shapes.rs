//! Payload shapes as declared, with every spread written out and every name found.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{
    self as machine, Literal, NamedShape, Presence, RecordField, ShapeIndex,
};

use crate::ast::{Name, is_built_in};
use crate::source::Span;

/// `type Name = …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredShape {
    /// Its name.
    pub name: Name,
    /// Documentation comments before it.
    pub documentation: Vec<String>,
    /// What it is.
    pub form: Form,
    /// Whether it came with an import.
    pub imported: bool,
    /// Whether its author gave it no name: it stands inside of another shape, or the language has it by itself.
    pub is_inner: bool,
}

impl DeclaredShape {
    /// The shape that the language calls `word`, for a message that carries nothing else.
    pub(crate) fn built_in(word: &str, span: Span) -> Option<DeclaredShape> {
        let form = Form::built_in(word)?;
        let name = Name { text: word.to_owned(), span };
        Some(DeclaredShape { name, documentation: Vec::new(), form, imported: false, is_inner: true })
    }

    /// Whether no file declares it, because the language has it.
    pub fn is_built_in(&self) -> bool {
        is_built_in(&self.name.text)
    }

    /// The shape as the tables have it.
    pub fn table(&self) -> NamedShape {
        NamedShape::new(self.name.text.clone().into(), self.form.table())
    }
}

/// What a shape is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Any JSON.
    Any,
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A whole number that an `i64` can hold.
    Int,
    /// A whole number that a `u64` can hold.
    Uint,
    /// Any number.
    Number,
    /// Any text.
    String,
    /// An object with any members.
    Object,
    /// One value.
    Literal(Literal),
    /// A list.
    List(Box<Form>),
    /// A list with these positions, of which the last ones may be absent, and the very last may be a rest.
    Tuple(Vec<Position>),
    /// An object whose values are of one shape.
    Map(Box<Form>),
    /// An object with known fields.
    Record(Record),
    /// One of several.
    Union(Vec<Alternative>),
    /// The declared shape with this number.
    Named(usize),
}

impl Form {
    /// What the language calls `word`.
    pub(crate) fn built_in(word: &str) -> Option<Form> {
        Some(match word {
            "any" => Form::Any,
            "null" => Form::Null,
            "bool" => Form::Bool,
            "int" => Form::Int,
            "uint" => Form::Uint,
            "number" => Form::Number,
            "string" => Form::String,
            "object" => Form::Object,
            _ => return None,
        })
    }

    /// The form as the tables have it.
    pub fn table(&self) -> machine::Shape {
        use machine::Shape;

        match self {
            Form::Any => Shape::Any,
            Form::Null => Shape::Null,
            Form::Bool => Shape::Bool,
            Form::Int => Shape::Int,
            Form::Uint => Shape::Uint,
            Form::Number => Shape::Number,
            Form::String => Shape::Text,
            Form::Object => Shape::Object,
            Form::Literal(literal) => Shape::Literal(literal.clone()),
            Form::List(of) => Shape::List(of.table().into()),
            Form::Tuple(positions) => Shape::Tuple(positions.iter().map(Position::table).collect()),
            Form::Map(of) => Shape::Map(of.table().into()),
            Form::Record(record) => Shape::Record(record.table()),
            Form::Union(parts) => Shape::Union(parts.iter().map(|part| part.form.table()).collect()),
            Form::Named(index) => Shape::Named(number(*index)),
        }
    }
}

/// A part of a record or of a tuple.
pub(crate) struct ShapePart<'a> {
    /// The key of the member, or the number of the position.
    pub(crate) name: &'a str,
    /// Whether it may be absent.
    pub(crate) optional: bool,
    /// Whether it stands for any number of elements.
    pub(crate) is_rest: bool,
    /// What it is.
    pub(crate) form: &'a Form,
    /// Where it is declared.
    pub(crate) span: Option<Span>,
}

impl Form {
    /// The parts of a record or of a tuple; other forms have none.
    pub(crate) fn parts(&self) -> Vec<ShapePart<'_>> {
        match self {
            Form::Record(record) => record.fields.iter().map(Field::part).collect(),
            Form::Tuple(positions) => positions.iter().map(Position::part).collect(),
            _ => Vec::new(),
        }
    }

    /// The forms that stand directly in this one.
    pub(crate) fn inside(&self) -> Vec<&Form> {
        match self {
            Form::List(of) | Form::Map(of) => vec![of],
            Form::Union(parts) => parts.iter().map(|part| &part.form).collect(),
            _ => self.parts().into_iter().map(|part| part.form).collect(),
        }
    }
}

/// The number of a shape in the tables. There are never so many that it would not fit.
pub(crate) fn number(index: usize) -> ShapeIndex {
    ShapeIndex(u16::try_from(index).unwrap_or(u16::MAX))
}

/// One of the shapes of a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// What it is.
    pub form: Form,
    /// Where it is written.
    pub span: Span,
    /// How it is written, without the name of its variant.
    pub text: String,
    /// The name that its variant has in Rust, if one is written.
    pub variant: Option<Name>,
}

/// An object with known fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The fields, in the order in which they are written; those of a spread stand in its place.
    pub fields: Vec<Field>,
    /// Whether members that are not among them are kept.
    pub rest: bool,
}

impl Record {
    fn table(&self) -> machine::Record {
        let field = |field: &Field| {
            RecordField::new(field.name.text.clone().into(), !field.optional, field.form.table())
        };
        let record = machine::Record::new(self.fields.iter().map(field).collect());
        if self.rest { record.rest() } else { record }
    }

    /// The field with a key.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name.text == name)
    }
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its key.
    pub name: Name,
    /// The shape in whose text it is written; where it came by a spread, that is another one.
    pub owner: String,
    /// Documentation comments before it.
    pub documentation: Vec<String>,
    /// Whether it may be absent.
    pub optional: bool,
    /// What its value is.
    pub form: Form,
}

impl Field {
    /// A required field that no file declares: what is looked at in an object whose members are left open.
    pub(crate) fn undeclared(name: &str, form: Form) -> Field {
        let name = Name { text: name.to_owned(), span: Span::default() };
        Field { name, owner: String::new(), documentation: Vec::new(), optional: false, form }
    }

    /// Where the field is declared, if it is.
    pub(crate) fn written(&self) -> Option<Span> {
        (!self.owner.is_empty()).then_some(self.name.span)
    }
}

/// One position of a tuple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Its number, as a path has it: `0` is that of the first.
    pub place: String,
    /// Its label, if the tuple has labels.
    pub label: Option<Name>,
    /// Where it is written.
    pub span: Span,
    /// The shape in whose text it is written.
    pub owner: String,
    /// Documentation comments before it.
    pub documentation: Vec<String>,
    /// How many elements it stands for.
    pub presence: Presence,
    /// What the element is, or each of them.
    pub form: Form,
}

impl Field {
    fn part(&self) -> ShapePart<'_> {
        let Field { name, optional, form, .. } = self;
        ShapePart { name: &name.text, optional: *optional, is_rest: false, form, span: Some(name.span) }
    }
}

impl Position {
    /// The position of an element, by the number of the element in its list. All elements behind the other positions have
    /// that of the rest, if there is one.
    pub(crate) fn of_element(positions: &[Position], element: usize) -> Option<&Position> {
        positions.get(element).or_else(|| Position::rest_of(positions))
    }

    /// The rest of a tuple, if it has one.
    pub(crate) fn rest_of(positions: &[Position]) -> Option<&Position> {
        positions.last().filter(|last| last.presence.is_rest())
    }

    /// What a path calls the element: its label if it has one, or its number. The label of a rest is that of several elements,
    /// and a path leads to one.
    pub(crate) fn path_key(&self) -> &str {
        let label = self.label.as_ref().filter(|_| !self.presence.is_rest());
        label.map_or(&self.place, |label| &label.text)
    }

    fn part(&self) -> ShapePart<'_> {
        let Position { place, form, span, .. } = self;
        let (optional, is_rest) = (!self.presence.is_required(), self.presence.is_rest());
        ShapePart { name: place, optional, is_rest, form, span: Some(*span) }
    }

    fn table(&self) -> machine::Position {
        let label = self.label.as_ref().map(|label| label.text.clone().into());
        machine::Position::new(label, self.presence, self.form.table())
    }
}

/// How many positions a tuple may have.
pub(crate) const MOST_POSITIONS: usize = 100;

/// The largest tuple that Rust has all traits of payloads for.
const LARGEST_TUPLE: usize = 12;

/// Whether a tuple is a struct in Rust. It is a tuple there if all of its elements are there and nothing is said of them
/// but their shapes.
pub(crate) fn is_struct(positions: &[Position]) -> bool {
    let is_plain = |position: &Position| {
        position.label.is_none()
            && position.presence.is_required()
            && !matches!(position.form, Form::Literal(_))
    };
    positions.is_empty() || positions.len() > LARGEST_TUPLE || !positions.iter().all(is_plain)
}

/// The shapes of a protocol; [`Form::Named`] points in here.
#[derive(Clone, Copy, Debug)]
pub struct Shapes<'a>(pub &'a [DeclaredShape]);

impl<'a> Shapes<'a> {
    /// What a form is when the names in front of it are followed. Names that lead back to themselves have been
    /// refused; what they lead to is [`Form::Any`].
    pub fn behind(self, form: &'a Form) -> &'a Form {
        let mut found = form;
        for _ in 0..=self.0.len() {
            match found {
                Form::Named(index) => match self.0.get(*index) {
                    Some(shape) => found = &shape.form,
                    None => return &Form::Any,
                },
                other => return other,
            }
        }
        &Form::Any
    }

    /// What a form is in the end, one after the other: names and unions are followed, each name once.
    pub(crate) fn leaves(self, form: &'a Form) -> impl Iterator<Item = &'a Form> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![form]);
        std::iter::from_fn(move || {
            while let Some(form) = open.pop() {
                match form {
                    Form::Named(index) => {
                        if seen.insert(*index) {
                            open.extend(self.0.get(*index).map(|shape| &shape.form));
                        }
                    }
                    Form::Union(parts) => open.extend(parts.iter().rev().map(|part| &part.form)),
                    leaf => return Some(leaf),
                }
            }
            None
        })
    }
}

/// The words of a text, each with a capital: `mimeType` is `MimeType`, and `resource_link` is `ResourceLink`.
pub(crate) fn pascal(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    words.filter_map(capital).collect()
}
