//! Puts the alternatives of unions into an order in which each can be chosen, and joins those that nothing tells apart.

use std::collections::{HashMap, HashSet, VecDeque};

use mcp_protocol_machine::Protocol;
use mcp_protocol_machine::protocol::{
    NamedShape, Position, Presence, Record, RecordField, Shape, ShapeIndex,
};
use mcp_protocol_machine::shape::hides;

use super::circles::cut;
use super::item::{Item, Written, WrittenField, WrittenPosition, WrittenRecord, meant};

/// How many records may spread one another in a row.
const DEEPEST: usize = 32;

/// How often all unions are looked at again, because what they name has changed.
const MOST_ROUNDS: usize = 16;
/// How often named unions are opened, and what is joined keeps the fields of both. Shapes that have each other within would
/// grow with each round.
const MOST_FINE_ROUNDS: usize = 2;

/// The alternatives that have become one in an item.
struct Joins {
    count: usize,
    /// Whether nothing is kept of them but their JSON type.
    are_coarse: bool,
}

/// Orders the unions of all items. An alternative that an earlier one would take goes before it. Where each would take what
/// the other does, they become one that accepts more, and the item says so.
pub(super) fn order(items: &mut [Item]) {
    for round in 1..=MOST_ROUNDS {
        // What is opened may bring spreads along that lead back.
        cut(items);
        // An alternative may be the name of a union that has changed.
        let tables = Tables::new(items);
        let before: Vec<Written> = items.iter().map(|item| item.shape.clone()).collect();
        for item in &mut *items {
            let mut joins = Joins { count: 0, are_coarse: round > MOST_FINE_ROUNDS };
            ordered(&tables, &mut item.shape, &mut joins);
            let note = "alternatives that nothing tells apart are one here".to_owned();
            if joins.count > 0 && !item.unsaid.contains(&note) {
                item.unsaid.push(note);
            }
        }
        if items.iter().map(|item| &item.shape).eq(&before) {
            return;
        }
    }
    cut(items);
}

fn ordered(tables: &Tables, shape: &mut Written, joins: &mut Joins) {
    match shape {
        Written::List(of) | Written::Map(of) => ordered(tables, of, joins),
        Written::Tuple(positions) => {
            positions.iter_mut().for_each(|position| ordered(tables, &mut position.shape, joins));
        }
        Written::Record(record) => {
            record.fields.iter_mut().for_each(|field| ordered(tables, &mut field.shape, joins));
        }
        Written::Union(parts) => {
            parts.iter_mut().for_each(|part| ordered(tables, part, joins));
            let parts = std::mem::take(parts);
            let parts = if joins.are_coarse { parts } else { opened(tables, parts) };
            let mut all = arranged(tables, parts, joins);
            // What takes `null` itself needs none next to it.
            let takes_null = |part: &Written| {
                *part != Written::Null && hides(&tables.protocol, &tables.shape(part, 0), &Shape::Null)
            };
            if all.iter().any(takes_null) {
                all.retain(|part| *part != Written::Null);
            }
            *shape = Written::union(chosen(tables, all));
        }
        _ => {}
    }
}

/// Those of these alternatives that can be chosen: not one whose values are all taken by those before it together, as
/// `bool` behind `true | false` is.
fn chosen(tables: &Tables, parts: Vec<Written>) -> Vec<Written> {
    let mut kept: Vec<Written> = Vec::new();
    for part in parts {
        let is_several = matches!(part, Written::Bool | Written::Named(_) | Written::Union(_));
        let before = || kept.iter().map(|one| tables.shape(one, 0)).collect::<Vec<_>>();
        if is_several && hides(&tables.protocol, &Shape::Union(before().into()), &tables.shape(&part, 0)) {
            continue;
        }
        kept.push(part);
    }
    kept
}

