//! Shapes as they are written into a file.

use std::collections::{BTreeSet, VecDeque};

use mcp_protocol_machine::protocol::{Literal, Presence};

use super::variants::VariantNames;

/// `type Name = shape`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(super) name: String,
    /// The lines of its documentation.
    pub(super) documentation: Vec<String>,
    pub(super) shape: Written,
    /// What its values are called.
    pub(super) variants: VariantNames,
    /// What the schema says and the shape does not, each with its place.
    pub(super) unsaid: Vec<String>,
}

/// A shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Written {
    Any,
    Null,
    Bool,
    Int,
    Uint,
    Number,
    String,
    Object,
    Literal(Literal),
    List(Box<Written>),
    Tuple(Vec<WrittenPosition>),
    Map(Box<Written>),
    Record(WrittenRecord),
    Union(Vec<Written>),
    Named(String),
}

/// A position of a tuple.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WrittenPosition {
    /// The same for all positions of a tuple: either each has one, or none has.
    pub(super) label: Option<String>,
    pub(super) documentation: Vec<String>,
    pub(super) presence: Presence,
    pub(super) shape: Written,
}

impl WrittenPosition {
    /// The position of an element. All elements behind the other positions have that of the rest, if there is one.
    pub(super) fn of_element(positions: &[WrittenPosition], element: usize) -> Option<&WrittenPosition> {
        positions.get(element).or_else(|| WrittenPosition::rest_of(positions))
    }

    /// The rest of a tuple.
    pub(super) fn rest_of(positions: &[WrittenPosition]) -> Option<&WrittenPosition> {
        positions.last().filter(|last| last.presence.is_rest())
    }

    /// How many positions stand for one element each.
    pub(super) fn fixed(positions: &[WrittenPosition]) -> usize {
        positions.len() - usize::from(WrittenPosition::rest_of(positions).is_some())
    }

    /// One without a label.
    pub(super) fn unlabelled(presence: Presence, shape: Written) -> WrittenPosition {
        WrittenPosition { label: None, documentation: Vec::new(), presence, shape }
    }
}

/// A record.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WrittenRecord {
    pub(super) spreads: Vec<String>,
    pub(super) fields: Vec<WrittenField>,
    pub(super) rest: bool,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WrittenField {
    pub(super) name: String,
    pub(super) documentation: Vec<String>,
    pub(super) required: bool,
    pub(super) shape: Written,
}

/// What a shape stands for in the end, where names are followed. `shape_of` knows the shapes of names.
pub(super) fn meant<'a>(shape_of: impl Fn(&str) -> Option<&'a Written>, written: &'a Written) -> &'a Written {
    let (mut seen, mut meant) = (BTreeSet::new(), written);
    while let Written::Named(name) = meant {
        let Some(next) = shape_of(name).filter(|_| seen.insert(name)) else { break };
        meant = next;
    }
    meant
}

impl Written {
    /// A union of shapes, without unions in it, and each only once. Literals stand before a type that would take them, `int`
    /// is left out next to `number`, and `true` and `false` together are `bool`.
    pub(super) fn union(parts: Vec<Written>) -> Written {
        let mut all = Vec::new();
        let mut waiting: Vec<Written> = parts.into_iter().rev().collect();
        while let Some(part) = waiting.pop() {
            match part {
                Written::Union(parts) => waiting.extend(parts.into_iter().rev()),
                part if all.contains(&part) => {}
                part => all.push(part),
            }
        }
        if all.contains(&Written::Any) {
            return Written::Any;
        }
        let (truth, lie) = (Written::Literal(true.into()), Written::Literal(false.into()));
        let has_bool = all.contains(&Written::Bool);
        if has_bool || (all.contains(&truth) && all.contains(&lie)) {
            if let (false, Some(place)) =
                (has_bool, all.iter().position(|part| *part == truth || *part == lie))
            {
                all.insert(place, Written::Bool);
            }
            all.retain(|part| *part != truth && *part != lie);
        }
        let mut waiting = VecDeque::from(std::mem::take(&mut all));
        while let Some(part) = waiting.pop_front() {
            if part.takes_literals() {
                // Those behind it go before it.
                let (taken, others): (Vec<_>, Vec<_>) =
                    waiting.into_iter().partition(|literal| part.takes(literal));
                all.extend(taken);
                waiting = others.into();
            }
            all.push(part);
        }
        if all.contains(&Written::Number) {
            all.retain(|part| !matches!(part, Written::Int | Written::Uint));
        }
        if all.len() == 1 {
            return all.remove(0);
        }
        Written::Union(all)
    }

    /// Whether some literal is a value of this type.
    fn takes_literals(&self) -> bool {
        matches!(self, Written::String | Written::Int | Written::Uint | Written::Number)
    }

    /// Whether another shape is a literal that is a value of this type.
    fn takes(&self, other: &Written) -> bool {
        match (self, other) {
            (Written::String, Written::Literal(Literal::Text(_))) => true,
            (Written::Int | Written::Number, Written::Literal(Literal::Int(_))) => true,
            (Written::Uint, Written::Literal(Literal::Int(number))) => *number >= 0,
            _ => false,
        }
    }
}
