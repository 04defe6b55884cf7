//! The tree of a payload's shape.

use mcp_protocol_machine::protocol::{Literal, Presence};

use super::Name;
use crate::source::Span;

/// What JSON a payload, or a part of it, may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What it is.
    pub kind: ShapeKind,
    /// From its first to its last token.
    pub span: Span,
}

/// What a shape is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeKind {
    /// `string`, `Tool`: a shape of the language, or one that is declared.
    Named(Name),
    /// `"user"`, `1`, `true`: this value and no other. In a union, `1 as Ok` gives its variant a name.
    Literal(Literal, Option<Box<Name>>),
    /// `[Tool]`
    List(Box<Shape>),
    /// `[Address, string?]`, `[address: Address]`, `[Address,]`, `[]`: a list with these positions. Either all have a label or
    /// none has, and only the last ones may be absent. `[Address, ...string]`: the very last one may stand for any number of
    /// elements, if it is not the only one.
    Tuple(Vec<TuplePosition>),
    /// `map Tool`: an object with any keys, whose values are all of one shape.
    Map(Box<Shape>),
    /// `{ name: string, title?: string }`
    Record(Vec<Member>),
    /// `A | B`, at least two.
    Union(Vec<Shape>),
    /// Nothing could be read; an error has been reported.
    Missing,
}

/// What stands between the commas of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// `title?: string`
    Field(ShapeField),
    /// `...Meta`: the fields of another record.
    Spread {
        /// The record.
        name: Name,
        /// From the dots on.
        span: Span,
    },
    /// `..rest`: members that the record does not know are kept.
    Rest(Span),
}

impl Member {
    /// From its first to its last token, without documentation.
    pub fn span(&self) -> Span {
        match self {
            Member::Field(field) => field.name.span.to(field.shape.span),
            Member::Spread { span, .. } | Member::Rest(span) => *span,
        }
    }
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeField {
    /// Documentation comments before it.
    pub documentation: Vec<String>,
    /// The key, without quotes.
    pub name: Name,
    /// Whether it may be absent.
    pub optional: bool,
    /// What its value is.
    pub shape: Shape,
}

/// One position of a tuple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuplePosition {
    /// Documentation comments before it, if it has a label.
    pub documentation: Vec<String>,
    /// Its label, without quotes.
    pub label: Option<Name>,
    /// Whether the element may be absent. The rest has no mark for that.
    pub optional: bool,
    /// The dots before it, if it stands for any number of elements.
    pub rest: Option<Span>,
    /// What the element is, or each of them.
    pub shape: Shape,
}

impl TuplePosition {
    /// One element that must be there, without a label.
    pub(crate) fn plain(shape: Shape) -> TuplePosition {
        TuplePosition { documentation: Vec::new(), label: None, optional: false, rest: None, shape }
    }

    /// How many elements it stands for.
    pub fn presence(&self) -> Presence {
        match (self.rest, self.optional) {
            (Some(_), _) => Presence::Rest,
            (None, true) => Presence::Optional,
            (None, false) => Presence::Required,
        }
    }

    /// From its first to its last token, without documentation.
    pub fn span(&self) -> Span {
        let label = self.label.as_ref().map(|label| label.span);
        self.rest.or(label).map_or(self.shape.span, |first| first.to(self.shape.span))
    }
}

impl Shape {
    /// What stands where no shape could be read, which has been reported.
    pub(crate) fn missing(span: Span) -> Shape {
        Shape { kind: ShapeKind::Missing, span }
    }

    /// Its name, if it is nothing but the name of a declared shape.
    pub(crate) fn named(&self) -> Option<&str> {
        match &self.kind {
            ShapeKind::Named(name) if !is_built_in(&name.text) => Some(&name.text),
            _ => None,
        }
    }

    /// The shapes that stand directly in this one.
    pub fn inside(&self) -> Vec<&Shape> {
        match &self.kind {
            ShapeKind::Named(_) | ShapeKind::Literal(..) | ShapeKind::Missing => Vec::new(),
            ShapeKind::List(of) | ShapeKind::Map(of) => vec![of],
            ShapeKind::Tuple(positions) => positions.iter().map(|position| &position.shape).collect(),
            ShapeKind::Union(parts) => parts.iter().collect(),
            ShapeKind::Record(members) => {
                let fields = members.iter().filter_map(|member| match member {
                    Member::Field(field) => Some(&field.shape),
                    Member::Spread { .. } | Member::Rest(_) => None,
                });
                fields.collect()
            }
        }
    }
}

/// The shapes that the language has by itself.
pub const BUILT_IN: [&str; 8] = ["string", "int", "uint", "number", "bool", "null", "any", "object"];

/// Whether the language has a shape of this name by itself.
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name)
}

/// The words that stand for a value.
pub const BOOLEANS: [&str; 2] = ["true", "false"];

/// The value that a word stands for, if it stands for one.
pub fn boolean(word: &str) -> Option<bool> {
    BOOLEANS.contains(&word).then_some(word == "true")
}

/// What other languages call the shapes that this one has by itself.
const FOREIGN: [(&str, &str); 36] = [
    ("String", "string"),
    ("str", "string"),
    ("text", "string"),
    ("Text", "string"),
    ("boolean", "bool"),
    ("Boolean", "bool"),
    ("Bool", "bool"),
    ("integer", "int"),
    ("Integer", "int"),
    ("long", "int"),
    ("i32", "int"),
    ("int32", "int"),
    ("int64", "int"),
    ("Int", "int"),
    ("uint32", "uint"),
    ("uint64", "uint"),
    ("Float", "number"),
    ("i64", "int"),
    ("u32", "uint"),
    ("u64", "uint"),
    ("usize", "uint"),
    ("float", "number"),
    ("double", "number"),
    ("f64", "number"),
    ("Number", "number"),
    ("None", "null"),
    ("nil", "null"),
    ("void", "null"),
    ("Any", "any"),
    ("json", "any"),
    ("JSON", "any"),
    ("dict", "object"),
    ("dictionary", "object"),
    ("unknown", "any"),
    ("Value", "any"),
    ("Object", "object"),
];

/// What this language calls a shape that another one calls `name`.
pub fn built_in_meant(name: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(foreign, _)| *foreign == name).map(|(_, own)| *own)
}