/// These alternatives, of which a named union is replaced by its own where one of them is a list or an object that nothing
/// tells apart from another alternative.
fn opened(tables: &Tables, parts: Vec<Written>) -> Vec<Written> {
    let all: Vec<Vec<Written>> = parts.iter().map(|part| tables.alternatives(part)).collect();
    let is_mixed = |one: &Written, other: &Written| {
        let takes = |one: &Written, other: &Written| {
            hides(&tables.protocol, &tables.shape(one, 0), &tables.shape(other, 0))
        };
        let is_nested = matches!(
            tables.meant(one),
            Written::List(_) | Written::Tuple(_) | Written::Map(_) | Written::Record(_) | Written::Object
        );
        is_nested && one != other && (takes(one, other) || takes(other, one))
    };
    let opens = |place: usize| {
        let own = all.get(place).map_or(&[][..], Vec::as_slice);
        let mut others =
            all.iter().enumerate().filter(|(other, _)| *other != place).flat_map(|(_, other)| other);
        own.len() > 1 && others.any(|other| own.iter().any(|own| is_mixed(own, other)))
    };
    let parts = parts.into_iter().enumerate();
    let opened = parts.flat_map(|(place, part)| match all.get(place).filter(|_| opens(place)) {
        Some(own) => own.clone(),
        None => vec![part],
    });
    opened.collect()
}

/// These alternatives in an order in which each can be chosen, as few of them joined as that takes.
fn arranged(tables: &Tables, parts: Vec<Written>, joins: &mut Joins) -> Vec<Written> {
    let mut moves = parts.len() * parts.len();
    let mut waiting = VecDeque::from(parts);
    let mut all: Vec<Written> = Vec::new();
    while let Some(part) = waiting.pop_front() {
        let table = tables.shape(&part, 0);
        let takes = |one: &Written| hides(&tables.protocol, &tables.shape(one, 0), &table);
        let Some(place) = all.iter().position(takes) else {
            all.push(part);
            continue;
        };
        // The new alternative may take one of those behind its place, so that they are looked at again.
        let mut behind = all.split_off(place);
        let taker = behind.remove(0);
        for other in behind.into_iter().rev() {
            waiting.push_front(other);
        }
        let is_taken = hides(&tables.protocol, &table, &tables.shape(&taker, 0));
        if taker == part {
            waiting.push_front(part);
        } else if !is_taken && moves > 0 {
            moves -= 1;
            waiting.push_front(taker);
            waiting.push_front(part);
        } else {
            joins.count += 1;
            waiting.push_front(if joins.are_coarse {
                coarse_join(tables, &taker)
            } else {
                join(tables, &taker, &part)
            });
        }
    }
    all
}

/// A shape that has the values of both.
fn join(tables: &Tables, one: &Written, other: &Written) -> Written {
    match (tables.meant(one), tables.meant(other)) {
        (Written::List(one), Written::List(other)) => {
            Written::List(Box::new(Written::union(vec![(**one).clone(), (**other).clone()])))
        }
        (Written::Tuple(one), Written::Tuple(other)) => Written::Tuple(joined_tuples(one, other)),
        (one @ (Written::List(_) | Written::Tuple(_)), other @ (Written::List(_) | Written::Tuple(_))) => {
            Written::List(Box::new(Written::union([elements(one), elements(other)].concat())))
        }
        (Written::Map(one), Written::Map(other)) => {
            Written::Map(Box::new(Written::union(vec![(**one).clone(), (**other).clone()])))
        }
        (of_one, of_other) => match (tables.fields(one, 0), tables.fields(other, 0)) {
            (Some(one), Some(other)) => Written::Record(joined_records(one, other)),
            _ if of_one == of_other => of_one.clone(),
            _ if matches!((of_one, of_other), (Written::Union(_), _) | (_, Written::Union(_))) => {
                Written::union([tables.alternatives(one), tables.alternatives(other)].concat())
            }
            _ => Written::Any,
        },
    }
}

