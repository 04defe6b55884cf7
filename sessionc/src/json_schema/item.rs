//! Shapes as they are written into a file.

use std::collections::BTreeSet;

/// `type Name = shape`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(super) name: String,
    /// The lines of its documentation.
    pub(super) documentation: Vec<String>,
    pub(super) shape: Written,
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
    Literal(String),
    List(Box<Written>),
    Map(Box<Written>),
    Record(WrittenRecord),
    Union(Vec<Written>),
    Named(String),
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
    /// A union of shapes, without unions in it, and each only once. Texts stand before `string`, and `int` is left out
    /// next to `number`, which would take them.
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
        if let Some(place) = all.iter().position(|part| *part == Written::String) {
            // The texts behind it go before it.
            let (texts, others): (Vec<_>, Vec<_>) =
                all.drain(place..).partition(|part| matches!(part, Written::Literal(_)));
            all.extend(texts);
            all.extend(others);
        }
        if all.contains(&Written::Number) {
            all.retain(|part| !matches!(part, Written::Int | Written::Uint));
        }
        if all.len() == 1 {
            return all.remove(0);
        }
        Written::Union(all)
    }
}
