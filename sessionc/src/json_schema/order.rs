//! Puts the alternatives of unions into an order in which each can be chosen, and joins those that nothing tells apart.

use std::collections::HashMap;

use mcp_protocol_machine::Protocol;
use mcp_protocol_machine::protocol::{NamedShape, Record, RecordField, Shape, ShapeIndex};
use mcp_protocol_machine::shape::hides;

use super::item::{Item, Written, WrittenField, WrittenRecord};

/// How many records may spread one another in a row.
const DEEPEST: usize = 32;

/// Orders the unions of all items. An alternative that an earlier one would take goes before it. Where each would take what
/// the other does, they become one that accepts more, and the item says so.
pub(super) fn order(items: &mut [Item]) {
    let tables = Tables::new(items);
    for item in items {
        let mut joined = 0;
        ordered(&tables, &mut item.shape, &mut joined);
        if joined > 0 {
            item.unsaid.push("alternatives that nothing tells apart are one here".to_owned());
        }
    }
}

fn ordered(tables: &Tables, shape: &mut Written, joined: &mut usize) {
    match shape {
        Written::List(of) | Written::Map(of) => ordered(tables, of, joined),
        Written::Record(record) => {
            record.fields.iter_mut().for_each(|field| ordered(tables, &mut field.shape, joined));
        }
        Written::Union(parts) => {
            parts.iter_mut().for_each(|part| ordered(tables, part, joined));
            let mut all: Vec<Written> = Vec::new();
            for part in std::mem::take(parts) {
                add(tables, &mut all, part, joined);
            }
            // What takes `null` itself needs none next to it.
            let takes_null = |part: &Written| {
                *part != Written::Null && hides(&tables.protocol, &tables.shape(part, 0), &Shape::Null)
            };
            if all.iter().any(takes_null) {
                all.retain(|part| *part != Written::Null);
            }
            *shape = Written::union(all);
        }
        _ => {}
    }
}

/// Adds an alternative to others, of which each can be chosen.
fn add(tables: &Tables, all: &mut Vec<Written>, part: Written, joined: &mut usize) {
    let table = tables.shape(&part, 0);
    let takes = |one: &Written| hides(&tables.protocol, &tables.shape(one, 0), &table);
    let Some(place) = all.iter().position(takes) else { return all.push(part) };
    let Some(taker) = all.get(place).cloned() else { return };
    if !hides(&tables.protocol, &table, &tables.shape(&taker, 0)) {
        all.insert(place, part);
        return;
    }
    if let Some(kept) = all.get_mut(place).filter(|kept| **kept != part) {
        *kept = join(tables, taker, part);
        *joined += 1;
    }
}

/// A shape that has the values of both.
fn join(tables: &Tables, one: Written, other: Written) -> Written {
    match (one, other) {
        (Written::List(one), Written::List(other)) => {
            Written::List(Box::new(Written::union(vec![*one, *other])))
        }
        (Written::Map(one), Written::Map(other)) => {
            Written::Map(Box::new(Written::union(vec![*one, *other])))
        }
        (one, other) => match (tables.fields(&one, 0), tables.fields(&other, 0)) {
            (Some(one), Some(other)) => Written::Record(joined_records(one, other)),
            _ => Written::Any,
        },
    }
}

fn joined_records(one: WrittenRecord, other: WrittenRecord) -> WrittenRecord {
    let mut fields = one.fields;
    for field in &mut fields {
        match other.fields.iter().find(|of_other| of_other.name == field.name) {
            Some(of_other) => {
                field.required &= of_other.required;
                let shape = std::mem::replace(&mut field.shape, Written::Any);
                field.shape = Written::union(vec![shape, of_other.shape.clone()]);
            }
            None => *field = WrittenField { required: false, shape: Written::Any, ..field.clone() },
        }
    }
    for field in other.fields {
        if !fields.iter().any(|own| own.name == field.name) {
            fields.push(WrittenField { required: false, shape: Written::Any, ..field });
        }
    }
    WrittenRecord { spreads: Vec::new(), fields, rest: one.rest || other.rest }
}

/// The items as tables.
pub(super) struct Tables {
    numbers: HashMap<String, ShapeIndex>,
    shapes: HashMap<String, Written>,
    pub(super) protocol: Protocol,
}

impl Tables {
    pub(super) fn new(items: &[Item]) -> Tables {
        let names = (0..=u16::MAX).zip(items);
        let mut tables = Tables {
            numbers: names.map(|(number, item)| (item.name.clone(), ShapeIndex(number))).collect(),
            shapes: items.iter().map(|item| (item.name.clone(), item.shape.clone())).collect(),
            protocol: Protocol::new("".into(), Vec::new().into()),
        };
        let shapes =
            items.iter().map(|item| NamedShape::new(item.name.clone().into(), tables.shape(&item.shape, 0)));
        tables.protocol.shapes = shapes.collect();
        tables
    }

    fn shape(&self, written: &Written, depth: usize) -> Shape {
        let of = |of: &Written| self.shape(of, depth).into();
        match written {
            Written::Any => Shape::Any,
            Written::Null => Shape::Null,
            Written::Bool => Shape::Bool,
            Written::Int => Shape::Int,
            Written::Uint => Shape::Uint,
            Written::Number => Shape::Number,
            Written::String => Shape::Text,
            Written::Object => Shape::Object,
            Written::Literal(text) => Shape::Literal(text.clone().into()),
            Written::List(inner) => Shape::List(of(inner)),
            Written::Map(inner) => Shape::Map(of(inner)),
            Written::Union(parts) => Shape::Union(parts.iter().map(|part| self.shape(part, depth)).collect()),
            Written::Named(name) => self.numbers.get(name).map_or(Shape::Any, |number| Shape::Named(*number)),
            Written::Record(_) => match self.fields(written, depth) {
                Some(record) => {
                    let fields = record.fields.iter().map(|field| {
                        let shape = self.shape(&field.shape, depth + 1);
                        RecordField::new(field.name.clone().into(), field.required, shape)
                    });
                    let table = Record::new(fields.collect());
                    Shape::Record(if record.rest { table.rest() } else { table })
                }
                None => Shape::Object,
            },
        }
    }

    /// A record with the fields of the records that it spreads.
    fn fields(&self, written: &Written, depth: usize) -> Option<WrittenRecord> {
        if depth > DEEPEST {
            return None;
        }
        match written {
            Written::Named(name) => self.fields(self.shapes.get(name)?, depth + 1),
            Written::Record(record) => {
                let mut all = WrittenRecord { spreads: Vec::new(), ..record.clone() };
                for name in &record.spreads {
                    let Some(other) = self.fields(&Written::Named(name.clone()), depth + 1) else { continue };
                    all.rest |= other.rest;
                    for field in other.fields {
                        if !all.fields.iter().any(|own| own.name == field.name) {
                            all.fields.push(field);
                        }
                    }
                }
                Some(all)
            }
            _ => None,
        }
    }
}