/// A shape with all values of the JSON type that alternatives share which nothing tells apart.
fn coarse_join(tables: &Tables, one: &Written) -> Written {
    match tables.meant(one) {
        Written::List(_) | Written::Tuple(_) => Written::List(Box::new(Written::Any)),
        Written::Map(_) | Written::Record(_) | Written::Object => Written::Object,
        _ => Written::Any,
    }
}

/// What the elements of a list may be.
fn elements(list: &Written) -> Vec<Written> {
    match list {
        Written::List(of) => vec![(**of).clone()],
        Written::Tuple(positions) => positions.iter().map(|position| position.shape.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Positions in which the elements of both may stand. They have labels if these are the same.
fn joined_tuples(one: &[WrittenPosition], other: &[WrittenPosition]) -> Vec<WrittenPosition> {
    let label = |tuple: &[WrittenPosition], place: usize| {
        tuple.get(place).and_then(|position| position.label.clone())
    };
    let fixed = WrittenPosition::fixed(one).max(WrittenPosition::fixed(other));
    let rests = [WrittenPosition::rest_of(one), WrittenPosition::rest_of(other)];
    let length = fixed + usize::from(rests.iter().any(Option::is_some));
    let has_labels = (0..length).all(|place| label(one, place) == label(other, place));
    let joined = (0..length).map(|place| {
        let parts = match place == fixed {
            true => rests,
            false => [one, other].map(|positions| WrittenPosition::of_element(positions, place)),
        };
        let parts: Vec<&WrittenPosition> = parts.into_iter().flatten().collect();
        let presence = match parts.as_slice() {
            _ if place == fixed => Presence::Rest,
            [one, other] if one.presence.is_required() && other.presence.is_required() => Presence::Required,
            _ => Presence::Optional,
        };
        WrittenPosition {
            label: label(one, place).filter(|_| has_labels),
            documentation: parts.first().map(|first| first.documentation.clone()).unwrap_or_default(),
            presence,
            shape: Written::union(parts.iter().map(|position| position.shape.clone()).collect()),
        }
    });
    joined.collect()
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
            Written::Literal(literal) => Shape::Literal(literal.clone()),
            Written::List(inner) => Shape::List(of(inner)),
            Written::Tuple(positions) => {
                let position = |position: &WrittenPosition| {
                    let label = position.label.clone().map(Into::into);
                    Position::new(label, position.presence, self.shape(&position.shape, depth))
                };
                Shape::Tuple(positions.iter().map(position).collect())
            }
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

    /// The alternatives of a union, also where they stand in unions with names. None of them is a union.
    fn alternatives(&self, written: &Written) -> Vec<Written> {
        let mut alternatives = Vec::new();
        let mut opened: HashSet<&str> = HashSet::new();
        let mut waiting = vec![written];
        while let Some(written) = waiting.pop() {
            match written {
                Written::Union(parts) => waiting.extend(parts.iter().rev()),
                Written::Named(name) => match self.shapes.get(name) {
                    Some(shape @ (Written::Union(_) | Written::Named(_))) => {
                        if opened.insert(name) {
                            waiting.push(shape);
                        }
                    }
                    _ => alternatives.push(written.clone()),
                },
                _ => alternatives.push(written.clone()),
            }
        }
        alternatives
    }

    /// What a shape stands for in the end.
    fn meant<'a>(&'a self, written: &'a Written) -> &'a Written {
        meant(|name| self.shapes.get(name), written)
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
                // As in the language: what is written in the record stands, and of two spreads the later one.
                let own = all.fields.len();
                for name in &record.spreads {
                    let Some(other) = self.fields(&Written::Named(name.clone()), depth + 1) else { continue };
                    all.rest |= other.rest;
                    for field in other.fields {
                        let known =
                            all.fields.iter_mut().enumerate().find(|(_, known)| known.name == field.name);
                        match known {
                            Some((place, known)) if place >= own => *known = field,
                            Some(_) => {}
                            None => all.fields.push(field),
                        }
                    }
                }
                Some(all)
            }
            _ => None,
        }
    }
}
